"""A run that is taken up again."""

from __future__ import annotations

from agentloop.guard.grants import Question
from agentloop.llm.scripted import Scripted
from agentloop.loop import Loop
from agentloop.records import RunRecord, Session, Status
from agentloop.stores.memory import MemoryStore

ANSWER = "```js\nfunction run() { answer('done') }\n```"


async def test_a_question_that_a_dead_process_left_open_is_refused() -> None:
    store = MemoryStore()
    await store.create_session(Session(session_id="s"))
    await store.create_run(RunRecord(run_id="r", session_id="s", message="go", status=Status.WAITING, epoch=1))
    await store.add_question(Question(id="q", session_id="s", run_id="r", kind="confirm", message="May I?"))
    loop = Loop(llm=Scripted([ANSWER]), store=store, capabilities=[])
    async with await loop.open("s") as handle:
        assert await store.open_questions("r") == ()
        result = await handle.run()
    question = await store.get_question("q")
    assert question is not None and question.answer is False
    assert (result.status, result.final_text) == (Status.COMPLETED, "done")

"""Questions about a picture, answered by a model that can see."""

from __future__ import annotations

from importlib.resources import files

from agentloop.errors import ModelError
from agentloop.llm.base import LLM, Image, Message, ModelRequest, Text

__all__ = ["LLMVision"]


class LLMVision:
    """`Vision` over any model client whose model takes images.

    `model` "" is the client's default. One call to the model for each question; it raises `ModelError` when
    the endpoint fails or answers nothing. Hand it a metered client and the tokens count for the run.
    """

    def __init__(self, llm: LLM, *, model: str = "", max_tokens: int | None = 1000) -> None:
        self._llm = llm
        self._model = model
        self._max_tokens = max_tokens

    def using(self, llm: LLM) -> LLMVision:
        """The same over another client."""
        return LLMVision(llm, model=self._model, max_tokens=self._max_tokens)

    async def __call__(self, image: bytes, question: str, *, mime: str = "image/png") -> str:
        """The model's answer to `question` about the picture, without blanks around it."""
        rules = (files("agentloop.browser") / "prompts" / "vision.md").read_text("utf-8").strip()
        messages = (
            Message("system", rules),
            Message("user", (Text(question), Image(image, mime))),
        )
        reply = await self._llm.complete(
            ModelRequest(messages=messages, model=self._model, max_tokens=self._max_tokens)
        )
        answer = reply.content.strip()
        if not answer:
            raise ModelError("The vision model gave an empty answer: does it take images?")
        return answer

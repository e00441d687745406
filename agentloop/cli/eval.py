"""`agentloop eval SUITE`: the cases of a suite, judged."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from agentloop.cli.model import scripted_path
from agentloop.cli.render import visible
from agentloop.errors import InvalidInput
from agentloop.records import Status
from agentloop.report.verdict import EXIT_ERROR, exit_code
from agentloop.settings import data_directory

if TYPE_CHECKING:
    from agentloop.eval.base import Case, CaseResult, EvalStore, Score, SuiteRun
    from agentloop.evaluating import EvaluateOptions, ModelFor

__all__ = ["command"]

_COLUMNS = ("case", "verdict", "score", "checks", "status", "steps", "tokens", "cost", "seconds")
_STYLES = {"passed": "green", "failed": "red", "error": "yellow"}


@click.command("eval")
@click.argument("suite", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Cases at a time.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.option("--base-url", metavar="URL", help="The site's origin, in place of the suite's own.")
@click.option("--model", metavar="NAME", help="The model to evaluate.  [OPENAI_CHAT_MODEL]")
@click.option("--llm-base-url", metavar="URL", help="Where the model is served.  [OPENAI_BASE_URL]")
@click.option("--llm", metavar="scripted:PATH", help="Replies from a file, or from CASE.jsonl in a folder, per case.")
@click.option("--judge-model", metavar="NAME", help="The model that judges, in place of the suite's own.")
@click.option("--judge-llm", metavar="scripted:PATH", help="The judge's replies, likewise.")
@click.option("--allow-private", is_flag=True, help="Private addresses may be reached too.")
@click.option("--headed", is_flag=True, help="Show the browsers.")
@click.option(
    "--browser-sandbox",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Chromium's own sandbox; auto is on, and off for root.",
)
@click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where results are kept.  [evals.db in the data directory]",
)
@click.option("--ephemeral", is_flag=True, help="Keep no results.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but fatal errors.")
def command(suite: Path, **given: Any) -> int:
    """Run the cases of SUITE, a YAML file, and judge what came of them.

    Exit code 0 when every case passed, 4 when one failed, 1 when nothing could be told of one.
    """
    run = asyncio.run(_evaluate(suite, _Choices(**given)))
    if given["as_json"]:
        print(json.dumps(run.to_dict(), allow_nan=False))
    else:
        _print_table(run)
    return _exit_code(run)


@dataclass(frozen=True, kw_only=True)
class _Choices:
    jobs: int
    as_json: bool
    base_url: str | None
    model: str | None
    llm_base_url: str | None
    llm: str | None
    judge_model: str | None
    judge_llm: str | None
    allow_private: bool
    headed: bool
    browser_sandbox: Literal["auto", "on", "off"]
    results: Path | None
    ephemeral: bool
    quiet: bool

    def options(self) -> EvaluateOptions:
        from agentloop.evaluating import EvaluateOptions

        return EvaluateOptions(
            model=self.model,
            judge_model=self.judge_model or "",
            jobs=self.jobs,
            allow_private=self.allow_private,
            headless=not self.headed,
            browser_sandbox=self.browser_sandbox,
        )


async def _evaluate(path: Path, choices: _Choices) -> SuiteRun:
    from agentloop.eval.suite import load_suite
    from agentloop.evaluating import evaluate

    suite = load_suite(path, base_url=choices.base_url)
    async with _models(choices, judged=any(case.judged for case in suite.cases)) as (llm, judge_llm):
        return await evaluate(
            suite,
            llm=llm,
            judge_llm=judge_llm,
            options=choices.options(),
            store=_store(choices),
            on_result=None if choices.quiet else _progress,
        )


@asynccontextmanager
async def _models(choices: _Choices, *, judged: bool) -> AsyncIterator[tuple[ModelFor, ModelFor | None]]:
    """The model and, where a case wants one, the judge: a real one is both, unless either is scripted."""
    if choices.llm and choices.llm_base_url:
        raise InvalidInput("--llm and --llm-base-url name two models: give one of them")
    async with AsyncExitStack() as stack:
        real = None
        if choices.llm is None or (judged and choices.judge_llm is None and choices.judge_model is not None):
            from agentloop.llm.openai import OpenAI

            real = await stack.enter_async_context(OpenAI.from_env(base_url=choices.llm_base_url, model=choices.model))
        model = _scripted(choices.llm, "--llm") if choices.llm else real
        assert model is not None
        yield model, _scripted(choices.judge_llm, "--judge-llm") if choices.judge_llm else real


def _scripted(given: str, flag: str) -> ModelFor:
    path = Path(scripted_path(given, flag=flag, metavar="PATH"))

    def client(case: Case) -> Any:
        from agentloop.llm.scripted import Scripted

        return Scripted.from_file(path / f"{case.name}.jsonl" if path.is_dir() else path)

    return client


def _store(choices: _Choices) -> EvalStore:
    from agentloop.eval.memory import MemoryEvalStore
    from agentloop.eval.sqlite import SQLiteEvalStore

    if choices.ephemeral and choices.results:
        raise InvalidInput("--ephemeral keeps no results: leave --results out, or --ephemeral")
    if choices.ephemeral:
        return MemoryEvalStore()
    return SQLiteEvalStore(choices.results or data_directory() / "evals.db")


def _exit_code(run: SuiteRun) -> int:
    if run.errors or run.state != "completed":
        return EXIT_ERROR
    return exit_code(Status.CHECK_FAILED) if run.failed else 0


# What people see -------------------------------------------------------------------------------------


def _progress(result: CaseResult) -> None:
    print(f"{_verdict(result):<6}  {visible(result.case)}", file=sys.stderr, flush=True)


def _print_table(run: SuiteRun) -> None:
    rows = [_row(result) for result in run.results]
    if sys.stdout.isatty():
        _print_rich(rows)
    else:
        _print_plain(rows)
    for result in run.results:
        for line in _reasons(result):
            print(f"{visible(result.case)}: {visible(line)}")
    print(f"{run.passed} of {len(run.results)} passed, {run.failed} failed, {run.errors} errors")


def _print_plain(rows: Sequence[Sequence[str]]) -> None:
    table = [_COLUMNS, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(_COLUMNS))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_rich(rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*_COLUMNS)
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console(markup=False, highlight=False, emoji=False).print(table)


def _row(result: CaseResult) -> tuple[str, ...]:
    met = sum(bool(check.get("passed")) for check in result.checks)
    return (
        visible(result.case),
        _verdict(result),
        "" if result.score is None else f"{result.score:g}",
        f"{met}/{len(result.checks)}" if result.checks else "",
        str(result.status or ""),
        str(result.steps),
        f"{result.tokens.prompt:,}+{result.tokens.completion:,}",
        f"{result.cost:.4f}" if result.cost else "",
        f"{result.duration_ms / 1000:.1f}",
    )


def _verdict(result: CaseResult) -> str:
    return "error" if result.error else "passed" if result.passed else "failed"


def _reasons(result: CaseResult) -> list[str]:
    """Why a case did not pass, a line each."""
    if result.passed:
        return []
    lines = [result.error] if result.error else []
    lines += [
        f"check failed: {check['check']}: {check.get('seen', '')}" for check in result.checks if not check["passed"]
    ]
    lines += [_shortfall(score) for score in result.scores if score.score is not None and not score.passed]
    return lines or [f"the run ended as {result.status}{f': {result.reason}' if result.reason else ''}"]


def _shortfall(score: Score) -> str:
    subject = f" for {score.criterion!r}" if score.criterion else ""
    return f"{score.score} of 10, {score.min} wanted{subject}: {score.rationale}"

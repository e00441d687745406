from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentloop.capabilities import BuildContext, Capability
from agentloop.clock import Clock
from agentloop.errors import EndRun, InvalidInput
from agentloop.packs.base import Pack, Primitive
from agentloop.records import Status
from agentloop.sandbox import CapabilityBuilder, Limits
from benchmarks.hostile import ENGINE
from tests.sandbox.conftest import Hand


def capability(name: str, *packs: Pack, always_on: bool = False) -> Capability:
    async def build(context: BuildContext) -> Sequence[Pack]:
        return packs

    return Capability(name=name, description="", build=build, always_on=always_on)


def failing(name: str, error: Exception) -> Capability:
    async def build(context: BuildContext) -> Sequence[Pack]:
        raise error

    return Capability(name=name, description="", build=build)


async def _one() -> int:
    return 1


def pack(name: str, closed: list[str], problem: str = "") -> Pack:
    async def aclose() -> None:
        if problem == "hang":
            await asyncio.sleep(60)
        if problem:
            raise LookupError(problem)
        closed.append(name)

    return Pack(name=name, description="", primitives={name: Primitive(_one)}, aclose=aclose)


@pytest.mark.parametrize(
    ("enabled", "names"),
    [(None, ["a", "b", "c"]), ([], ["b"]), (["c", "a"], ["a", "b", "c"]), (["c"], ["b", "c"])],
)
async def test_enabled_and_always_on_in_order(enabled: list[str] | None, names: list[str]) -> None:
    closed: list[str] = []
    capabilities = [capability(n, pack(n, closed), always_on=n == "b") for n in ("a", "b", "c")]
    async with CapabilityBuilder(capabilities, engine=ENGINE).build(BuildContext(enabled=enabled)) as built:
        assert [one.name for one in built.packs] == names
        assert (built.warnings, built.isolation) == ((), "seccomp")
        assert (await built.sandbox.run("function run() { return b() }")).value_json == "1"
        assert closed == []
    assert closed == names


async def test_a_failing_build_warns_and_is_left_out() -> None:
    capabilities = [failing("mail", LookupError("no server")), capability("a", pack("a", []))]
    async with CapabilityBuilder(capabilities, engine=ENGINE).build(BuildContext()) as built:
        assert [one.name for one in built.packs] == ["a"]
    assert built.warnings == ("capability 'mail' could not be built and is left out: no server",)


async def test_an_enabled_name_that_there_is_not_is_told() -> None:
    builder = CapabilityBuilder([capability("a", pack("a", [])), capability("b", pack("b", []))], engine=ENGINE)
    async with builder.build(BuildContext(enabled=["b", "nope"])) as built:
        assert [one.name for one in built.packs] == ["b"]
    assert built.warnings == ("'nope' is enabled, but no capability is called so; there are: a, b",)


async def test_a_build_may_end_the_run() -> None:
    closed: list[str] = []
    end = EndRun(Status.ERROR, "page_down")
    builder = CapabilityBuilder([capability("a", pack("a", closed)), failing("browser", end)], engine=ENGINE)
    with pytest.raises(EndRun) as raised:
        async with builder.build(BuildContext()):
            pass
    assert raised.value is end
    assert closed == ["a"]


async def test_clashing_packs_are_closed_again() -> None:
    closed: list[str] = []
    builder = CapabilityBuilder([capability("a", pack("x", closed)), capability("b", pack("x", closed))], engine=ENGINE)
    with pytest.raises(InvalidInput, match="two packs"):
        async with builder.build(BuildContext()):
            pass
    assert closed == ["x", "x"]


async def test_one_pack_that_fails_to_close_does_not_keep_the_others() -> None:
    closed: list[str] = []
    packs = [pack("a", closed), pack("b", closed, "broken"), pack("c", closed)]
    async with CapabilityBuilder([capability("all", *packs)], engine=ENGINE).build(BuildContext()):
        pass
    assert closed == ["a", "c"]


async def test_a_pack_that_hangs_is_left_after_five_seconds() -> None:
    closed: list[str] = []
    began = asyncio.get_running_loop().time()
    packs = [pack("a", closed, "hang"), pack("b", closed, "hang"), pack("c", closed)]
    async with CapabilityBuilder([capability("all", *packs)], engine=ENGINE).build(BuildContext()):
        pass
    assert closed == ["c"]
    assert asyncio.get_running_loop().time() - began < 9


async def test_limits_and_clock_reach_the_sandbox() -> None:
    hand = Hand()
    context = BuildContext(clock=Clock(hand))
    async with CapabilityBuilder([], limits=Limits(wall_s=0.05), engine=ENGINE).build(context) as built:
        running = asyncio.create_task(built.sandbox.run("while (true) {}"))
        for _ in range(8):
            await hand.next_look()
        assert not running.done(), "by its clock no time has passed"
        await hand.until_done(running)
        outcome = await running
    assert outcome.error is not None
    assert outcome.error.where == "timeout"

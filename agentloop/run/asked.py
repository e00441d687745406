"""What of a request is kept with its run, so that whoever takes the run up may do no more than was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agentloop.records import Json, Prices, RunLimits, RunRecord, RunRequest, Scope

__all__ = ["asked_again", "kept_request"]

_KEY = "request"


def kept_request(request: RunRequest) -> dict[str, Json]:
    """The run's `setup`: the request's own, and beside it what narrows the run and whom it is for."""
    kept: dict[str, Json] = {
        "allow": None if request.allow is None else list(request.allow),
        "enabled": None if request.enabled is None else list(request.enabled),
        "limits": None if request.limits is None else asdict(request.limits),
        "scope": asdict(request.scope) if request.scope != Scope() else None,
        "user_id": request.user_id or None,
    }
    narrow = {name: value for name, value in kept.items() if value is not None}
    return {**request.setup, _KEY: narrow} if narrow else dict(request.setup)


def asked_again(run: RunRecord) -> RunRequest:
    """The request that began the run."""
    kept: Mapping[str, Any] = run.setup.get(_KEY) or {}
    return RunRequest(
        run.message,
        session=run.session_id,
        run_id=run.run_id,
        url=run.url,
        allow=kept.get("allow"),
        enabled=kept.get("enabled"),
        limits=_limits(kept.get("limits")),
        scope=Scope(**kept.get("scope", {})),
        user_id=kept.get("user_id", ""),
        setup=run.setup,
    )


def _limits(kept: Mapping[str, Any] | None) -> RunLimits | None:
    return None if kept is None else RunLimits(**{**kept, "prices": Prices(**kept["prices"])})

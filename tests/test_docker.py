"""The container's files agree with the tree and with each other."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.source import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROFILE: dict[str, Any] = json.loads((ROOT / "docker" / "seccomp.json").read_text(encoding="utf-8"))


def allowed() -> list[str]:
    return [name for rule in PROFILE["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]]


def test_what_is_copied_exists_and_is_let_in() -> None:
    copied = {name for line in re.findall(r"^COPY (.*) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()}
    let_in = set(re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    assert copied == let_in
    assert not [name for name in copied if not (ROOT / name).exists()]


def test_every_linked_folder_is_copied() -> None:
    links = [path for path in (ROOT / "agentloop").rglob("*") if path.is_symlink()]
    tops = {path.resolve().relative_to(ROOT).parts[0] for path in links}
    assert {"browser", "drivers"} <= tops
    assert all(f"COPY {top} {top}\n" in DOCKERFILE for top in tops)


def test_it_does_not_run_as_root() -> None:
    user, command = DOCKERFILE.rindex("\nUSER agentloop"), DOCKERFILE.index("\nENTRYPOINT")
    assert user < command and "USER root" not in DOCKERFILE[user:]


def test_the_profile_refuses_by_default_and_lets_chromium_build_its_sandbox() -> None:
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert len(set(allowed())) == len(allowed()) - 1, "only personality has two rules"
    assert not {"names", "action"} & set(allowed())
    assert {"chroot", "clone", "prctl", "seccomp", "setns", "unshare", "execve", "futex", "openat"} <= set(allowed())


def test_the_profile_keeps_the_kernel_out_of_reach() -> None:
    forbidden = {"mount", "umount2", "bpf", "ptrace", "init_module", "kexec_load", "keyctl", "reboot", "io_uring_setup"}
    assert not forbidden & set(allowed())


def test_the_documented_command_names_the_profile() -> None:
    line = "--security-opt seccomp=docker/seccomp.json"
    assert line in DOCKERFILE and line in (ROOT / "docker" / "README.md").read_text(encoding="utf-8")

"""The self-test accepts a working sandbox, and detects every way in which one fails.

The stand-in for a broken bubblewrap passes altered arguments to the real one: it exposes only files that the self-test
itself planted.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.errors import BadSettings
from bot.sandbox import fix_hints, selftest_probes
from bot.sandbox.bubblewrap import SandboxRules
from bot.sandbox.host_tools import BWRAP_MISSING
from bot.sandbox.resource_limits import ProcessLimits
from bot.sandbox.selftest import SelfTestResult, run_probes

REAL = shutil.which("bwrap") or ""
REACHED = "no data arrived on this machine"
RULES = SandboxRules(process_limits=ProcessLimits(memory_bytes=4_000_000_000, processes=500, file_bytes=1_000_000_000))

FAKE = """#!/bin/bash
[ "$1" = --version ] && exec {real} --version
options=()
while [ "$1" != -- ]; do options+=("$1"); shift; done
without() {{  # an option, and as many words after it
    local kept=() skipped=0
    for word in "${{options[@]}}"; do
        [ "$word" = "$1" ] && skipped=$(($2 + 1))
        if [ $skipped -gt 0 ]; then skipped=$((skipped - 1)); else kept+=("$word"); fi
    done
    options=("${{kept[@]}}")
}}
{alter}
exec {real} "${{options[@]}}" "$@"
"""
"""Also changes the inner bubblewrap that commands run in."""


@pytest.fixture
def ground() -> Iterator[Path]:
    """A folder that every user of this machine can enter: folders above it must not be what protects it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(autouse=True)
def home(ground, monkeypatch) -> Path:
    """The home of a user, which an escaped attacker could reach."""
    place = ground / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.fixture
def leaky(ground, monkeypatch):
    """A bubblewrap that omits a protection."""

    def put_first(alter: str) -> None:
        fake = ground / "bin" / "bwrap"
        fake.parent.mkdir()
        fake.write_text(FAKE.format(alter=alter, real=REAL))
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")

    return put_first


def failed(trial: SelfTestResult) -> set[str]:
    return {probe.name for probe in trial.failed}


async def test_a_working_sandbox_passes_every_probe_and_leaves_no_files(ground, home):
    trial = await run_probes(ground / "state", RULES)

    assert trial.failed == ()
    assert trial.holds
    assert {probe.name for probe in trial.probes} > selftest_probes.PROBES.keys()
    assert str(trial) == f"bwrap {trial.version}: {len(trial.probes)} probes passed"
    assert list((ground / "state" / "cells").iterdir()) == []
    assert list(home.iterdir()) == []


LEAKS = {
    "the network is shared": ("without --unshare-net 0", {"no network", "no ports of this machine", REACHED}),
    "system calls are not filtered": ("without --seccomp 1", {"system calls are filtered"}),
    "processes are shared": ("without --unshare-pid 0", {"namespaces of its own"}),
    "the root can be written": ("without --remount-ro 1", {"the system is read-only"}),
    "capabilities are kept": ("options+=(--cap-add ALL)", {"no capabilities, and no way to gain any"}),
    "commands can become more": ("without --disable-userns 0", {"commands make no namespaces"}),
    "a home is there": ("options+=(--tmpfs /home/agent/x)", {"the home is empty"}),
    "devices are there": ("without --remount-ro 1; options+=(--tmpfs /dev/disk)", {"no devices"}),
    "the host's environment is there": (
        "options+=(--setenv TREEHAND_CANARY x)", {"no environment of the host"},
    ),
    "the proxy is missing": ("options+=(--tmpfs /opt/treehand)", {"programs start"}),
    "it does nothing": ("exit 0", {"programs start"}),
    "it hangs up on the way": ("echo bwrap: the wheel came off >&2; exit 1", {"programs start"}),
}  # fmt: skip


@pytest.mark.parametrize("leak", LEAKS)
async def test_a_leaking_bubblewrap_is_detected(ground, leaky, leak):
    alter, expected = LEAKS[leak]
    leaky(alter)
    trial = await run_probes(ground / "state", RULES)

    assert failed(trial) >= expected
    assert not trial.holds
    assert 'sandbox.kind = "none"' in str(trial)


@pytest.mark.attack("T6", "Verification, setup or a server makes a namespace, in which it has every capability")
async def test_every_kind_of_sandbox_is_probed(ground, leaky):
    leaky("without --disable-userns 0")
    trial = await run_probes(ground / "state", RULES)

    (told,) = [probe.detail for probe in trial.failed if probe.name == "commands make no namespaces"]
    assert [role for role in selftest_probes.COMMANDS if f"({role})" not in told] == []


async def test_a_git_directory_writable_from_a_sandbox_is_detected(ground, leaky):
    leaky(f"""for number in "${{!options[@]}}"; do
        case "${{options[$number]}}" in {ground}/*/shadow) shadow=${{options[$number]}};; esac
    done
    [ -z "$shadow" ] || options+=(--bind "$shadow" "$shadow")""")
    trial = await run_probes(ground / "state", RULES)

    assert "the git directory that people use is unchanged" in failed(trial)


async def test_the_probes_stop_once_a_guard_file_can_be_read(ground, leaky):
    cells = ground / "state" / "cells"
    leaky(f"options+=(--bind {cells} {cells})")
    trial = await run_probes(ground / "state", RULES)

    tried = {probe.name: probe.detail for probe in trial.failed}
    assert str(cells) in tried[selftest_probes.GUARDS]
    assert "it was not tried" in tried["files outside cannot be written"]
    assert "it was not tried" in tried["no network"]


def test_only_the_programs_own_commands_are_compared_with_its_namespace(tmp_path, monkeypatch, capfd):
    """The kernel gives the number of a namespace that has ended to a later one."""
    file = tmp_path / "scene.json"
    file.write_text(json.dumps({"guards": [], "shell": "/bin/cat", "command": str(file)}))
    monkeypatch.setattr(selftest_probes, "PROBES", {})
    selftest_probes.main(selftest_probes.PROGRAM, str(file))
    assert json.loads(capfd.readouterr().out)["outer"] == str(Path("/proc/self/ns/pid").readlink())
    assert "outer" not in json.loads(file.read_text())


async def test_missing_resource_limits_are_detected(ground, leaky):
    leaky('for word; do shift; [ "$word" = 500 ] && word=0; set -- "$@" "$word"; done')
    trial = await run_probes(ground / "state", RULES)

    assert failed(trial) == {"limits are in force"}


async def test_a_missing_bubblewrap_is_reported_with_the_way_to_install_it(ground, monkeypatch):
    monkeypatch.setenv("PATH", str(ground))
    trial = await run_probes(ground / "state", RULES)

    assert not trial.holds
    assert str(trial) == BWRAP_MISSING


@pytest.mark.parametrize("said", ["bubblewrap 0.6.1", "nothing of the kind"])
async def test_an_old_or_unknown_bubblewrap_is_refused(ground, monkeypatch, said):
    fake = ground / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho {said}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    trial = await run_probes(ground / "state", RULES)

    assert not trial.holds
    assert ("0.6.1 is too old: 0.8.0 or later" in str(trial)) == ("0.6.1" in said)


async def test_a_tools_folder_that_exposes_too_much_is_a_mistake_in_the_settings(ground):
    with pytest.raises(BadSettings, match="contains the state_dir"):
        await run_probes(ground / "state", SandboxRules(tools=(ground,)))


def test_refused_namespaces_are_reported_with_a_fix():
    said = fix_hints.fix_hint_for(
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow"
    )

    assert "container" in said or "sysctl" in said or "CAP_SYS_ADMIN" in said
    assert fix_hints.fix_hint_for("") == fix_hints.FIX_OR_OPT_OUT


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("bwrap: Creating new namespace failed: Operation not permitted", "seccomp profile forbids"),
        ("bwrap: Can't set hostname to treehand: Operation not permitted", "seccomp profile forbids"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "hides a part of /proc"),
    ],
)
def test_missing_permissions_of_a_container_are_reported_with_the_needed_flags(trouble, why):
    said = fix_hints.container_fix_hint(trouble)

    assert why in said
    assert "--security-opt seccomp=deploy/seccomp.json --security-opt systempaths=unconfined" in said

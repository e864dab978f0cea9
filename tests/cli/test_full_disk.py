"""A state directory on a full disk: commands say so, with the place, and nobody is told to do without a sandbox."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli import main as cli
from tests.cli.conftest import SECONDS, TREEHAND

_SETTINGS = """
state_dir = "{small}/state"
web.bind = ""
limits.free_disk_gb = 0
[[projects]]
name = "shop"
repository = "{folder}"
tracker = "local"
"""
_NO_NAMESPACE, _NO_MOUNT = 1, 77
FILLED = {
    "no space": ("size=8m", "cat /dev/zero > {small}/filler"),
    "no files": ("nr_inodes=100", "i=0; while : > {small}/$i; do i=$((i+1)); done"),
}


def in_small_disk(tmp_path: Path, options: str, *commands: str) -> subprocess.CompletedProcess[str]:
    """Runs the commands where `small` is a small disk, which nobody else sees, and which is gone afterwards."""
    (tmp_path / "small").mkdir()
    script = f"mount -t tmpfs -o {options} none {tmp_path}/small || exit {_NO_MOUNT}\n" + "\n".join(commands)
    env = {**os.environ, "HOME": str(tmp_path / "home"), "ANTHROPIC_API_KEY": "sk-ant-x"}
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script], cwd=tmp_path, env=env, text=True, timeout=4 * SECONDS, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.parametrize("what", FILLED)
@pytest.mark.parametrize("command", ["status", "once", "check"])
def test_on_a_full_disk_a_command_says_so_in_a_sentence_and_works_again_when_there_is_room(tmp_path, what, command):
    options, fill = FILLED[what]
    for line in ("init -qb main", "commit -q --allow-empty -m x"):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *shlex.split(line)], cwd=tmp_path, check=True
        )
    (tmp_path / "treehand.toml").write_text(_SETTINGS.format(small=tmp_path / "small", folder=tmp_path))
    treehand = shlex.join(TREEHAND)
    done = in_small_disk(
        tmp_path, options, f"{treehand} status", f"({fill.format(small=tmp_path / 'small')}) 2>/dev/null",
        f"echo FULL; {treehand} {command}; echo EXIT $?", f"rm -f {tmp_path}/small/filler {tmp_path}/small/[0-9]*",
        f"{treehand} status; echo EXIT $?",
    )  # fmt: skip
    if done.returncode in {_NO_NAMESPACE, _NO_MOUNT}:
        pytest.skip("mounting is not allowed here")
    _, _, later = done.stdout.partition("FULL\n")
    full, again, _ = later.split("EXIT")
    assert "The disk of" in " ".join(full.split())
    assert "is full. Free some space" in " ".join(full.split())
    assert again.startswith(" 1\n"), full
    assert later.endswith("EXIT 0\n")
    assert "Traceback" not in full
    assert "bug" not in full
    assert 'sandbox.kind = "none"' not in full


@pytest.mark.parametrize(
    "problem", [OSError(28, "No space left on device", "/data/x"), OSError(122, "Quota", "/data/x")]
)
def test_a_command_that_meets_a_full_disk_anywhere_is_no_bug(monkeypatch, capsys, problem):
    def call(_options):
        group = ExceptionGroup("several", [ValueError("other"), problem])
        raise group.exceptions[0] from group  # as `treehand run` does: the error is its own cause

    monkeypatch.setattr(cli, "_call", call)
    assert cli.main(["status"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "treehand: The disk is full (/data/x could not be written). Free some space there, or raise its quota; "
        "then start again: nothing is lost.\n"
    )


def test_another_error_is_still_a_bug(monkeypatch, capsys):
    monkeypatch.setattr(cli, "_call", lambda _options: sys.intern(1))  # raises TypeError
    assert cli.main(["status"]) == 3
    assert "this is a bug" in capsys.readouterr().err

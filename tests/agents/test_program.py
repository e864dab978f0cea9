"""T21: no turn starts unless the agent's program is unaltered since its installation, and new enough."""

import base64
import hashlib
import os
from importlib import metadata
from pathlib import Path

import pytest

from bot.agents.claude import program
from bot.domain.turn import EventKind, Failure, TurnState
from bot.errors import NeedsHuman

VERSION = ".".join(map(str, program.MIN_VERSION))


class Installed:
    """An installed wheel with a program in it."""

    def __init__(self, site: Path) -> None:
        self.cli = site / "made_up" / "_bundled" / "claude"
        self.cli.parent.mkdir(parents=True)
        self.cli.write_text(f"#!/bin/sh\necho '{VERSION} (Made up)'\n")
        self.cli.chmod(0o755)
        digest = base64.urlsafe_b64encode(hashlib.sha256(self.cli.read_bytes()).digest()).decode().rstrip("=")
        info = site / "made_up-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"made_up/_bundled/claude,sha256={digest},{self.cli.stat().st_size}\n")

    def alter(self, *, same_time: bool = False) -> None:
        before = self.cli.stat()
        self.cli.write_text(self.cli.read_text().replace("Made up", "Made it"))
        if same_time:
            os.utime(self.cli, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Installed:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(program, "PACKAGE", "made-up")
    return Installed(site)


async def test_t21_an_unaltered_program_is_accepted(installed, tmp_path):
    assert await program.check_version(installed.cli, tmp_path / "state") == VERSION


@pytest.mark.parametrize("same_time", [False, True])
async def test_t21_an_altered_program_is_refused_and_never_run(installed, tmp_path, same_time):
    assert await program.check_version(installed.cli, tmp_path / "state") == VERSION
    installed.alter(same_time=same_time)
    with pytest.raises(
        NeedsHuman, match=r"altered after its installation\. Treehand does not start it\. Reinstall it"
    ) as refused:
        await program.check_version(installed.cli, tmp_path / "state")
    assert str(installed.cli) in str(refused.value)


async def test_t21_an_altered_program_fails_the_turn_with_a_clear_message(installed, scene):
    installed.alter()
    report = await scene.take(None, cli=installed.cli)
    assert (report.state, report.failure) == (TurnState.FAILED, Failure.SETUP)
    assert "Reinstall it" in report.detail


async def test_a_checked_program_is_not_checked_again_while_its_file_is_unchanged(installed, tmp_path):
    state = tmp_path / "state"
    await program.check_version(installed.cli, state)
    noted = (state / "program.json").stat().st_mtime_ns
    program._unaltered.clear()  # as a new process
    assert await program.check_version(installed.cli, state) == VERSION
    assert (state / "program.json").stat().st_mtime_ns == noted


@pytest.mark.parametrize("note", ["", "{", "7", "[]", '["a", "b"]'])
async def test_an_invalid_record_of_a_check_causes_another_check(installed, tmp_path, note):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "program.json").write_text(note)
    installed.alter()
    with pytest.raises(NeedsHuman, match="Reinstall it"):
        await program.check_version(installed.cli, tmp_path / "state")


async def test_a_program_without_an_installation_record_is_reported(scene, tmp_path):
    said = await program.check_version(scene.fake(""), tmp_path / "state")
    assert said.startswith(VERSION)
    assert "only its version is checked" in said


def test_the_bundled_program_has_a_record():
    cli = program.find_installed()
    assert cli
    assert program.recorded_digest(cli)
    assert metadata.version(program.PACKAGE)


async def test_t21_updates_by_the_program_itself_are_disabled(scene):
    body = "import os; greet(); answer(os.environ.get('DISABLE_AUTOUPDATER', '')); end()"
    await scene.take(None, cli=scene.fake(body))
    assert scene.texts(EventKind.TEXT) == ["1"]

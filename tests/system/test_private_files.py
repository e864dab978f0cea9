"""A state directory that another person owns, or has written to, is not used."""

import os
import stat
from pathlib import Path

import pytest

from bot.errors import CannotStart
from bot.system import private_files
from bot.system.private_files import ensure_private_folder, refuse_foreign_folder

STRANGER = 4711


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "state"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def seen_by(monkeypatch):
    """We are another user than the owner of the files; root cannot be, so files are given away instead."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.lchown(path, STRANGER, STRANGER)
        else:
            monkeypatch.setattr(private_files.os, "geteuid", lambda: STRANGER)

    return give


@pytest.mark.attack("T17", "Another user of the machine owns the state directory, and opens it again at any time")
def test_t17_a_folder_of_another_person_is_refused(folder, seen_by):
    seen_by(folder)
    with pytest.raises(CannotStart, match=r"state belongs to .*, who could read your code there"):
        refuse_foreign_folder(folder)


@pytest.mark.attack("T17", "Another user of the machine puts a link where Treehand writes its lock or its log")
def test_t17_a_link_that_another_person_has_put_into_the_folder_is_refused(folder, seen_by, tmp_path):
    target = tmp_path / "keys"
    target.write_text("mine")
    link = folder / "daemon.lock"
    link.symlink_to(target)
    seen_by(link)
    with pytest.raises(CannotStart, match="belongs to"):
        refuse_foreign_folder(folder)


@pytest.mark.attack("T17", "Another user of the machine makes a link to a state directory, and changes the link later")
def test_t17_a_link_to_the_folder_of_another_person_is_refused(folder, seen_by, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    refuse_foreign_folder(link)
    seen_by(link)
    with pytest.raises(CannotStart, match="belongs to"):
        refuse_foreign_folder(link)


def test_a_folder_of_ours_and_none_at_all_are_used(folder):
    (folder / "treehand.db").touch()
    refuse_foreign_folder(folder)
    refuse_foreign_folder(folder / "new")


def test_a_folder_that_cannot_be_closed_is_not_called_closed(folder, monkeypatch):
    folder.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # like a file system without permissions
    assert "cannot be closed" in ensure_private_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755

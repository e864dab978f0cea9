"""Which settings file a command uses."""

import os
from pathlib import Path

import pytest

from bot.settings import find_file
from bot.settings.dashboard_access import may_move_dashboard
from bot.settings.find_file import find_file_for, new_settings_file, settings_file, user_settings_file
from bot.settings.load import load
from tests.settings.test_settings import PROJECT


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TREEHAND_CONFIG", raising=False)
    (tmp_path / "home" / "shop" / "src" / "deep").mkdir(parents=True)
    return tmp_path / "home"


def settings(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "treehand.toml").write_text("")
    return folder / "treehand.toml"


def test_the_nearest_file_in_a_folder_above_is_used(home, monkeypatch):
    settings(home)
    ours = settings(home / "shop")
    monkeypatch.chdir(home / "shop" / "src" / "deep")
    assert settings_file() == ours
    assert new_settings_file() == Path("treehand.toml")


def test_a_named_file_is_used_even_if_there_is_one_here(home, monkeypatch):
    settings(home / "shop")
    monkeypatch.chdir(home / "shop")
    monkeypatch.setenv("TREEHAND_CONFIG", "/etc/ours.toml")
    assert settings_file() == Path("/etc/ours.toml")
    assert settings_file("mine.toml") == new_settings_file("mine.toml") == Path("mine.toml")


def test_in_other_folders_the_users_own_file_is_used(home, monkeypatch):
    monkeypatch.chdir(home)
    assert settings_file() == Path("treehand.toml")  # which is not there
    own = settings(home / ".config" / "treehand")
    assert settings_file() == own == user_settings_file()


def test_a_file_of_another_user_in_a_folder_above_is_not_used(home, monkeypatch):
    theirs = settings(home)
    assert find_file_for(home / "shop") == theirs
    if os.geteuid():
        monkeypatch.setattr(find_file.os, "geteuid", lambda: theirs.stat().st_uid + 1)
    else:
        os.chown(theirs, 12345, -1)
    assert find_file_for(home / "shop") is None
    assert find_file_for(home) == theirs  # a person went to this very folder


@pytest.mark.parametrize("place", ["worktrees/shop/shop-1", "worktrees/shop/shop-1/src", "homes/shop/shop-1"])
def test_a_file_that_an_agent_may_have_written_is_not_used(home, place, monkeypatch):
    state = home / "state"
    settings(state / place)
    assert find_file_for(state / place) == state / place / "treehand.toml"
    (state / "daemon.lock").touch()
    assert find_file_for(state / place) is None
    monkeypatch.chdir(state / place)
    assert settings_file() == user_settings_file()


def test_without_a_state_dir_the_default_is_visible_and_an_earlier_state_stays_in_use(home, tmp_path):
    (tmp_path / "treehand.toml").write_text(PROJECT)
    assert load(tmp_path / "treehand.toml").state_dir == home / "treehand-state"
    earlier = home / ".local/state/treehand"
    earlier.mkdir(parents=True)
    (earlier / "treehand.db").touch()
    assert load(tmp_path / "treehand.toml").state_dir == earlier
    (home / "treehand-state").mkdir()
    (home / "treehand-state" / "treehand.db").touch()
    assert load(tmp_path / "treehand.toml").state_dir == home / "treehand-state"


def test_another_variable_does_not_change_what_counts_as_set(home, tmp_path, monkeypatch):
    (tmp_path / "treehand.toml").write_text(PROJECT)
    earlier = home / ".local/state/treehand"
    earlier.mkdir(parents=True)
    (earlier / "treehand.db").touch()
    monkeypatch.setenv("TREEHAND_WEB__LOGIN", "never")
    monkeypatch.setenv("TREEHAND_LIMITS__WORKING", "2")
    read = load(tmp_path / "treehand.toml")
    assert (read.state_dir, may_move_dashboard(read)) == (earlier, True)
    monkeypatch.setenv("TREEHAND_WEB__BIND", "127.0.0.1:8700")
    monkeypatch.setenv("TREEHAND_STATE_DIR", "~/treehand-state")
    read = load(tmp_path / "treehand.toml")
    assert (read.state_dir, may_move_dashboard(read)) == (home / "treehand-state", False)

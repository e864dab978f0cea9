"""Git's commands: what they get of this process's environment."""

import os
import stat

import pytest

from bot.git.command import git

SHOW = "#!/bin/sh\nprintf '%s' \"$HTTPS_PROXY\"\n"


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """A git that prints its HTTP proxy."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(SHOW)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HTTPS_PROXY", "http://ana:secret@proxy.test:3128")
    return lambda *words: git(tmp_path, *words)


@pytest.mark.parametrize("words", [("fetch", "origin"), ("push", "origin"), ("ls-remote", "origin"), ("lfs", "push")])
def test_commands_with_network_get_the_http_proxy(shown, words):
    assert shown(*words) == "http://ana:secret@proxy.test:3128"


@pytest.mark.parametrize("words", [("worktree", "add"), ("diff",), ("merge-tree",), ("index-pack",), ("cat-file",)])
def test_t6_only_commands_with_network_get_the_http_proxy(shown, words):
    assert shown(*words) == ""

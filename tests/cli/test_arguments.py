"""Arguments: the settings file before or after any command, keys of issues and of pull requests, and the help."""

import subprocess

import pytest

from bot.cli.main import main, parser
from bot.domain.run import Phase, Run
from bot.store.build import open_store
from bot.workspace.paths import ProjectPaths
from tests.services.local.conftest import Shop
from tests.services.local.user_repository import make_repository
from tests.test_docs import commands

COMMANDS = [(name.split()[1:], made) for name, made in commands(parser())]


def required(made) -> list[str]:
    chosen = [one for one in made._actions if one.required or (not one.option_strings and one.nargs != "?")]
    words = {"shell": ["bash"], "labels": []}
    return [
        word
        for one in chosen
        for word in ([one.option_strings[0], "x"] if one.option_strings else words.get(one.dest, ["1"]))
    ]


@pytest.mark.parametrize(("words", "made"), COMMANDS, ids=lambda one: " ".join(one) if isinstance(one, list) else "")
def test_the_settings_file_may_be_named_before_and_after_every_command(words, made):
    rest = required(made)
    assert parser().parse_args([*words, "--config", "x.toml", *rest]).config == "x.toml"
    assert parser().parse_args(["--config", "x.toml", *words, *rest]).config == "x.toml"
    assert parser().parse_args(["--config", "y", *words, "--config", "x.toml", *rest]).config == "x.toml"
    assert parser().parse_args([*words, *rest]).config == ""


def test_the_settings_file_may_be_named_behind_the_labels(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path.parent)
    config = ["--config", str(folder.path / "treehand.toml")]
    assert main(["issue", "new", "One", *config]) == 0
    assert main(["issue", "label", "1", "ai", "-later", "--as", "bob", *config]) == 0
    assert capsys.readouterr().out.endswith("[ai]\n")


def test_the_help_lists_every_command_under_a_heading_and_explains_a_key(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = parser().format_help()
    lines = shown.splitlines()
    for words, _ in COMMANDS:
        assert sum(line.startswith(f"    {words[0]} ") for line in lines) == 1, words
    assert [line.strip() for line in lines if line.startswith("  ") and line.endswith(":")] == [
        "begin:", "look:", "steer:", "issues and pull requests on this machine:", "maintain:",
    ]  # fmt: skip
    assert all(word in shown for word in ("KEY is the key of an issue", "examples:", "`treehand docs start`"))


@pytest.fixture
def shop(folder) -> Shop:
    """A run in review, whose pull request has the number 2."""
    made = Shop(folder.path, make_repository(folder.path / "theirs"))
    made.offer(branch="treehand/shop-1")
    (folder.path / "treehand.toml").write_text(
        'state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "theirs"\n'
    )
    folder.save(Run("shop#1", "shop", phase=Phase.REVIEW))
    made.server.close()
    return made


@pytest.mark.parametrize("key", ["2", "#2", "shop#2"])
def test_the_number_of_a_pull_request_names_its_run(shop, folder, key):
    assert folder.does("show", key) == folder.does("show", "1")
    assert folder.does("why", key) == folder.does("why", "1")
    assert folder.does("say", key, "Nearly.").startswith("shop#1: The agent gets this in another turn")
    assert "Nearly." in folder.does("issue", "show", "1")


def test_a_number_that_is_neither_an_issue_nor_a_pull_request_has_no_run(shop, folder):
    with folder.terminal("why", "3") as terminal:
        assert terminal.ends() == 1
    assert "There is no run for 3." in terminal.written


def test_the_run_of_an_issue_goes_before_a_pull_request_of_that_number(shop, folder):
    folder.save(Run("shop#2", "shop", phase=Phase.QUEUED))
    assert folder.does("show", "2").startswith("shop#2")


def git(folder, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_the_diff_of_a_pull_request_elsewhere_is_that_of_the_published_commits(folder):
    (folder.path / "treehand.toml").write_text(
        'state_dir = "state"\n[[projects]]\nname = "shop"\ntracker = "github"\nrepository = "acme/shop"\n'
    )
    with folder.terminal("pr", "diff", "7") as terminal:
        assert terminal.ends() == 1
    assert "There is no run for 7." in terminal.written
    store = open_store(folder.settings)
    store.save(Run("acme/shop#7", "shop", phase=Phase.REVIEW), at=1.0)
    store.close()
    with folder.terminal("pr", "diff", "7") as terminal:
        assert terminal.ends() == 1
    assert "This machine has no published commits of acme/shop#7." in terminal.written
    mirror, theirs = ProjectPaths(folder.settings.state_dir, "shop").mirror, make_repository(folder.path / "theirs")
    git(folder.path, "clone", "--quiet", "--bare", str(theirs), str(mirror))
    (theirs / "new.py").write_text("x = 1\n")
    git(theirs, "add", "new.py")
    git(theirs, "-c", "user.name=a", "-c", "user.email=a@x.org", "commit", "--quiet", "--message=new")
    git(mirror, "fetch", "--quiet", str(theirs), "HEAD:refs/treehand/pushed/treehand/acme-shop-7")
    git(mirror, "update-ref", "refs/treehand/base/treehand/acme-shop-7", "refs/treehand/pushed/treehand/acme-shop-7~1")
    assert "+x = 1" in folder.does("pr", "diff", "7")

"""The last steps of `treehand init`: folders of tools, the list of ignored files, and the first issue."""

import pytest

from bot.cli.init_finish import _tool_folder, ask_first_issue, ignore_file
from bot.cli.questions import Questions
from bot.services.local.connect import open_local_server
from tests.services.local.user_repository import make_repository


@pytest.mark.parametrize(
    ("program", "folder"),
    [
        ("home/.nvm/versions/node/v20/bin/npm", "home/.nvm/versions/node/v20"),
        ("opt/zig/zig", "opt/zig"),
        ("home/.local/bin/make", None),
        ("home/bin/make", None),
        ("home/make", None),
        ("make", None),
        ("home/.pyenv/shims/python", None),
    ],
)
def test_only_a_folder_with_one_tool_is_shown_to_agents(tmp_path, monkeypatch, program, folder):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert _tool_folder(tmp_path / program) == (tmp_path / folder if folder else None)


def test_git_ignores_the_settings_file_and_is_told_once(tmp_path, capsys):
    top = make_repository(tmp_path / "shop")
    (top / ".git/info/exclude").write_text("*.log")
    for _ in range(2):
        ignore_file(top / "treehand.toml", top)
    assert (top / ".git/info/exclude").read_text() == "*.log\n/treehand.toml\n"
    assert capsys.readouterr().out.count("Git ignores it") == 1


def test_a_settings_file_elsewhere_is_not_gits_business(tmp_path, capsys):
    top = make_repository(tmp_path / "shop")
    before = (top / ".git/info/exclude").read_text() if (top / ".git/info/exclude").exists() else ""
    ignore_file(tmp_path / "treehand.toml", top)
    after = (top / ".git/info/exclude").read_text() if (top / ".git/info/exclude").exists() else ""
    assert (before, capsys.readouterr().out) == (after, "")


@pytest.fixture
def answers(monkeypatch):
    def made(word: str) -> Questions:
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("builtins.input", lambda _: word)
        return Questions(use_defaults=False)

    return made


def labels(folder) -> dict[str, list[str]]:
    server = open_local_server(folder.settings)
    found = {issue.key: sorted(issue.labels) for issue in server.issues("shop").list_issues()}
    server.close()
    return found


def test_a_title_opens_an_issue_that_asks_for_work(folder, answers):
    assert ask_first_issue(folder.settings, answers("Say hello")) == "shop#1"
    assert labels(folder) == {"shop#1": ["ai"]}


@pytest.mark.parametrize("number", ["1", "#1"])
def test_a_number_labels_an_open_issue(folder, answers, number):
    open_one(folder)
    assert ask_first_issue(folder.settings, answers(number)) == "shop#1"
    assert labels(folder) == {"shop#1": ["ai"]}


def open_one(folder) -> None:
    server = open_local_server(folder.settings)
    server.issues("shop").open("One", by="ana")
    server.close()


def test_no_answer_opens_nothing_and_a_wrong_number_is_told(folder, answers, capsys):
    assert ask_first_issue(folder.settings, answers("")) == ""
    assert ask_first_issue(folder.settings, answers("7")) == ""
    assert "No issue was opened: " in capsys.readouterr().out
    assert labels(folder) == {}


def test_nobody_is_asked_without_a_terminal(folder):
    assert ask_first_issue(folder.settings, Questions(use_defaults=True)) == ""

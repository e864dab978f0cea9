"""Each order is answered in one line: what will happen, or why nothing will, with exit code 1."""

import pytest

from bot.cli.main import main
from bot.domain.run import CLOSED, Phase, WaitReason
from tests.fakes.runs import a_run
from tests.services.local.conftest import Shop
from tests.services.local.user_repository import make_repository


@pytest.fixture
def order(folder, capsys, monkeypatch):
    """Runs a command; returns its exit code and what it printed."""
    monkeypatch.chdir(folder.path)
    monkeypatch.setenv("TREEHAND_CONFIG", str(folder.path / "treehand.toml"))

    def does(*words: str) -> tuple[int, str]:
        code = main(words)
        out, err = capsys.readouterr()
        return code, out + err

    return does


NO_DAEMON = " No daemon is running: `treehand run` starts one.\n"


@pytest.mark.parametrize(
    ("phase", "more", "words", "code", "answer"),
    [
        (Phase.ASKING, {"reason": "Which?"}, ("retry",), 0, "The run continues as soon as a slot is free."),
        (Phase.REVIEW, {}, ("retry",), 1, "There is nothing to retry now: A pull request is open"),
        (Phase.QUEUED, {}, ("resume",), 1, "There is nothing to resume now: The run is queued"),
        (Phase.REVIEW, {}, ("pause",), 0, "Paused."),
        (Phase.ASKING, {"wait_reason": WaitReason.PAUSED}, ("pause",), 1, "The run is already paused"),
        (Phase.WORKING, {"turns_number": 1}, ("stop",), 0, "The run ends. Unpublished work is salvaged."),
        (Phase.REVIEW, {}, ("give",), 1, ""),
        (Phase.WORKING, {"turns_number": 1}, ("say",), 0, "The agent gets this while it works."),
        (Phase.QUEUED, {}, ("say",), 0, "The agent gets this when its next turn starts."),
        (Phase.REVIEW, {}, ("say",), 0, "The agent gets this in another turn, as soon as a slot is free."),
        (Phase.ASKING, {"reason": "Which?"}, ("say",), 0, "Treehand reads this as your reply. The run waits for you: "),
        (Phase.DONE, {}, ("say",), 1, "its run has ended, and no agent reads this. Put the label `ai` on the issue"),
    ],
)
def test_a_comment_command_says_what_it_will_do(folder, order, phase, more, words, code, answer):
    folder.has(phase, "Add a cart", **more)
    text = ("Make it 43.",) if words == ("say",) else ()
    found, printed = order(*words, "1", *text)
    assert found == code
    assert printed.startswith(f"shop#1: {answer}")
    assert printed.count("\n") == 1
    assert printed.endswith(NO_DAEMON) == (phase is not Phase.DONE)


@pytest.mark.parametrize("command", ["rebase", "approve", "budget 10", "plan", "model", "take"])
def test_a_command_that_depends_on_more_than_the_run_is_answered_by_the_daemon(folder, order, command):
    folder.has(Phase.REVIEW, "Add a cart")
    assert order("say", "1", f"/ai {command}") == (0, f"shop#1: Treehand answers on the issue.{NO_DAEMON}")


def test_an_order_about_an_issue_without_a_run_says_how_to_start_one(folder, order):
    order("issue", "new", "Add a cart")
    code, printed = order("retry", "1")
    assert code == 1
    assert "it has no run, and no agent reads this. Put the label `ai` on the issue" in printed


def test_a_new_issue_says_what_is_missing_before_an_agent_starts(folder, order):
    assert order("issue", "new", "One") == (
        0, "shop#1\nNo agent starts until it has the label: `treehand issue label shop#1 ai`.\n",
    )  # fmt: skip
    assert order("issue", "new", "Two", "--label", "ai") == (
        0, f"shop#2\nAn agent starts as soon as a slot is free.{NO_DAEMON}",
    )  # fmt: skip


def test_closing_and_reopening_an_issue_says_what_follows(folder, order):
    folder.has(Phase.QUEUED, "Add a cart")
    assert order("issue", "close", "1")[1] == (
        f"shop#1 is closed. Its run ends, and unpublished work is salvaged.{NO_DAEMON}"
    )
    assert order("issue", "reopen", "1")[1].startswith("shop#1 is open. No agent starts until it has the label")
    order("issue", "new", "Without a run")
    assert order("issue", "close", "2") == (0, "shop#2 is closed.\n")


def test_each_order_about_a_pull_request_is_answered(folder, order):
    shop = Shop(folder.path, make_repository(folder.path / "theirs"))
    shop.offer()
    shop.server.close()
    (folder.path / "treehand.toml").write_text(
        'state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "theirs"\n'
    )
    said = order("pr", "comment", "2", "Nearly.")
    assert said == (
        0,
        "shop#2: Its run has ended, and no agent reads this. Put the label `ai` on the issue to start one.\n",
    )
    assert order("pr", "ready", "2") == (0, "shop#2 is ready for review.\n")
    assert order("pr", "close", "2")[1].startswith("shop#2 is closed.")
    assert order("pr", "reopen", "2")[1].startswith("shop#2 is open. If its run ended with it, the run continues")
    folder.save(a_run("shop#1", "shop", phase=Phase.DONE, reason=CLOSED))
    continues = order("pr", "comment", "2", "Go on.")[1]
    assert continues == f"shop#2: Its run continues within a minute, and the agent gets this.{NO_DAEMON}"
    approved = order("pr", "review", "2", "Good.", "--approve")
    assert approved == (0, "shop#2 is approved. `treehand pr merge 2` merges it.\n")

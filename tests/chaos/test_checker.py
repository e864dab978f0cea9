"""The checker reports the faults of a history, and accepts a good one."""

from pathlib import Path

import pytest

from tests.chaos.checker import judged
from tests.chaos.history import History

_MAC = "0" * 64


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path / "history.jsonl")
    history.note("people", issue=1, stage="tidied")
    return history


def request(history: History, kind: str, path: str, *, came: float, **about: object) -> None:
    usual = {"method": "POST", "status": 201, "told": True, "by": "bot", "points": 1, "retry_after": ""}
    history.note("request", kind=kind, path=path, came=came, **{"sent": None, "made": {}, **usual, **about})


def comment(history: History, *, came: float, run: int = 1, slug: str = "progress") -> None:
    sent = {"body": f"Working\n\n<!-- treehand:{run}/{slug} {_MAC} -->"}
    request(history, "comment", "/repos/acme/shop/issues/1/comments", came=came, sent=sent)


def inspected(history: History, **found: object) -> None:
    nothing = {"worktrees": [], "residents": [], "mounts": [], "databases": {"treehand.db": "ok"}, "phases": {}}
    history.note("inspected", machine="one", **(nothing | found))


def test_a_good_history_breaks_no_promise(history):
    request(
        history, "pull request", "/repos/acme/shop/pulls", came=1, made={"head": "treehand/acme-shop-1", "number": 2}
    )
    comment(history, came=2)
    comment(history, came=3.1, slug="reply-2")
    inspected(history, phases={"acme/shop#1/1": "done"})
    assert judged(history.file).broken == []


@pytest.mark.parametrize("run", [1, 2])
def test_a_second_progress_comment_is_found_for_any_run(history, run):
    comment(history, came=1)
    comment(history, came=2.1, run=run)
    assert judged(history.file).broken == ["'progress' was said 2 times on 1"]


def test_a_second_answer_in_a_thread_is_found(history):
    sent = {"body": f"Done.\n\n<!-- treehand:1/reply-inline-7 {_MAC} -->"}
    for came in (1, 2.1):
        request(history, "reply", "/repos/acme/shop/pulls/5/comments/7/replies", came=came, sent=sent)
    assert judged(history.file).broken == [
        "'reply-inline-7' was said 2 times on /repos/acme/shop/pulls/5/comments/7/replies"
    ]


def test_a_second_pull_request_is_found_on_any_branch(history):
    for number, branch in enumerate(("treehand/acme-shop-1", "treehand/acme-shop-1-2"), start=5):
        request(
            history,
            "pull request",
            "/repos/acme/shop/pulls",
            came=2.0 * number,
            made={"head": branch, "number": number},
        )
    assert judged(history.file).broken == ["issue 1 has several pull requests: [5, 6]"]


def test_an_abandoned_issue_is_lost_and_one_that_asks_is_not(history):
    history.note("people", issue=2, stage="labelled")
    history.note("people", issue=3, stage="redirected")
    request(history, "label", "/repos/acme/shop/issues/3/labels", came=1, sent={"labels": ["ai:asking"]}, status=200)
    assert judged(history.file).broken == ["issue 2 got no further than 'labelled', and nobody is asked"]


def test_leftover_processes_worktrees_and_database_damage_are_reported(history):
    history.note("orphans", machine="one", after=1.2, commands=["git push"])
    history.note("stopped", machine="one", code=-9)
    inspected(history, worktrees=["shop/acme-shop-1"], databases={"treehand.db": "row 3 missing"})
    assert judged(history.file).broken == [
        "1.2 s after a kill -9 there were still: ['git push']",
        "it was asked to end and ended with -9",
        "at the end there are worktrees: ['shop/acme-shop-1']",
        "treehand.db: row 3 missing",
    ]


def test_writes_too_close_together_and_too_many_writes_are_found(history):
    for number in range(82):
        request(history, "edit", "/repos/acme/shop/issues/comments/1", came=number * 0.71, method="PATCH", status=200)
    request(history, "edit", "/repos/acme/shop/issues/comments/1", came=100.0, method="PATCH", status=200)
    request(history, "edit", "/repos/acme/shop/issues/comments/1", came=100.1, method="PATCH", status=200)
    assert judged(history.file).broken == [
        "1 times bot wrote twice in less than a second: [0.1]",
        "bot wrote 82 times in a minute",
    ]


def test_a_request_before_the_end_of_a_rate_limit_is_found_unless_a_kill_explains_it(history):
    at = _refused(history)
    request(history, "look", "/repos/acme/shop/issues", came=at + 1.0, method="GET", status=200)
    assert judged(history.file).broken == ["asked 1 times in the 2 s it was told to wait"]

    history.note("killed", machine="one")
    assert judged(history.file).broken == []


def _refused(history: History) -> float:
    request(history, "look", "/repos/acme/shop/issues", came=1.0, method="GET", status=403, retry_after="2")
    from tests.chaos.history import lines_of

    return float(list(lines_of(history.file))[-1]["at"])


def test_growing_resources_are_found(history):
    before = {"files": 20, "threads": 5, "children": 0, "memory_mb": 60.0, "worktrees": 0}
    history.note("soaked", machine="one", before=before, after={**before, "files": 22, "memory_mb": 90.0})
    assert judged(history.file).broken == []
    history.note("soaked", machine="one", before=before, after={**before, "files": 400, "worktrees": 1})
    assert judged(history.file).broken == ["files grew from 20 to 400", "worktrees grew from 0 to 1"]

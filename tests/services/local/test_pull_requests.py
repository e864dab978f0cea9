"""People's actions on local pull requests, except merging."""

import pytest

from bot.domain.comment import Remark
from bot.domain.pull_request import PullRequestState
from bot.errors import NeedsHuman, Retryable
from bot.services.local.pull_requests import ReviewVerdict
from tests.services.local.user_repository import BRANCH


def heard(shop):
    _, comments = shop.pulls.snapshot([BRANCH], {})
    return comments[BRANCH]


def test_a_pull_request_is_shown_with_its_diff(shop):
    number = shop.offer({"app.py": "one\n2\nthree\n"})
    shown = shop.pulls.show(number)
    assert "-two\n+2\n" in shown.diff
    assert (shown.key, shown.base, shown.pull.draft) == ("shop#2", "main", True)
    assert [listed.key for listed in shop.pulls.list_pull_requests()] == ["shop#2"]


def test_a_pull_request_can_be_named_by_its_issue(shop):
    number = shop.offer(body="Closes #1")
    assert shop.pulls.show(1).pull.number == number


def test_a_missing_pull_request_is_refused(shop):
    with pytest.raises(NeedsHuman, match=r"no pull request shop#9. `treehand pr list`"):
        shop.pulls.show(9)


def test_a_review_is_one_comment_with_its_lines(shop):
    number = shop.offer({"app.py": "one\n2\nthree\n"})
    shop.pulls.review(number, by="ana", verdict=ReviewVerdict.CHANGES, remarks=[Remark("app.py", 2, "a word, please")])

    (comment,) = heard(shop)

    (remark,) = comment.remarks
    assert (remark.path, remark.line, remark.text) == ("app.py", 2, "a word, please")
    assert remark.hunk.splitlines() == ["@@ -1,3 +1,3 @@", " one", "-two", "+2"]


@pytest.mark.parametrize("line", [0, 4, 99])
def test_a_remark_on_a_line_that_is_not_there_is_refused(shop, line):
    number = shop.offer({"app.py": "one\n2\nthree\n"})
    with pytest.raises(NeedsHuman, match=f"^app.py has 3 lines in this pull request, so there is no line {line}"):
        shop.pulls.review(number, by="ana", remarks=[Remark("app.py", line, "why?")])
    assert heard(shop) == ()


def test_a_remark_on_an_unchanged_file_is_refused(shop):
    number = shop.offer()
    with pytest.raises(NeedsHuman, match=r"README.md is not changed"):
        shop.pulls.review(number, by="ana", remarks=[Remark("README.md", 1, "why?")])
    assert heard(shop) == ()


def test_an_approval_without_text_reaches_no_agent(shop):
    number = shop.offer()
    shop.pulls.review(number, by="ana", verdict=ReviewVerdict.APPROVE)
    assert heard(shop) == ()
    assert [said.verdict for said in shop.pulls.show(number).comments] == ["approve"]


def test_a_request_for_changes_needs_text(shop):
    number = shop.offer()
    with pytest.raises(NeedsHuman, match="Describe the changes"):
        shop.pulls.review(number, by="ana", verdict=ReviewVerdict.CHANGES)


def test_a_pull_request_can_be_closed_and_reopened(shop):
    number = shop.offer()
    shop.pulls.close(number, by="ana")
    assert shop.pulls.list_pull_requests() == []
    shop.pulls.reopen(number, by="ana")
    assert shop.pulls.show(number).pull.state is PullRequestState.OPEN


def test_a_pull_request_without_its_branch_can_be_read_but_not_reopened(shop):
    number = shop.offer()
    shop.pulls.repository.keep_head(number, shop.repository.tip(BRANCH))
    shop.pulls.close(number, by="ana")
    shop.repository.remove_branch(BRANCH)
    with pytest.raises(NeedsHuman, match="no longer exists"):
        shop.pulls.reopen(number, by="ana")
    assert "+total = 0" in shop.pulls.show(number).diff


def test_a_branch_has_one_pull_request_that_can_be_reopened(shop):
    first = shop.offer()
    shop.pulls.close(first, by="ana")
    with pytest.raises(Retryable, match="gets only one"):
        shop.offer({"cart.py": "total = 1\n"})
    shop.pulls.reopen(first, by="ana")
    assert shop.offer({"cart.py": "total = 2\n"}) == first


def test_a_draft_can_be_marked_ready(shop):
    number = shop.offer()
    shop.pulls.mark_ready(number, by="ana")
    assert not shop.pulls.show(number).pull.draft


def test_a_finished_pull_request_can_still_be_compared(shop):
    number = shop.offer({"app.py": "one\n2\nthree\n"}, body="Closes #1")
    base, head = shop.pulls.base_and_head(1)
    assert shop.pulls.repository.diff(base, head).count("+2\n") == 1
    shop.pulls.comment(number, "Why?", by="ana")
    assert [said.text for said in shop.pulls.thread(1).comments] == ["Why?"]
    shop.merge(number)
    assert shop.pulls.base_and_head(1) == (base, head)

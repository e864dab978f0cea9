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


def test_a_pull_request_may_be_named_by_its_issue(shop):
    number = shop.offer(body="Closes #1")
    assert shop.pulls.show(1).pull.number == number


def test_what_does_not_exist_is_said_so(shop):
    with pytest.raises(NeedsHuman, match=r"no pull request shop#9. `treehand pr list`"):
        shop.pulls.show(9)


def test_a_review_is_one_comment_with_the_lines_it_is_about(shop):
    number = shop.offer({"app.py": "one\n2\nthree\n"})
    shop.pulls.review(number, by="ana", verdict=ReviewVerdict.CHANGES, remarks=[Remark("app.py", 2, "a word, please")])

    (comment,) = heard(shop)

    (remark,) = comment.remarks
    assert (remark.path, remark.line, remark.text) == ("app.py", 2, "a word, please")
    assert remark.hunk.splitlines() == ["@@ -1,3 +1,3 @@", " one", "-two", "+2"]


def test_a_remark_on_a_file_that_is_not_changed_is_refused(shop):
    number = shop.offer()
    with pytest.raises(NeedsHuman, match=r"README.md is not changed"):
        shop.pulls.review(number, by="ana", remarks=[Remark("README.md", 1, "why?")])
    assert heard(shop) == ()


def test_an_approval_without_text_gives_the_agent_nothing(shop):
    number = shop.offer()
    shop.pulls.review(number, by="ana", verdict=ReviewVerdict.APPROVE)
    assert heard(shop) == ()
    assert [said.verdict for said in shop.pulls.show(number).comments] == ["approve"]


def test_asking_for_changes_needs_words(shop):
    number = shop.offer()
    with pytest.raises(NeedsHuman, match="which changes"):
        shop.pulls.review(number, by="ana", verdict=ReviewVerdict.CHANGES)


def test_closing_and_reopening(shop):
    number = shop.offer()
    shop.pulls.close(number, by="ana")
    assert shop.pulls.list_pull_requests() == []
    shop.pulls.reopen(number, by="ana")
    assert shop.pulls.show(number).pull.state is PullRequestState.OPEN


def test_what_has_lost_its_branch_cannot_be_reopened_but_still_be_read(shop):
    number = shop.offer()
    shop.pulls.repository.keep_head(number, shop.repository.tip(BRANCH))
    shop.pulls.close(number, by="ana")
    shop.repository.remove_branch(BRANCH)
    with pytest.raises(NeedsHuman, match="no longer exists"):
        shop.pulls.reopen(number, by="ana")
    assert "+total = 0" in shop.pulls.show(number).diff


def test_a_branch_has_one_pull_request_which_may_be_reopened(shop):
    first = shop.offer()
    shop.pulls.close(first, by="ana")
    with pytest.raises(Retryable, match="gets only one"):
        shop.offer({"cart.py": "total = 1\n"})
    shop.pulls.reopen(first, by="ana")
    assert shop.offer({"cart.py": "total = 2\n"}) == first


def test_a_draft_is_made_ready(shop):
    number = shop.offer()
    shop.pulls.mark_ready(number, by="ana")
    assert not shop.pulls.show(number).pull.draft


def test_what_was_offered_can_be_compared_also_when_it_is_over(shop):
    number = shop.offer({"app.py": "one\n2\nthree\n"}, body="Closes #1")
    base, head = shop.pulls.base_and_head(1)
    assert shop.pulls.repository.diff(base, head).count("+2\n") == 1
    shop.pulls.comment(number, "Why?", by="ana")
    assert [said.text for said in shop.pulls.thread(1).comments] == ["Why?"]
    shop.merge(number)
    assert shop.pulls.base_and_head(1) == (base, head)

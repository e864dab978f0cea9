"""New issue page: turns text into issues."""

from dataclasses import replace
from urllib.parse import unquote

import pytest

from bot.web.new_issue_form import issues_in, parse_form, text_of
from tests.web.running_dashboard import open_dashboard


async def test_text_becomes_an_issue_with_the_label(web):
    filed = await web.post("/new", project="shop", work="Add a cart\n\nPlease.", begin="yes", plan="yes")
    assert filed.status_code == 303
    thread = web.issue_thread("shop#1")
    assert (thread.issue.title, thread.issue.body, thread.author) == ("Add a cart", "Please.", "ana")
    assert thread.issue.labels == {"ai", "ai:plan"}
    assert web.notified_projects == [["shop"]]
    assert "shop#1" in (await web.page(filed.headers["location"])).text


async def test_several_issues_at_once_go_to_the_chosen_project(tmp_path):
    async with open_dashboard(tmp_path, "shop", "tea") as web:
        filed = await web.post("/new", project="tea", work="One\r\n---\r\nTwo\r\nwith more", begin="yes")
        assert unquote(filed.headers["location"]) == "/new?filed=tea#1&filed=tea#2"
        assert [web.issue_thread(key).issue.title for key in ("tea#1", "tea#2")] == ["One", "Two"]


async def test_an_empty_form_is_refused_with_the_reason(web):
    answer = await web.post("/new", project="shop", work=" \n ")
    assert answer.status_code == 422
    assert "Describe the work: the first line" in answer.text


async def test_an_issue_that_could_not_be_filed_stays_in_the_form(web):
    long = "x" * 300
    answer = await web.post("/new", project="shop", work=f"One\n---\n{long}\n---\nThree", begin="yes", owns="a/**")
    assert answer.status_code == 422
    assert "the limit is 256" in answer.text
    assert "shop#1" in answer.text
    assert f"{long}\n---\nThree</textarea>" in answer.text
    assert 'value="a/**"' in answer.text


async def test_an_unknown_project_is_reported(web):
    answer = await web.post("/new", project="nowhere", work="One")
    assert (answer.status_code, "There is no project nowhere" in answer.text) == (422, True)


async def test_text_in_a_returned_form_is_escaped(web):
    answer = await web.post("/new", project="nowhere", work="</textarea><script>alert(1)</script>")
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize("body", [b"%ff%fe=%00", b"\xff\xfe", b"&" * 2000, b"work=" + b"x" * 2_000_000])
async def test_invalid_form_data_is_refused_with_a_message(web, body):
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
    answer = await web.client.post("/new", content=body, headers=headers)
    assert answer.status_code in {400, 413, 422}
    assert "Request failed" in answer.text or "Describe the work: the first line" in answer.text


# As text


def submitted(work: str = "Add a cart", **more: str):
    return issues_in(parse_form({"project": "shop", "work": work, **more}), "ai")


def test_every_line_can_be_a_separate_issue():
    assert [one.title for one in submitted("One\n\n Two \nThree", each_line="yes")] == ["One", "Two", "Three"]


def test_a_line_of_dashes_separates_issues_and_dashes_within_a_text_do_not():
    found = submitted("One\nhas -- dashes\n-----\nTwo\n--\n- a list")
    assert [(one.title, one.body) for one in found] == [("One", "has -- dashes"), ("Two", "--\n- a list")]


def test_owns_forbids_blocked_and_base_become_lines_of_the_body():
    (one,) = submitted("One\nMore.", owns="a.py\nb/**", forbids="c", blocked="#3", base="next")
    assert one.body == "More.\n\nOwns: a.py, b/**\nForbids: c\nBlocked by #3\nBase: next"


def test_without_start_now_no_label_starts_a_run():
    assert submitted()[0].labels == ()
    assert submitted(begin="yes", labels="bug, ai, ,later")[0].labels == ("ai", "bug", "later")


@pytest.mark.parametrize("each_line", ["", "yes"])
def test_unsent_issues_can_be_edited_as_text_again(each_line):
    typed = parse_form(
        {"work": "One\n---\nTwo\nmore" if not each_line else "One\nTwo", "each_line": each_line, "owns": "a"}
    )
    found = issues_in(typed, "ai")
    assert issues_in(replace(typed, work=text_of(found, typed)), "ai") == found

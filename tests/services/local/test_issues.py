"""People's actions on local issues, and odd input."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.errors import NeedsHuman
from bot.services.local.server import LocalServer, LocalSite

ROOT = Path(__file__).parents[3]


def test_an_issue_is_saved_with_its_labels_and_comments(shop):
    issue = shop.issues.open("Add a cart", by="ana", body="Please.", labels=["ai", "AI:Now"])
    shop.issues.comment(2, "use OAuth", by="bob")

    another = shop.another_desk()
    thread = another.issues("shop").show(2)
    another.close()

    assert thread.issue == issue
    assert issue.key == "shop#2"
    assert issue.labels == {"ai", "ai:now"}
    assert [(said.author, said.text, said.ours) for said in thread.comments] == [("bob", "use OAuth", False)]


def test_issues_and_pull_requests_share_one_sequence_of_numbers_per_project(shop):
    blog = LocalServer(shop.folder / "state", {"blog": LocalSite(None), **shop.sites}, lambda: 0.0)
    assert blog.issues("blog").open("Write", by="ana").key == "blog#1"
    assert shop.offer() == 2
    assert shop.issues.open("Next", by="ana").key == "shop#3"
    blog.close()


def test_the_list_shows_open_issues_newest_first(shop):
    shop.issues.open("Second", by="ana")
    shop.issues.close(1, by="ana")
    assert [issue.title for issue in shop.issues.list_issues()] == ["Second"]
    assert [issue.title for issue in shop.issues.list_issues(closed=True)] == ["Second", "Add a cart"]
    shop.issues.reopen(1, by="ana")
    assert len(shop.issues.list_issues()) == 2


def test_removing_a_label_twice_is_allowed(shop):
    shop.issues.label(1, "ai", "later", by="ana")
    shop.issues.unlabel(1, "ai", by="ana")
    shop.issues.unlabel(1, "ai", by="ana")
    assert shop.issues.show(1).issue.labels == {"later"}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("  two\nlines\there ", "two lines here"),
        ("bell\x07 and \x1b[31mred\x9b", "bell and [31mred"),
        ("🙂 emoji 👩‍👩‍👧", "🙂 emoji 👩‍👩‍👧"),
        ("!!! ???", "!!! ???"),
        ("half \udcff byte", "half ? byte"),
    ],
)
def test_a_title_becomes_one_clean_line(shop, typed, kept):
    assert shop.issues.open(typed, by="ana").title == kept


@pytest.mark.parametrize("title", ["", " \n\t", "\x00\x07"])
def test_an_empty_title_is_refused(shop, title):
    with pytest.raises(NeedsHuman, match="needs a title"):
        shop.issues.open(title, by="ana")
    assert len(shop.issues.list_issues()) == 1


def test_an_overlong_title_is_refused_with_its_length(shop):
    with pytest.raises(NeedsHuman, match="300 characters"):
        shop.issues.open("x" * 300, by="ana")


def test_a_long_body_is_saved_whole_and_a_huge_one_refused(shop):
    body = "ä\tb\n" * 15_000
    assert shop.issues.open("Long", by="ana", body=body).body == body
    with pytest.raises(NeedsHuman, match="the limit is 256 KiB"):
        shop.issues.open("Huge", by="ana", body="x" * (256 * 1024 + 1))
    with pytest.raises(NeedsHuman, match="the limit is 256 KiB"):
        shop.issues.comment(1, "🙂" * 70_000, by="ana")


@pytest.mark.parametrize("name", ["", " ", "x" * 101])
def test_an_invalid_label_name_is_refused(shop, name):
    with pytest.raises(NeedsHuman, match=r"[Ll]abel"):
        shop.issues.label(1, name, by="ana")


def test_a_model_name_in_a_label_keeps_its_case(shop):
    shop.issues.label(1, "AI:Model=Big-One", by="ana")
    assert shop.issues.show(1).issue.labels == {"ai:model=Big-One"}


def test_a_comment_in_the_bots_name_or_without_name_or_text_is_refused(shop):
    with pytest.raises(NeedsHuman, match="own name"):
        shop.issues.comment(1, "hello", by="treehand[bot]")
    with pytest.raises(NeedsHuman, match="Type your name"):
        shop.issues.comment(1, "hello", by=" ")
    with pytest.raises(NeedsHuman, match="some text"):
        shop.issues.comment(1, " ", by="ana")


def test_a_missing_issue_is_refused_with_a_hint(shop):
    with pytest.raises(NeedsHuman) as refused:
        shop.issues.show(9)
    assert str(refused.value) == "There is no issue shop#9. `treehand issue list` shows the open ones."


def test_a_pull_request_is_not_taken_for_an_issue(shop):
    number = shop.offer()
    with pytest.raises(NeedsHuman, match=f"shop#{number} is a pull request"):
        shop.issues.show(number)


@pytest.mark.parametrize(("typed", "meant"), [("shop#3", ("shop", 3)), ("#3", ("shop", 3)), (" 3 ", ("shop", 3))])
def test_short_keys_are_accepted_if_there_is_one_project(shop, typed, meant):
    assert shop.server.parse_key(typed) == meant


@pytest.mark.parametrize("typed", ["", "shop", "shop#", "shop#x", "shop#-1", "shop#³", "shop#" + "9" * 30])
def test_an_invalid_key_is_refused_with_an_example(shop, typed):
    with pytest.raises(NeedsHuman, match="look like this: shop#3"):
        shop.server.parse_key(typed)


def test_a_named_project_selects_one_and_no_name_selects_all(shop):
    server = LocalServer(shop.folder / "state", {"blog": LocalSite(None), **shop.sites}, lambda: 0.0)
    assert server.projects() == ["blog", "shop"]
    assert server.projects("shop") == ["shop"]
    with pytest.raises(NeedsHuman, match="Name a project: blog, shop"):
        server.parse_key("#1")
    server.close()


def test_an_unknown_project_is_refused_with_the_existing_ones(shop):
    with pytest.raises(NeedsHuman, match=r"no local project shed. Known: shop\."):
        shop.server.parse_key("shed#1")


def test_the_cost_of_a_snapshot_does_not_grow_with_the_issues(shop):
    def statements():
        seen = []
        shop.server.database._db.set_trace_callback(seen.append)
        shop.issues.snapshot("ai", range(1, 60))
        shop.server.database._db.set_trace_callback(None)
        return len(seen)

    before = statements()
    for number in range(2, 40):
        shop.issues.open(f"Issue {number}", by="ana", labels=["ai"])
        shop.issues.comment(number, "hello", by="ana")
    assert statements() == before


def test_two_simultaneous_processes_lose_no_write(tmp_path):
    """Both processes start before the database exists."""
    each = 40
    script = (
        "import sys, time; from pathlib import Path; from bot.services.local.server import LocalServer, LocalSite\n"
        "server = LocalServer(Path(sys.argv[1]), {'shop': LocalSite(None)}, time.time)\n"
        "issues = server.issues('shop')\n"
        f"for n in range({each}):\n"
        "    number = int(issues.open(f'{n}', by=sys.argv[2]).key.rpartition('#')[2])\n"
        "    issues.comment(1, f'{sys.argv[2]} {n}', by=sys.argv[2])\n"
        "    issues.label(1, f'{sys.argv[2]}-{n}', by=sys.argv[2])\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), who], cwd=ROOT) for who in ("ana", "bob")]
    assert [process.wait(60) for process in both] == [0, 0]

    server = LocalServer(tmp_path, {"shop": LocalSite(None)}, lambda: 0.0)
    thread = server.issues("shop").show(1)
    expected = {f"{who} {number}" for who in ("ana", "bob") for number in range(each)}
    assert {said.text for said in thread.comments} == expected
    assert len(thread.issue.labels) == 2 * each
    assert [issue.key for issue in server.issues("shop").list_issues()] == [f"shop#{n}" for n in range(2 * each, 0, -1)]
    server.close()

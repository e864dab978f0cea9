"""Directives in an issue: lines with dependencies and owned files, and sentences that are none."""

import pytest

from bot.domain.issue_directives import overlap, parse_directives


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("Blocked by #12", ("acme/shop#12",)),
        ("blocked by: #12, #13 and #14.", ("acme/shop#12", "acme/shop#13", "acme/shop#14")),
        ("- Depends on ENG-3", ("ENG-3",)),
        ("**Depends on:** eng-3", ("ENG-3",)),
        ("* **Blocked by**: acme/till#4", ("acme/till#4",)),
        ("Depends on #7", ()),
        ("Depends on the weather", ()),
        ("This is blocked by #12", ()),
        ("Blocked by #12 because of the tax", ()),
        ("Blocked by", ()),
    ],
)
def test_dependencies_are_read_from_separate_lines(line: str, keys: tuple[str, ...]):
    body = f"The total is wrong.\n\n{line}\n\nSee the receipt."
    assert parse_directives("acme/shop#7", body).blocked_by == keys


def test_the_number_of_dependencies_is_limited():
    body = "Blocked by " + " ".join(f"#{number}" for number in range(1, 5000))
    assert parse_directives("shop#9", body).blocked_by[-1] == "shop#51"
    assert len(parse_directives("shop#9", body).blocked_by) == 50


def test_several_lines_add_up_and_code_blocks_are_ignored():
    body = (
        "Depends on #1\nDepends on #2\nDepends on #1\n"
        "```\nDepends on #3\nOwns: everything\n```\nOwns: a, `b/**`\nowns: c"
    )
    found = parse_directives("shop#9", body)
    assert (found.blocked_by, found.owns) == (("shop#1", "shop#2"), ("a", "b/**", "c"))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("services/auth", "services/auth"),
        ("./services/auth", "services/auth/"),
        ("services//auth", "services/auth/login.py"),
        ("services/tax/../auth", "services/auth"),
        ("Services/Auth", "services/auth/**"),
        ("/services/auth", "services"),
        (".", "anything"),
        ("**/*.py", "docs"),
        ("src/auth*", "src/authority.py"),
        ("src/*.py", "src/total.py"),
        ("src\\auth", "src/auth/x"),
    ],
)
def test_paths_that_may_contain_the_same_file_overlap_in_any_spelling(ours: str, theirs: str):
    assert overlap((ours,), (theirs,))
    assert overlap((theirs,), (ours,))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("services/auth", "services/authority"), ("a/**", "b/**"), ("src/a*", "src/b"), ("docs", "src")],
)
def test_sibling_paths_do_not_overlap(ours: str, theirs: str):
    assert not overlap((ours,), (theirs,))
    assert not overlap((theirs,), (ours,))


def test_an_issue_without_owned_files_overlaps_none():
    assert not overlap((), ("src",))


def test_the_base_is_a_branch_and_the_first_one_counts():
    assert parse_directives("shop#1", "Base: `release/2.x`\nBase: main").base == "release/2.x"
    assert parse_directives("shop#1", "**Base**: main").base == "main"


@pytest.mark.parametrize("name", ["-d", "a..b", "two words", "/x", "x/", "x.lock", "a//b", "@{u}", ".hidden", "x/.y"])
def test_an_invalid_branch_name_is_ignored(name: str):
    assert parse_directives("shop#1", f"Base: {name}").base == ""


def test_forbidden_paths_are_read_up_to_a_limit_and_invalid_ones_ignored():
    assert parse_directives("shop#1", "Forbids: migrations/**, `db/schema.sql`, /, !x").forbids == (
        "migrations/**",
        "db/schema.sql",
    )
    many = parse_directives("shop#1", "Forbids: " + ", ".join(f"p{n}" for n in range(1000)))
    assert len(many.forbids) == 100

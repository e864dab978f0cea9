"""Commits written without git have the ids that git gives them."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.git.command import git
from bot.git.commit import TREEHAND, write_commit
from bot.git.objects import EMPTY_TREE, store_object

DATE = "@1700000000 +0000"
IDENTITY = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", TREEHAND.name), ("EMAIL", TREEHAND.email), ("DATE", DATE))
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("commits") / "bare.git"
    git(path, "init", "--bare", "--quiet", "--template=")
    assert store_object(path, "tree", b"") == EMPTY_TREE
    return path


def by_git(repository: Path, message: str, *parents: str) -> str:
    text = message.replace("\0", "").strip().encode(errors="replace") + b"\n"
    words = [word for parent in parents for word in ("-p", parent)]
    return git(repository, "commit-tree", EMPTY_TREE, *words, env=IDENTITY, stdin=text)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=200))
def test_any_message_gives_the_same_id_as_git(repository, message):
    assert write_commit(repository, EMPTY_TREE, parents=(), message=message, at=1_700_000_000.9) == by_git(
        repository, message
    )


def test_parents_are_kept_in_order_and_once(repository):
    one = write_commit(repository, EMPTY_TREE, parents=(), message="one", at=1)
    two = write_commit(repository, EMPTY_TREE, parents=(one,), message="two", at=1)

    made = write_commit(repository, EMPTY_TREE, parents=(two, one, two), message="both", at=1_700_000_000)

    assert made == by_git(repository, "both", two, one)
    assert git(repository, "cat-file", "-t", made) == "commit"

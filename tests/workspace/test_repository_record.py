"""A state directory belongs to the repositories that it was made for, and to no others of their names."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bot.errors import CannotStart
from bot.workspace.repository_record import (
    RepositoryRecord,
    claim_name,
    identify_folder,
    identify_on_github,
    is_known_state_of,
    is_state_of,
    may_have_name,
    take_over_name,
)


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, content: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    if content:
        (folder / "file").write_text(content)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", content)
    return folder


def found(folder: Path) -> RepositoryRecord:
    record = identify_folder(folder)
    assert record
    return record


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def app(tmp_path: Path, state: Path) -> Path:
    """A repository that the state belongs to."""
    folder = repository(tmp_path / "one" / "app", "one")
    claim_name(state, "app", found(folder))
    return folder


def recorded(state: Path) -> dict:
    return json.loads((state / "repositories" / "app.json").read_text())


def refused(state: Path, record: RepositoryRecord) -> str:
    before = recorded(state)
    with pytest.raises(CannotStart) as refusal:
        claim_name(state, "app", record)
    assert recorded(state) == before
    return str(refusal.value)


def test_another_repository_of_the_same_name_is_refused_and_both_are_named(tmp_path, state, app):
    other = repository(tmp_path / "two" / "app", "two")
    said = refused(state, found(other))
    assert f"the project 'app' belongs to {app}, not to {other}. Nothing was changed." in said
    claim_name(state, "app-2", found(other))
    claim_name(state, "app", found(app))


def test_a_second_clone_is_another_repository_although_it_shares_the_history(tmp_path, state, app):
    git(tmp_path, "clone", "--quiet", str(app), "clone")
    refused(state, found(tmp_path / "clone"))


def test_a_linked_worktree_and_a_link_to_the_folder_are_the_same_repository(tmp_path, state, app):
    git(app, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "link").symlink_to(app)
    for folder in (tmp_path / "side", tmp_path / "link"):
        claim_name(state, "app", found(folder))
        assert recorded(state)["place"] == f"{app}/.git"


def test_a_moved_repository_is_recognized(tmp_path, state, app):
    app.rename(tmp_path / "moved")
    claim_name(state, "app", found(tmp_path / "moved"))
    assert recorded(state)["place"] == f"{tmp_path}/moved/.git"


def test_another_repository_is_not_taken_for_one_that_was_moved(tmp_path, state, app):
    other = repository(tmp_path / "two" / "app", "two")
    shutil.rmtree(app)
    refused(state, found(other))


def test_a_new_repository_in_the_place_of_a_deleted_one_is_refused(state, app):
    shutil.rmtree(app)
    repository(app, "another beginning")
    refused(state, found(app))


def test_a_clone_in_the_place_of_a_deleted_one_is_the_same_repository(tmp_path, state, app):
    git(tmp_path, "clone", "--quiet", "--bare", str(app), "elsewhere.git")
    shutil.rmtree(app)
    git(tmp_path, "clone", "--quiet", "elsewhere.git", str(app))
    claim_name(state, "app", found(app))


def test_the_first_commit_of_an_empty_repository_is_recorded_later(tmp_path, state):
    empty = repository(tmp_path / "app")
    claim_name(state, "app", found(empty))
    assert recorded(state)["first_commit"] == ""
    (empty / "file").write_text("one")
    git(empty, "add", ".")
    git(empty, "commit", "--quiet", "--message=one")
    claim_name(state, "app", found(empty))
    assert recorded(state)["first_commit"] == git(empty, "rev-parse", "HEAD")


def test_a_repository_on_github_is_known_by_its_server_and_name(state):
    shop = identify_on_github("https://api.github.com", "Acme/Shop")
    assert shop.place == "github.com/acme/shop"
    claim_name(state, "app", shop)
    claim_name(state, "app", identify_on_github("https://api.github.com", "acme/shop"))
    for other in (("https://api.github.com", "acme/blog"), ("https://git.corp.example/api/v3", "acme/shop")):
        refused(state, identify_on_github(*other))


@pytest.mark.parametrize("api_url", ["", "@GITHUB@", "https://api.github.com"])
def test_a_repository_on_github_is_never_taken_for_a_folder(api_url):
    assert identify_on_github(api_url, "acme/shop").git_dir is None


def test_a_person_may_say_that_it_is_the_same_repository(state):
    old, new = (identify_on_github("https://api.github.com", name) for name in ("acme/old", "acme/new"))
    claim_name(state, "app", old)
    take_over_name(state, "app", new)
    claim_name(state, "app", new)
    refused(state, old)


def earlier_state(state: Path, of: Path) -> None:
    """Makes what an earlier version left: a copy of the history, and no record."""
    (state / "forge").mkdir(parents=True)
    (state / "forge" / "desk.sqlite").touch()
    git(state, "clone", "--quiet", "--bare", str(of), "forge/app.git")


def test_a_state_of_an_earlier_version_is_taken_over_by_the_repository_that_shares_its_history(tmp_path, state):
    one, two = (repository(tmp_path / name / "app", name) for name in ("one", "two"))
    earlier_state(state, one)
    with pytest.raises(CannotStart, match="belongs to a repository that has the commit"):
        claim_name(state, "app", found(two))
    assert not (state / "repositories").exists()
    claim_name(state, "app", found(one))
    assert recorded(state)["place"] == f"{one}/.git"


def test_an_earlier_state_is_found_again_only_by_the_repository_that_shares_its_history(tmp_path, state):
    one, two = (repository(tmp_path / name / "app", name) for name in ("one", "two"))
    assert not is_known_state_of(state, "app", found(one))
    earlier_state(state, one)
    assert is_known_state_of(state, "app", found(one))
    assert not is_known_state_of(state, "app", found(two))
    assert not is_known_state_of(state, "app", identify_on_github("https://api.github.com", "acme/app"))


def test_a_damaged_record_is_reported_and_not_replaced(state, app):
    file = state / "repositories" / "app.json"
    file.write_text("{")
    with pytest.raises(CannotStart, match="is damaged"):
        claim_name(state, "app", found(app))
    assert file.read_text() == "{"


def test_the_record_can_be_read_by_its_owner_alone(state, app):
    assert state.stat().st_mode & 0o077 == 0


def test_a_state_is_offered_only_to_its_own_repository(tmp_path, state, app):
    other = repository(tmp_path / "two" / "app", "two")
    assert is_state_of(state, "app", found(app))
    assert not is_state_of(state, "app", found(other))
    assert may_have_name(state, "blog", found(other))
    assert not is_state_of(state, "blog", found(other))  # it has other projects

"""The local forge's bare repository follows the user's, and reports why if it cannot."""

import pytest

from bot.errors import NeedsHuman
from bot.services.local.repository import LocalRepository
from bot.services.local.server import LocalServer, LocalSite
from tests.services.local.user_repository import BRANCH, commit, make_repository, offer, run_git


@pytest.fixture
def theirs(tmp_path):
    return make_repository(tmp_path / "shop")


@pytest.fixture
def repository(tmp_path, theirs):
    return LocalRepository(tmp_path / "forge/shop.git", theirs)


def test_branches_of_the_user_are_fetched_and_ours_stay(repository, theirs, tmp_path):
    run_git(theirs, "branch", "topic/one")
    run_git(theirs, "branch", "treehand/theirs")
    repository.fetch()
    ours = offer(repository.bare, BRANCH, {"new.py": "1\n"}, scratch=tmp_path / "scratch")
    run_git(theirs, "branch", "-D", "topic/one")
    tip = commit(theirs, {"app.py": "changed\n"})

    repository.fetch()

    assert repository.tip("main") == tip
    assert repository.tip("topic/one") == ""
    assert repository.our_tips() == {BRANCH: ours}
    assert run_git(theirs, "for-each-ref", "--format=%(refname:short)") == "main\ntreehand/theirs"


def test_a_rewritten_branch_and_one_named_like_our_folder_do_not_break_the_fetch(repository, theirs, tmp_path):
    repository.fetch()
    offer(repository.bare, BRANCH, {"new.py": "1\n"}, scratch=tmp_path / "scratch")
    run_git(theirs, "branch", "treehand")
    run_git(theirs, "commit", "-q", "--amend", "-m", "another past")
    repository.fetch()
    assert repository.tip("main") == run_git(theirs, "rev-parse", "main")


@pytest.mark.parametrize("branch", ["main", "trunk"])
def test_the_default_branch_is_that_of_the_users_repository(tmp_path, branch):
    repository = LocalRepository(tmp_path / "shop.git", make_repository(tmp_path / "shop", branch=branch))
    repository.fetch()
    assert repository.base() == branch
    assert run_git(repository.bare, "symbolic-ref", "HEAD") == f"refs/heads/{branch}"


def test_a_detached_repository_uses_its_usual_or_only_branch_or_asks_for_a_setting(repository, theirs):
    run_git(theirs, "switch", "-q", "--detach")
    assert repository.base() == "main"
    run_git(theirs, "branch", "-m", "main", "odd")
    assert repository.base() == "odd"
    run_git(theirs, "branch", "other")
    with pytest.raises(NeedsHuman, match=r"no branch checked out\. Set `base`"):
        repository.base()


def test_the_base_branch_can_be_set_in_the_settings(tmp_path, theirs):
    run_git(theirs, "branch", "next")
    assert LocalRepository(tmp_path / "a.git", theirs, "next").base() == "next"
    with pytest.raises(NeedsHuman, match=r"has no branch nowhere\. Create it"):
        LocalRepository(tmp_path / "a.git", theirs, "nowhere").fetch()


def test_an_invalid_repository_is_reported_in_one_line_with_the_fix(tmp_path):
    def complaint(folder):
        with pytest.raises(NeedsHuman) as refused:
            LocalRepository(tmp_path / "x.git", folder).fetch()
        assert "\n" not in str(refused.value)
        return str(refused.value)

    assert complaint(tmp_path / "nowhere").endswith("Correct `repository` in the settings.")
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "is not a git repository. Run `git init` there" in complaint(plain)
    (plain / ".git").mkdir()
    assert "is not a git repository" in complaint(plain)
    run_git(plain, "init", "-q")
    assert "has no commits yet. Commit something there first" in complaint(plain)
    assert not (tmp_path / "x.git").exists()


def test_an_incomplete_local_repository_is_made_again(repository):
    half = repository.bare.with_suffix(".new")
    (half / "objects").mkdir(parents=True)
    repository.fetch()
    assert repository.tip("main")


def test_a_very_long_diff_is_cut(repository, theirs):
    before = run_git(theirs, "rev-parse", "main")
    after = commit(theirs, {"long.txt": "line\n" * 400_000})
    repository.fetch()
    diff = repository.diff(before, after)
    assert len(diff) < 1_100_000
    assert diff.endswith("KiB in all]\n")


def test_a_project_without_local_code_is_refused(tmp_path):
    server = LocalServer(tmp_path, {"shop": LocalSite(None)}, lambda: 0.0)
    with pytest.raises(NeedsHuman, match="code of shop is not on the local forge"):
        server.pull_requests("shop")
    server.close()

"""Invalid input gets one clear line that says what to do, and the exit code of its kind."""

import shutil

import pytest


async def mistake(person, *words, **env):
    answer = await person.treehand(*words, **env)
    assert "Traceback" not in answer.err
    assert len(answer.err.strip().splitlines()) == 1, answer.err
    return answer.code, answer.err.strip()


async def test_a_mistyped_key_is_reported_with_the_nearest_one(ready):
    settings = ready.repository / "treehand.toml"
    settings.write_text(settings.read_text().replace("working = 4", "workin = 4"))
    code, said = await mistake(ready, "status")
    assert code == 2
    assert said.endswith("limits.workin is not a setting. Did you mean `working`?")


async def test_a_mistyped_variable_is_reported_with_the_nearest_one(ready):
    code, said = await mistake(ready, "status", TREEHAND_LIMITS__WORKNG="3")
    assert (code, said) == (
        2, "treehand: The variable TREEHAND_LIMITS__WORKNG is not a setting. Did you mean `TREEHAND_LIMITS__WORKING`?"
    )  # fmt: skip


async def test_a_missing_settings_file_is_reported(person):
    code, said = await mistake(person, "run")
    assert code == 2
    assert "There is no settings file treehand.toml. Run `treehand init`" in said


async def test_a_missing_key_for_the_model_is_reported(ready):
    code, said = await mistake(ready, "run")
    assert (code, "Set ANTHROPIC_API_KEY" in said) == (2, True)


async def test_a_missing_repository_is_reported(person):
    shutil.rmtree(person.repository / ".git")
    code, said = await mistake(person, "init", "--yes")
    assert (code, "is not a git repository" in said) == (2, True)


async def test_an_empty_repository_is_reported(person):
    shutil.rmtree(person.repository / ".git")
    person.git("init", "--quiet")
    code, said = await mistake(person, "init", "--yes")
    assert (code, "has no commits yet. Commit something there first." in said) == (1, True)
    assert not (person.repository / "treehand.toml").exists()


async def test_a_repository_of_another_user_is_reported(ready, tmp_path):
    """An environment variable makes git treat every repository as owned by another user."""
    (tools := tmp_path / "tools").mkdir()
    (tools / "git").write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    (tools / "git").chmod(0o755)
    answer = await ready.treehand("check", "-v", PATH=f"{tools}:{ready.env['PATH']}")
    assert answer.code == 1
    assert f"failed  repository   {ready.repository}/.git belongs to another user" in answer.out
    assert "safe.directory" not in answer.out


async def test_a_missing_base_branch_is_reported(ready):
    settings = ready.repository / "treehand.toml"
    settings.write_text(settings.read_text().replace('base = "main"', 'base = "mian"'))
    answer = await ready.treehand("check", "-v")
    assert answer.code == 1
    assert "has no branch mian. Create it, or set `base` in the settings: main." in answer.out
    assert "shop/disk" in answer.out


async def test_a_missing_git_and_an_old_git_are_reported(ready, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    code, said = await mistake(ready, "run", PATH=str(empty), ANTHROPIC_API_KEY="x")
    assert (code, said) == (1, "treehand: There is no git on the PATH. Install git 2.38 or later.")
    old = empty / "git"
    old.write_text("#!/bin/sh\necho git version 2.20.1\n")
    old.chmod(0o755)
    code, said = await mistake(ready, "run", PATH=f"{empty}:/usr/bin:/bin", ANTHROPIC_API_KEY="x")
    assert (code, said) == (1, "treehand: This is git 2.20.1; Treehand needs 2.38 or later.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["issue", "show", "9"], "There is no issue shop#9."),
        (["pr", "merge", "9"], "There is no pull request shop#9."),
        (["show", "9"], "There is no run for 9."),
        (["issue", "new", "  "], "title"),
        (["restore", "9"], "There is no salvaged work for shop#9."),
    ],
)
async def test_a_missing_issue_or_run_is_reported(ready, words, expected):
    code, said = await mistake(ready, *words)
    assert code == 1
    assert expected in said


async def test_usage_errors_exit_with_two(ready):
    assert (await ready.treehand("explode")).code == 2


@pytest.mark.parametrize("words", [("status",), ("issue", "new", "One"), ("run",), ("backup", "--to", "-"), ("clean",)])
async def test_an_invalid_state_dir_is_reported(ready, words):
    inside = ready.repository / "app.py" / "state"
    code, said = await mistake(ready, *words, TREEHAND_STATE_DIR=str(inside), ANTHROPIC_API_KEY="x")
    assert code == 1
    assert str(inside) in said
    assert "state_dir" in said


async def test_check_reports_an_invalid_state_dir_and_continues(ready):
    inside = ready.repository / "app.py" / "state"
    answer = await ready.treehand("check", "-v", TREEHAND_STATE_DIR=str(inside), ANTHROPIC_API_KEY="x")
    assert (answer.code, answer.err) == (1, "")
    assert "cannot be used: Not a directory. It must be a writable folder" in answer.out
    assert "ok      git" in answer.out


async def test_a_state_dir_with_a_name_that_is_too_long_is_reported(ready):
    code, said = await mistake(ready, "backup", "--to", "-", TREEHAND_STATE_DIR=str(ready.home / ("x" * 300)))
    assert code == 1
    assert "contains no database that you can read" in said


async def test_a_folder_without_a_database_is_not_backed_up(ready, tmp_path):
    (tmp_path / "empty").mkdir()
    code, said = await mistake(ready, "backup", "--to", "-", TREEHAND_STATE_DIR=str(tmp_path / "empty"))
    assert (code, "contains no database that you can read" in said) == (1, True)


async def test_an_unknown_command_is_reported(ready):
    answer = await ready.treehand("statsu")
    assert answer.code == 2
    assert "there is no `treehand statsu`. Did you mean `status`? `treehand --help` lists all commands." in answer.err


async def test_an_invalid_time_span_is_reported(ready):
    answer = await ready.treehand("logs", "1", "--since", "yesterday")
    assert (answer.code, "write 90s, 10m, 2h or 3d" in answer.err) == (2, True)


async def test_an_issue_without_a_project_is_refused(ready):
    (ready.repository / "treehand.toml").write_text("")
    code, said = await mistake(ready, "issue", "new", "One")
    assert (code, "There is no project yet. `treehand init`" in said) == (1, True)

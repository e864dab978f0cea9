"""T10: a person's own git in a worktree runs nothing that programs in a sandbox left there."""

import contextlib
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.escape.conftest import SANDBOX_KINDS, AttackedProject
from tests.workspace.conftest import run_git

_ATTACK = pytest.mark.attack("T10", "Git of a person runs a command that an agent configured")

_COMMANDS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.alternateRefsCommand",
    "sequence.editor", "diff.external", "filter.e.clean", "filter.e.smudge", "filter.e.process", "diff.e.textconv",
    "merge.e.driver", "credential.helper", "gpg.program", "remote.origin.uploadpack", "remote.origin.receivepack",
    "trailer.e.command", "pack.packObjectsHook",
)  # fmt: skip
"""Settings whose value git runs."""
_SWITCHES = (
    "commit.gpgSign true", "log.showSignature true", "protocol.ext.allow always", "remote.origin.url ext::$E",
    "branch.main.remote origin", "core.hooksPath $PWD/hooks",
)  # fmt: skip
_OTHER = "git init -q --bare other; git config --file other/config core.fsmonitor $E"
ATTACKS = {
    "settings": f"for name in {' '.join(_COMMANDS)}; do git config --file $d/config $name $E; done; "
    f'for name in st ci status log; do git config --file $d/config alias.$name "!$E"; done; '
    + "; ".join(f"git config --file $d/config {line}" for line in _SWITCHES)
    + "; mkdir hooks; plant hooks; rm -f $d/info/attributes; echo '* filter=e diff=e merge=e' > $d/info/attributes; "
    "cp $d/info/attributes .gitattributes",
    "hooks": "mkdir -p $d/hooks; plant $d/hooks",
    "folders renamed": "mv $d/hooks $d/moved; mkdir $d/hooks; plant $d/hooks; mv $d/info $d/gone; mkdir $d/info",
    "an include": "git config --file more core.fsmonitor $E; git config --file $d/config include.path $PWD/more; "
    "git config --file $d/config includeIf.gitdir:/.path $PWD/more",
    "commondir": f"{_OTHER}; echo $PWD/other > $d/commondir",
    "the pointer": f'{_OTHER}; rm -f .git; echo "gitdir: $PWD/other" > .git; mv .git away; ln -s other .git',
    "another worktree": "mkdir inner; git config --file $d/config core.worktree $PWD/inner; "
    "git config --file $d/config core.fsmonitor $E",
    "settings of the worktree": "git config --file $d/config core.repositoryFormatVersion 1; "
    "git config --file $d/config extensions.worktreeConfig true; "
    "git config --file $d/config.worktree core.fsmonitor $E",
    "another directory": f"{_OTHER}; cp -r other/. $d; rm -rf $d/refs $d/HEAD; ln -s $PWD/other/HEAD $d/HEAD; "
    "ln -s $PWD/other/refs $d/refs; mv $d $d.old; ln -s $PWD/other $d",
    "remotes in files": 'mkdir -p $d/remotes $d/branches; echo "URL: ext::$E" > $d/remotes/origin; '
    'echo "ext::$E" > $d/branches/origin; git config --file $d/config protocol.ext.allow always',
    "a submodule in the index": "mkdir sub; git init -q sub; git -C sub config core.fsmonitor $E; "
    "git -C sub commit -q --allow-empty -m x; git add sub; cp $d/index kept; mv kept $d/index",
    "a submodule elsewhere": "mkdir -p $d/modules/sub $d/worktrees/x sub; cp -r $d/config $d/HEAD $d/modules/sub; "
    'git config --file $d/modules/sub/config core.fsmonitor $E; echo "gitdir: $d/modules/sub" > sub/.git',
    "a rebase under way": 'mkdir -p $d/rebase-merge; echo "exec $E" > $d/rebase-merge/git-rebase-todo; '
    "touch $d/rebase-merge/interactive",
}

_PREPARE = """
d=$(git rev-parse --absolute-git-dir); E=$PWD/evil.sh
plant() { for hook in pre-commit post-commit post-checkout post-index-change reference-transaction pre-push \
post-merge prepare-commit-msg; do cp $E "$1/$hook"; done; }
echo changed >> README.md
"""

_PERSON = (
    "status --short --branch --ignored", "diff", "log -p -1", "stash list", "branch -vv", "blame README.md",
    "describe --always --dirty", "fetch", "add -u", "commit -q -m by-hand", "checkout -q -b mine", "pull", "push",
    "st", "interpret-trailers README.md", "gc", "rebase --continue",
)  # fmt: skip
"""What a person, a shell prompt or an editor may run there."""

_SECONDS = 5


def lives_there(folder: Path, home: Path) -> None:
    """Works in the folder as a person whose git trusts folders of every owner."""
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n[user]\n\tname = Ada\n\temail = ada@example.org\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    for words in _PERSON:
        with contextlib.suppress(subprocess.TimeoutExpired):  # it waits for what it has started
            subprocess.run(
                ["git", *words.split()], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_SECONDS, check=False,
            )  # fmt: skip


@_ATTACK
@pytest.mark.parametrize("kind", SANDBOX_KINDS)
async def test_t10_git_of_a_person_runs_nothing_that_a_sandbox_left(project: AttackedProject, tmp_path, kind):
    ran = []
    for attack, script in ATTACKS.items():
        async with project.open_sandbox(kind) as attacker:
            assert "played" in await attacker.run(f"{_PREPARE}\n{script}\necho played", ends_well=False)
        lives_there(project.mine.path, tmp_path / "person")
        if project.trace.exists():
            ran.append(attack)
            project.trace.unlink()
        await project.workspaces.remove(project.mine.branch)
        project.mine = await project.workspaces.ensure(project.mine.branch, base="", remote=project.origin.remote)
        project.plant_evil()
    assert ran == []


def test_t10_git_of_the_person_in_these_tests_runs_planted_settings(tmp_path):
    """Without this the tests above would prove nothing."""
    trace, evil = tmp_path / "trace", tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\necho ran >> {shlex.quote(str(trace))}\n")
    evil.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(tmp_path / "folder")], check=True)
    subprocess.run(["git", "-C", str(tmp_path / "folder"), "config", "core.fsmonitor", str(evil)], check=True)
    lives_there(tmp_path / "folder", tmp_path / "person")
    assert trace.exists()


@pytest.fixture
def with_submodule(origin):
    """The project has a submodule, and its folder is empty in every worktree."""
    elsewhere = origin.clone.parent / "elsewhere"
    run_git(origin.clone.parent, "init", "-q", str(elsewhere))
    run_git(elsewhere, "commit", "-q", "--allow-empty", "-m", "x")
    run_git(origin.clone, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(elsewhere), "sub")
    run_git(origin.clone, "commit", "-q", "-m", "A submodule")
    run_git(origin.clone, "push", "-q", "origin", "HEAD")


@_ATTACK
async def test_t10_a_repository_in_place_of_a_submodule_runs_nothing(with_submodule, project, tmp_path):
    """Git asks a submodule for its status, with the settings that it finds there."""
    script = "git init -q sub; cd sub; git commit -q --allow-empty -m x; git config core.fsmonitor $OLDPWD/evil.sh"
    async with project.open_sandbox("server") as attacker:
        await attacker.run(f'{script}; printf "[submodule \\"sub\\"]\\npath = sub\\nignore = none\\n" > ../.gitmodules')
    assert (project.mine.path / "sub" / ".git" / "config").exists()
    lives_there(project.mine.path, tmp_path / "person")
    assert not project.trace.exists()


NESTED = {
    "a folder": "git init -q nested",
    "a file": "mkdir nested; git init -q --bare nested/real; echo 'gitdir: real' > nested/.git",
    "a link": "git init -q --separate-git-dir=nested-git nested; rm nested/.git; ln -s ../nested-git nested/.git",
    "deep in what git ignores": "mkdir -p .treehand/a/b; git init -q .treehand/a/b; ln -s .treehand/a/b nested",
    "in a folder that cannot be listed": "git init -q nested; chmod 0111 nested",
}


@_ATTACK
@pytest.mark.parametrize("nested", NESTED)
async def test_t10_a_nested_repository_runs_nothing_after_the_takeover(project, tmp_path, nested):
    async with project.open_sandbox("server") as attacker:
        await attacker.run(f"set -e; {NESTED[nested]}; git -C nested config core.fsmonitor $PWD/evil.sh")
    await project.workspaces.disarm(project.mine.branch)
    lives_there(project.mine.path / "nested", tmp_path / "person")
    lives_there(project.mine.path, tmp_path / "person")
    assert not project.trace.exists()
    assert "Moved aside by Treehand" in (project.mine.path / "nested" / ".git").read_text()
    assert len(list((project.state / "aside" / "shop").iterdir())) == 1

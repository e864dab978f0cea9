"""T10, T11: with git files changed by an agent, the host continues to work and runs none of them."""

import ast
import os
import shlex
import shutil
from pathlib import Path

import pytest

from tests.escape.conftest import OTHER, AttackedProject
from tests.workspace.conftest import run_git

pytestmark = pytest.mark.attack("T10", "Git of the host obeys files that an agent changed")

BOT = Path(__file__).parents[2] / "bot"
MAY_RUN_GIT = {"git/command.py"}
"""`demo` makes a sample repository that no agent has written to."""

_POISON = """
cat >> {config} <<END
[core]
	fsmonitor = {evil}
	hooksPath = {folder}/hooks
	sshCommand = {evil}
	pager = {evil}
	editor = {evil}
	askPass = {evil}
	alternateRefsCommand = {evil}
	worktree = /
[filter "evil"]
	clean = {evil}
	smudge = {evil}
	process = {evil}
	required = true
[diff]
	external = {evil}
[diff "evil"]
	textconv = {evil}
[merge "evil"]
	driver = {evil}
[credential]
	helper = {evil}
[gpg]
	program = {evil}
[commit]
	gpgSign = true
[remote "origin"]
	url = ext::{evil}
	uploadpack = {evil}
	receivepack = {evil}
[uploadpack]
	packObjectsHook = {evil}
[extensions]
	worktreeConfig = true
END
mkdir -p {folder}/hooks
for hook in post-checkout pre-push pre-commit post-commit reference-transaction post-index-change update pre-receive
do cp {evil} {folder}/hooks/$hook; done
"""


def poison(folder: str) -> str:
    return _POISON.format(config=f"{folder}/config", folder=folder, evil="$PWD/evil.sh")


SHADOW = "$(git rev-parse --git-dir)"
ATTRIBUTES = 'echo "* filter=evil diff=evil merge=evil" > .gitattributes; echo "x" >> README.md\n'
ATTACKS = {
    "hooks": f"mkdir -p {SHADOW}/hooks; for h in post-checkout pre-push pre-commit reference-transaction; do "
             f"cp evil.sh {SHADOW}/hooks/$h; done",
    "fsmonitor": "git config core.fsmonitor $PWD/evil.sh",
    "uploadpack": "git config remote.origin.uploadpack $PWD/evil.sh; git config remote.origin.receivepack $PWD/evil.sh",
    "credential.helper": "git config credential.helper $PWD/evil.sh",
    "filter.clean": f"{ATTRIBUTES} git config filter.evil.clean $PWD/evil.sh; "
                    "git config filter.evil.smudge $PWD/evil.sh",
    "gpg.program": "git config gpg.program $PWD/evil.sh; git config commit.gpgSign true",
    "everything in the shadow": poison(SHADOW) + ATTRIBUTES,
    "an ext:: remote": "git config remote.origin.url ext::$PWD/evil.sh; git config protocol.ext.allow always",
    "the pointer replaced by a repository": "rm -f .git; git init -q x; rm -rf .git; mv x/.git .git;"
                                            + poison("$PWD/.git"),
    "the pointer repointed": "git init -q --bare other;" + poison("$PWD/other") + 'echo "gitdir: other" > .git',
    "a nested repository with fsmonitor": "git init -q nested; (cd nested; git commit -q --allow-empty -m x);"
                                          + poison("$PWD/nested/.git"),
    "a nested repository with a filter": "mkdir nested; git init -q nested; echo y > nested/y; (cd nested; git add y; "
        "git commit -qm y; echo '* filter=evil' > .gitattributes; echo z > y);" + poison("$PWD/nested/.git"),
    "a nested bare repository": "mkdir bare; (cd bare; git init -q --bare);" + poison("$PWD/bare"),
    "a nested worktree": f"git worktree add -q inner HEAD --detach; {poison(SHADOW)}",
    "git, ssh and sh in the folder": "for name in git ssh sh bash env; do cp evil.sh $name; done",
    "commondir": f"git init -q --bare other; {poison('$PWD/other')} echo $PWD/other > {SHADOW}/commondir",
    "config.worktree": f"git config extensions.worktreeConfig true; cp {SHADOW}/config {SHADOW}/config.worktree; "
                       f"printf '[core]\\n fsmonitor = %s\\n' $PWD/evil.sh >> {SHADOW}/config.worktree",
    "HEAD on main": f'echo "ref: refs/heads/main" > {SHADOW}/HEAD; git commit -q --allow-empty -m mine',
    "HEAD elsewhere": f'echo "ref: refs/heads/{OTHER}" > {SHADOW}/HEAD; git commit -q --allow-empty -m mine',
    "an include": f"cp evil.sh more; printf '[include]\\n path = %s/more.cfg\\n' $PWD >> {SHADOW}/config; "
                  "printf '[core]\\n fsmonitor = %s/evil.sh\\n' $PWD > more.cfg",
    "submodules": "printf '[submodule \"x\"]\\n path = x\\n url = ext::%s\\n update = !%s\\n' $PWD/evil.sh "
                  "$PWD/evil.sh > .gitmodules; git -c protocol.file.allow=always submodule add -q ./ sub 2>&1",
    "a shadow that is no folder": f"d={SHADOW}; rm -rf $d/* ; mkfifo $d/HEAD; mkfifo $d/index; "
                                  "ln -s /etc/passwd $d/config",
    "objects and refs": f"d={SHADOW}; for one in HEAD packed-refs objects/info/alternates index; do "
                        "head -c 4096 /dev/urandom > $d/$one; done; mkdir -p $d/objects/pack; "
                        "head -c 4096 /dev/urandom > $d/objects/pack/pack-1.pack",
    "the user's own settings": "git config --global core.fsmonitor $PWD/evil.sh; git config --global alias.status "
                               "'!'$PWD/evil.sh; cp ~/.gitconfig .gitconfig",
}  # fmt: skip


@pytest.fixture
def watched_git(tmp_path, monkeypatch, project):
    """Puts a `git` first on the PATH that records calls in or on a worktree."""
    told, folder = tmp_path / "told", tmp_path / "first"
    folder.mkdir()
    real, worktrees = shutil.which("git"), str(project.state / "worktrees")
    (folder / "git").write_text(
        f'#!/bin/sh\ncase "$(pwd -P) $GIT_DIR $GIT_WORK_TREE $*" in\n'
        f'*{worktrees}/*|*{project.state}/shadows/*) echo "$(pwd -P): $*" >> {told};;\nesac\nexec {real} "$@"\n'
    )
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return told


async def fresh_checkout(project: AttackedProject) -> dict[str, bytes]:
    """Starts a run of another issue after the attack."""
    made = await project.workspaces.ensure("treehand/shop-3", base="", remote=project.origin.remote)
    files = {str(path.relative_to(made.path)): path.read_bytes()
             for path in sorted(made.path.rglob("*")) if path.is_file() and path.name != ".git"}  # fmt: skip
    await project.workspaces.remove("treehand/shop-3")
    return files


@pytest.mark.parametrize("attack", ATTACKS)
async def test_t10_the_host_continues_to_work_and_runs_nothing_that_an_agent_planted(project, watched_git, attack):
    async with project.open_sandbox() as attacker:
        printed = await attacker.run(f"{ATTACKS[attack]}\necho played", ends_well=False)
    assert "played" in printed
    (project.mine.path / "src" / "app.py").write_text("print(2)\n")
    commit = await project.life()
    assert project.origin.tip("treehand/shop-1") == commit
    assert project.origin.tip("main") == project.mine.base
    assert (project.mine.path / ".git").read_text() == f"gitdir: {project.mine.mounts.shadow}\n"
    assert await fresh_checkout(project) == {"README.md": b"hello\n", "src/app.py": b"print(1)\n"}
    async with project.open_sandbox() as attacker:  # a turn after the attack still finds its git
        assert "treehand/shop-1" in await attacker.run("git branch --show-current || cat .git")
    await project.end()
    assert not project.trace.exists(), project.trace.read_text()
    told = watched_git.read_text().splitlines() if watched_git.exists() else []
    new = (" worktree add ", " read-tree --reset -u ")  # git makes the files of a worktree that no agent has used yet
    assert [line for line in told if not any(words in line for words in new)] == []
    checks = ("-c", "fsck.gitmodulesUpdate=ignore", "-c", "fsck.gitmodulesUrl=ignore", "fsck", "--strict")
    assert run_git(project.mirror, *checks) == ""
    assert not project.mine.path.exists()


def test_git_is_run_from_one_module_only():
    found = set()
    for path in BOT.rglob("*.py"):
        name = str(path.relative_to(BOT))
        if name.startswith("demo/"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.List | ast.Tuple) and node.elts:
                first = node.elts[0]
                more = node.elts[1:] and isinstance(node.elts[1], ast.Constant | ast.JoinedStr | ast.Starred)
                asks = more and isinstance(node.elts[1], ast.Constant) and node.elts[1].value == "--version"
                if isinstance(first, ast.Constant) and first.value == "git" and more and not asks:
                    found.add(name)
    assert found <= MAY_RUN_GIT, found


def test_the_planted_program_leaves_a_trace_outside_the_sandbox(project):
    """Without this the tests above would prove nothing."""
    os.system(f"{shlex.quote(str(project.evil))} < /dev/null > /dev/null")
    assert project.trace.exists()

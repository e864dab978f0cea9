"""Dependencies are shared between worktrees: one more costs what differs, and no run can change what others see."""

import os
import shutil
from pathlib import Path

import pytest

from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.setup.run_command import SetupCommand, run_command
from bot.workspace.setup_access import SetupAccess
from tests.setup.conftest import BRANCH

OTHER = "treehand/shop-2"
INSTALLER = """\
#!/bin/sh
set -e
mkdir -p node_modules/a node_modules/.bin
echo module > node_modules/a/index.js
ln -s ../a/index.js node_modules/.bin/a
echo "in $PWD/node_modules" > node_modules/.modules.yaml
ln -s $PWD/node_modules/a node_modules/linked
printf '#!/bin/sh\\necho runs in %s\\n' $PWD > node_modules/.bin/tool
chmod +x node_modules/.bin/tool
mkdir node_modules/keep && : > node_modules/keep/empty
mkdir -p $XDG_CACHE_HOME && echo ran >> $XDG_CACHE_HOME/runs
"""
"""An installation as package managers leave it, with the path of the worktree in some files."""


@pytest.fixture
def shop(shop_with, root, tmp_path, origin):
    """A project whose setup installs dependencies, which git ignores."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "bun").write_text(INSTALLER)
    (tools / "bun").chmod(0o755)
    tmp_path.chmod(0o755)
    origin.commit({".gitignore": "node_modules\n", "bun.lock": "{}\n", "package.json": "{}\n"})
    return shop_with(Bubblewrap(root, {}, SandboxRules(tools=(tools,))))


def runs_of_setup(shop) -> int:
    return (shop.root / "caches" / "shop" / "shared" / "xdg" / "runs").read_text().count("ran")


async def in_sandbox(shop, script: str, branch: str = BRANCH) -> str:
    """Runs a script as the run's agent would."""
    workspace = await shop.worktree(branch)
    home = shop.root / "homes" / branch.replace("/", "-")
    home.mkdir(parents=True, exist_ok=True)
    marker = f"tests-{os.getpid()}:{branch}"
    async with shop.sandbox.open_test(workspace.mounts, home, None, marker) as sandbox:
        done = await run_command(SetupCommand(script, workspace.path, {}, marker), sandbox, seconds=30)
    return done.output


def layers(shop) -> list[Path]:
    return sorted(one.parent for one in (shop.root / "caches" / "shop" / "layers").glob("*/about.json"))


def state_of(folder: Path) -> dict[str, object]:
    """Everything about the files of a folder, content and times included."""
    found: dict[str, object] = {}
    for one in [folder, *sorted(folder.rglob("*"))]:
        status = one.lstat()
        content = one.readlink() if one.is_symlink() else one.read_bytes() if one.is_file() else ""
        marks = os.listxattr(one, follow_symlinks=False)
        found[str(one)] = (status.st_mode, status.st_uid, status.st_nlink, status.st_mtime_ns, marks, content)
    return found


async def test_a_second_worktree_shares_the_dependencies_of_the_first(shop):
    for branch in (BRANCH, OTHER):
        assert (await shop.ready(branch)).obstacle is None
    assert runs_of_setup(shop) == 1
    for branch in (BRANCH, OTHER):
        seen = await in_sandbox(
            shop, "cat node_modules/a/index.js node_modules/.modules.yaml; node_modules/.bin/tool", branch
        )
        assert seen == f"module\nin {shop.folder(branch)}/node_modules\nruns in {shop.folder(branch)}"
        linked = await in_sandbox(
            shop, "realpath node_modules/linked; test -e node_modules/keep/empty && echo kept", branch
        )
        assert linked == f"{shop.folder(branch)}/node_modules/a\nkept"
    assert not (shop.folder() / "node_modules").exists()
    own = {
        str(one.relative_to(shop.folder(OTHER) / "node_modules"))
        for one in (shop.folder(OTHER) / "node_modules").rglob("*")
    }
    assert own == {".bin", ".bin/tool", ".modules.yaml", "linked"}, "only what contains the path of the worktree"


async def test_a_worktree_that_shares_dependencies_is_not_read_before_its_first_turn(shop, monkeypatch):
    await shop.ready()
    monkeypatch.setattr(SetupAccess, "survey", None)
    assert (await shop.ready(OTHER)).obstacle is None
    assert runs_of_setup(shop) == 1


async def test_verification_shares_the_dependencies_and_leaves_them(shop):
    await shop.ready()
    (layer,) = layers(shop)
    before, base = state_of(layer / "shared"), (await shop.worktree()).base
    async with shop.workspaces.setup_access.temporary_worktree(BRANCH, base, purpose="trial") as fresh:
        assert (await shop.project_setup.ensure(fresh, "run/trial", shop.events.append)).obstacle is None
        assert not (fresh.path / "node_modules" / "a").exists()
    assert runs_of_setup(shop) == 1
    assert state_of(layer / "shared") == before


HOSTILE = """
cd node_modules
exec 2>/dev/null
echo hostile > a/index.js
echo hostile >> .modules.yaml
chmod 4777 a/index.js; chmod 777 a; touch -d 2001-01-01 a keep/empty
ln a/index.js a/second && echo hostile > a/second
ln keep/empty ../outside && echo hostile > ../outside
mv keep moved; mv a/index.js ../index.js; ln -sfn /etc a/link
exec 7< .bin/tool; echo hostile > /proc/self/fd/7
python3 - <<'END'
import mmap, os
def attempt(action):
    try:
        action()
    except OSError as problem:
        return problem
for name in ("user.overlay.opaque", "user.overlay.redirect", "user.overlay.metacopy", "trusted.overlay.opaque",
             "trusted.overlay.redirect", "user.mine"):
    attempt(lambda: os.setxattr("a", name, b"y"))
    attempt(lambda: os.setxattr("linked", name, b"/a", follow_symlinks=False))
attempt(lambda: os.mknod("whiteout", 0o20644, 0))
attempt(lambda: os.mknod("a/whiteout", 0o20644, 0))
def shared():
    with open("a/index.js", "r+b") as stream, mmap.mmap(stream.fileno(), 0) as content:
        content[:1] = b"H"
attempt(shared)
def through_a_descriptor():
    opened = os.open(".bin/tool", os.O_RDONLY)
    os.fchmod(opened, 0o4777)
    os.close(os.open(f"/proc/self/fd/{opened}", os.O_WRONLY | os.O_TRUNC))
attempt(through_a_descriptor)
END
mount -o remount,rw ..; mount --bind /tmp a; umount ..; unshare -Urm mount -t tmpfs none a
rm -rf .bin; mkdir .bin; echo hostile > .bin/tool
cd ..; rm -rf node_modules; mkdir -p node_modules/a; echo hostile > node_modules/a/index.js; echo done
"""


@pytest.mark.attack(
    "T17", "An agent changes, replaces, removes and marks the dependencies that it shares with other runs"
)
async def test_t17_no_run_changes_the_dependencies_that_others_see(shop):
    for branch in (BRANCH, OTHER):
        await shop.ready(branch)
    (layer,) = layers(shop)
    before, seen = state_of(layer), await in_sandbox(shop, "find node_modules -ls; cat node_modules/a/*", OTHER)
    assert "hostile" not in seen
    await in_sandbox(shop, HOSTILE)
    assert await in_sandbox(shop, "cat node_modules/a/index.js; ls node_modules") == "hostile\na"
    assert state_of(layer) == before
    third = "treehand/shop-3"
    assert (await shop.ready(third)).obstacle is None
    assert await in_sandbox(shop, "cat node_modules/a/index.js", third) == "module"
    assert "hostile" not in await in_sandbox(shop, "find node_modules -ls; cat node_modules/a/*", OTHER)
    assert runs_of_setup(shop) == 1


@pytest.mark.attack("T17", "An agent prepares a worktree without shared dependencies for the time when it has some")
async def test_t17_marks_of_an_overlay_that_an_agent_made_lead_nowhere(shop):
    """An agent can write them only where no overlay is mounted; then its own worktree is all that they can change."""
    await shop.ready()
    await shop.ready(OTHER)
    (layer,) = layers(shop)
    before, folder = state_of(layer), shop.folder(OTHER)
    (folder / "node_modules" / "away").mkdir()
    for name in ("user.overlay.redirect", "user.overlay.metacopy", "user.overlay.origin"):
        os.setxattr(folder / "node_modules" / "away", name, b"/../../../../etc")
    printed = await in_sandbox(shop, "ls node_modules/away; cat node_modules/away/passwd; echo end", OTHER)
    assert "root:" not in printed
    assert printed.endswith("end")
    assert state_of(layer) == before


async def test_what_an_agent_does_to_dependencies_stays_in_its_worktree(shop):
    for branch in (BRANCH, OTHER):
        await shop.ready(branch)
    await in_sandbox(
        shop,
        "cd node_modules; rm -rf a .bin keep; mkdir .bin; echo new > b",
        OTHER,
    )
    assert (
        await in_sandbox(shop, "ls -A node_modules; ls -A node_modules/.bin", OTHER) == ".bin\n.modules.yaml\nb\nlinked"
    )
    change = await shop.captured(OTHER)
    assert (change.head, change.left_out) == (change.base, ()), "what was removed is nobody's work, and no trouble"
    assert (await shop.ready(OTHER)).obstacle is None
    assert "a" not in (await in_sandbox(shop, "ls node_modules", OTHER)).split()


async def test_removed_dependencies_can_be_installed_again(shop):
    await shop.ready()
    await in_sandbox(shop, "rm -rf node_modules && mkdir node_modules && echo other > node_modules/a")
    assert await in_sandbox(shop, "cat node_modules/a; ls node_modules") == "other\na"
    assert (await shop.captured()).left_out == ()


async def test_a_person_who_takes_a_worktree_over_finds_the_dependencies_in_it(shop):
    for branch in (BRANCH, OTHER):
        await shop.ready(branch)
    (layer,) = layers(shop)
    before = state_of(layer)
    await in_sandbox(
        shop,
        "rm -r node_modules/keep node_modules/.bin; mkdir node_modules/.bin; echo changed > node_modules/a/index.js",
        OTHER,
    )
    await shop.workspaces.disarm(OTHER)
    modules = shop.folder(OTHER) / "node_modules"
    assert sorted(one.name for one in modules.iterdir()) == [".bin", ".modules.yaml", "a", "linked"]
    assert (modules / "a" / "index.js").read_text() == "changed\n"
    assert list((modules / ".bin").iterdir()) == []
    await shop.workspaces.disarm(BRANCH)
    modules = shop.folder() / "node_modules"
    assert (modules / "a" / "index.js").read_text() == "module\n"
    assert (modules / ".bin" / "a").is_symlink()
    assert os.access(modules / ".bin" / "tool", os.X_OK)
    (modules / "a" / "index.js").write_text("by hand")
    assert state_of(layer) == before
    assert await in_sandbox(shop, "cat node_modules/a/index.js") == "by hand", "it has its own now"


@pytest.mark.parametrize("lost", ["removed", "not possible any more"])
async def test_setup_runs_again_where_the_shared_dependencies_are_gone(shop, lost):
    await shop.ready()
    if lost == "removed":
        shutil.rmtree(shop.root / "caches" / "shop" / "layers")
    else:
        shop.sandbox._why_no_layers = "overlay: Operation not permitted"
    assert (await shop.ready()).obstacle is None
    assert runs_of_setup(shop) == 2
    assert await in_sandbox(shop, "cat node_modules/a/index.js") == "module"
    assert (shop.folder() / "node_modules").exists() == (lost != "removed")


async def test_without_overlays_each_worktree_has_its_own(shop):
    shop.sandbox._why_no_layers = "overlay: Operation not permitted"
    for branch in (BRANCH, OTHER):
        assert (await shop.ready(branch)).obstacle is None
        assert (shop.folder(branch) / "node_modules" / "a" / "index.js").read_text() == "module\n"
    assert (runs_of_setup(shop), layers(shop)) == (2, [])


@pytest.mark.parametrize(
    ("changed", "runs"), [("src/app.py", 1), ("bun.lock", 2), ("package.json", 2), ("patches/a.patch", 2)]
)
async def test_other_files_that_setup_reads_have_other_dependencies(shop, changed, runs):
    await shop.ready()
    shop.origin.commit({changed: '{"a": 1}\n'})
    assert (await shop.ready(OTHER)).obstacle is None
    assert runs_of_setup(shop) == runs


@pytest.mark.parametrize("script", ["prepare", "postinstall"])
async def test_a_setup_that_builds_from_other_files_counts_for_exactly_these(shop, script):
    shop.origin.commit({"package.json": f'{{"scripts": {{"{script}": "build"}}}}\n'})
    await shop.ready()
    assert (await shop.ready(OTHER)).obstacle is None
    assert runs_of_setup(shop) == 1
    shop.origin.commit({"src/app.py": "changed\n"})
    assert (await shop.ready("treehand/shop-3")).obstacle is None
    assert runs_of_setup(shop) == 2


async def test_what_else_setup_makes_is_copied(shop, tmp_path):
    shop.origin.commit({".gitignore": "node_modules\ndist\n"})
    with (tmp_path / "tools" / "bun").open("a") as installer:
        installer.write("mkdir dist; echo built in $PWD > dist/app.js; echo same > dist/same.js\n")
    await shop.ready()
    assert (await shop.ready(OTHER)).obstacle is None
    assert runs_of_setup(shop) == 1
    assert (shop.folder(OTHER) / "dist" / "app.js").read_text() == f"built in {shop.folder(OTHER)}\n"
    shop.origin.commit({"src/app.py": "changed\n"})
    await shop.ready("treehand/shop-3")
    assert runs_of_setup(shop) == 2, "it may be built from any file"


NOT_SHARED = {
    "a second name": "ln src/app.py node_modules/a/app.py",
    "a program with the path": "printf 'x\\0%s' $PWD > node_modules/a/program",
    "a changed file of the repository": "echo changed >> src/app.py",
    "a pipe": "mkfifo node_modules/pipe",
}


@pytest.mark.parametrize("more", NOT_SHARED.values(), ids=NOT_SHARED.keys())
async def test_what_could_reach_back_or_breaks_elsewhere_is_not_shared(shop, tmp_path, more):
    with (tmp_path / "tools" / "bun").open("a") as installer:
        installer.write(f"{more}\n")
    for branch in (BRANCH, OTHER):
        assert (await shop.ready(branch)).obstacle is None
        assert (shop.folder(branch) / "node_modules" / "a" / "index.js").exists()
    assert (runs_of_setup(shop), layers(shop)) == (2, [])


async def test_what_setup_built_is_not_the_same_file_as_a_shared_one(shop, tmp_path):
    shop.origin.commit({".gitignore": "node_modules\ndist\n"})
    with (tmp_path / "tools" / "bun").open("a") as installer:
        installer.write("mkdir dist; ln node_modules/a/index.js dist/index.js\n")
    for branch in (BRANCH, OTHER):
        assert (await shop.ready(branch)).obstacle is None
    await in_sandbox(shop, "echo hostile > dist/index.js")
    assert await in_sandbox(shop, "cat node_modules/a/index.js", OTHER) == "module"
    assert layers(shop) == []


async def test_copied_files_of_the_operator_are_in_no_layer(shop):
    shop.origin.commit({".gitignore": "node_modules\nnode.local\n"})
    (shop.origin.clone / "node.local").write_text("TOKEN=of-the-operator\n")
    shop.told(copy=("node.local",), copy_from=shop.origin.clone)
    for branch in (BRANCH, OTHER):
        assert (await shop.ready(branch)).obstacle is None
        assert (shop.folder(branch) / "node.local").exists()
    (layer,) = layers(shop)
    assert not list(layer.rglob("node.local"))


async def test_a_link_of_the_repository_in_the_place_of_dependencies_is_not_followed(shop, tmp_path):
    await shop.ready()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (shop.origin.clone / "node_modules").symlink_to(elsewhere)
    shop.origin.commit({".gitignore": "\n"})
    await shop.ready(OTHER)
    assert list(elsewhere.iterdir()) == []


async def test_only_few_layers_that_nothing_uses_are_kept(shop):
    for number in range(5):
        shop.origin.commit({"bun.lock": f"{number}\n"})
        await shop.ready(branch := f"treehand/shop-{number}")
        if number != 1:
            await shop.workspaces.remove(branch)
    assert len(layers(shop)) == 4, "the newest one, the one in use, and two more"
    assert await in_sandbox(shop, "cat node_modules/a/index.js", "treehand/shop-1") == "module"

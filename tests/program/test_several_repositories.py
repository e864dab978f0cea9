"""One person, several repositories: one daemon serves them, and none meets another."""

import asyncio
import contextlib
import json
import shutil
import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, SECONDS, CommandResult, Person, model_env, script_of, write

ANA = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")


def another(person: Person, place: str) -> Path:
    """Makes another repository, with a history of its own."""
    folder = person.home / place
    folder.mkdir(parents=True)
    person.git("-C", str(folder), "init", "--quiet", "--initial-branch=main")
    (folder / "app.py").write_text(f"# {place}\n")
    person.git("-C", str(folder), "add", ".")
    person.git("-C", str(folder), *ANA, "commit", "--quiet", f"--message={place}")
    return folder


async def inside(person: Person, folder: Path, *words: str, **env: str) -> CommandResult:
    return await person.treehand(*words, within=("env", f"--chdir={folder}"), **env)


async def done(person: Person, folder: Path, *words: str, **env: str) -> str:
    answer = await inside(person, folder, *words, **env)
    assert answer.code == 0, f"{answer.out}\n{answer.err}"
    return answer.out.strip()


def projects(file: Path) -> dict[str, str]:
    return {one["name"]: one["repository"] for one in tomllib.loads(file.read_text())["projects"]}


@pytest.fixture
def taken_port() -> Iterator[None]:
    """Keeps the usual port of the dashboard busy, as another daemon or a demo does."""
    with socket.socket() as listener, contextlib.suppress(OSError):  # something else has it
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 8700))
        listener.listen()
        yield
        return
    yield


# One daemon for all my repositories


async def test_i_add_my_other_repository_and_one_daemon_works_in_both(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    blog = another(person, "blog")
    said = await person.does("add", str(blog))
    file = person.repository / "treehand.toml"
    assert f"Added the project blog to {file}: {blog}, with issues on this machine" in said
    assert "No daemon is running: `treehand run` starts one for shop, blog." in said
    assert projects(file) == {"shop": ".", "blog": str(blog)}
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        assert await done(person, blog, "issue", "new", "Look", "--label", "ai") == "blog#1"
        await person.does("issue", "new", "Look", "--label", "ai")
        await person.start("run", **model_env(model))
        await person.until("shop#1", "review")
        await person.until("blog#1", "review")
    assert json.loads(await done(person, blog, "pr", "show", "2", "--json"))["key"] == "blog#2"


async def test_i_can_add_the_folder_that_i_am_in_and_say_it_twice(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    blog = another(person, "blog")
    (blog / "src").mkdir()
    await done(person, blog / "src", "add")
    assert "has this repository already: it is the project blog." in await done(person, blog, "add")
    assert list(projects(person.repository / "treehand.toml")) == ["shop", "blog"]


async def test_init_in_my_second_repository_offers_the_same_daemon(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    blog = another(person, "blog")
    said = await done(person, blog, "init", "--here", "--yes", "--no-check")
    assert f"You have settings already: {person.repository}/treehand.toml (shop)." in said
    assert not (blog / "treehand.toml").exists()
    assert list(projects(person.repository / "treehand.toml")) == ["shop", "blog"]


async def test_a_repository_on_github_is_added_by_its_name(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    said = await person.does("add", "acme/blog")
    assert "acme/blog, with issues on GitHub and pull requests on GitHub" in said
    assert projects(person.repository / "treehand.toml")["blog"] == "acme/blog"
    assert (await person.treehand("add", "no such folder")).code == 2


async def test_i_remove_a_project_and_its_issues_come_back_with_it(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    blog = another(person, "blog")
    await done(person, blog, "add")
    await done(person, blog, "issue", "new", "Look")
    before = (person.repository / "treehand.toml").read_text()
    said = await done(person, blog, "remove")
    assert "Removed the project blog" in said
    assert list(projects(person.repository / "treehand.toml")) == ["shop"]
    await done(person, blog, "add")
    assert (person.repository / "treehand.toml").read_text().split() == before.split()
    assert "blog#1" in await done(person, blog, "issue", "list")


async def test_a_project_with_unfinished_runs_is_not_removed(ready: Person):
    await ready.does("issue", "new", "Look", "--label", "ai")
    async with ScriptedModel(script_of((write("answer = 42"),), DONE)) as model:
        await ready.does("once", **model_env(model))
    answer = await ready.treehand("remove", "shop")
    assert (answer.code, "shop has 1 runs that are not over: shop#1." in answer.err) == (1, True)
    assert list(projects(ready.repository / "treehand.toml")) == ["shop"]


# Two repositories with the same folder name never meet


async def test_two_repositories_with_the_same_folder_name_share_nothing(person: Person):
    one, two = another(person, "one/app"), another(person, "two/app")
    for folder in (one, two):
        await done(person, folder, "--config", "treehand.toml", "init", "--here", "--yes", "--no-check")
    await done(person, one, "issue", "new", "Only in one")
    assert await done(person, two, "issue", "list") == ""
    places = [tomllib.loads((folder / "treehand.toml").read_text())["state_dir"] for folder in (one, two)]
    assert places == ["~/treehand-state/app", "~/treehand-state/app-2"]


async def test_settings_that_name_the_state_of_another_repository_are_refused_and_nothing_is_lost(person: Person):
    one, two = another(person, "one/app"), another(person, "two/app")
    await done(person, one, "init", "--here", "--yes", "--no-check")
    await done(person, one, "issue", "new", "Only in one")
    shutil.copy(one / "treehand.toml", two / "treehand.toml")
    for words in (("issue", "list"), ("status",), ("pr", "merge", "1"), ("run",), ("clean",), ("restore", "1")):
        answer = await inside(person, two, *words, ANTHROPIC_API_KEY="x")
        assert (answer.code, f"the project 'app' belongs to {one}, not to {two}" in answer.err) == (1, True), words
    assert (await inside(person, two, "backup", "--to", str(person.home / "kept.tar.gz"))).code == 0
    assert "Only in one" in await done(person, one, "issue", "list")


async def test_a_renamed_folder_keeps_its_issues(ready: Person):
    await ready.does("issue", "new", "Look")
    ready.repository = ready.repository.rename(ready.home / "renamed")
    assert "Look" in await ready.does("issue", "list")


# The worktrees are in a visible place


async def test_new_worktrees_are_not_below_a_hidden_folder(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    state = tomllib.loads((person.repository / "treehand.toml").read_text())["state_dir"]
    assert not any(part.startswith(".") for part in Path(state).parts)


async def test_an_existing_installation_keeps_its_state(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    await person.does("issue", "new", "Look")
    earlier = person.home / ".local/state/treehand/shop"
    earlier.parent.mkdir(parents=True)
    person.state_dir.rename(earlier)
    shutil.rmtree(earlier / "repositories")  # earlier versions made none
    file = person.repository / "treehand.toml"
    file.write_text(file.read_text().replace("~/treehand-state/shop", "~/.local/state/treehand/shop"))
    assert "Look" in await person.does("issue", "list")
    file.unlink()
    await person.does("init", "--here", "--yes", "--no-check")
    assert "Look" in await person.does("issue", "list")
    assert not person.state_dir.exists()


# Commands work in every folder


async def test_commands_work_in_a_folder_below_and_elsewhere(person: Person):
    await person.does("init", "--here", "--yes", "--no-check")
    (below := person.repository / "src" / "deep").mkdir(parents=True)
    assert await done(person, below, "issue", "new", "Look") == "shop#1"
    assert "Look" in await done(person, person.home, "issue", "show", "1")


async def test_settings_that_an_agent_wrote_into_its_worktree_are_not_used(person: Person):
    worktree = person.state_dir / "worktrees" / "shop" / "shop-1"
    worktree.mkdir(parents=True)
    (person.state_dir / "daemon.lock").touch()
    (worktree / "treehand.toml").write_text('[sandbox]\nkind = "none"\n')
    answer = await inside(person, worktree, "status")
    assert (answer.code, "There is no settings file" in answer.err) == (2, True)


# A taken port is no obstacle


async def test_the_daemon_takes_a_free_port_and_open_leads_there(person: Person, taken_port):
    del person.env["TREEHAND_WEB__BIND"]
    await person.does("init", "--here", "--yes", "--no-check")
    answer = await person.treehand("open")
    assert (answer.code, "No daemon is running" in answer.err) == (1, True)
    daemon = await person.start("run", ANTHROPIC_API_KEY="x")
    assert daemon.stderr
    async with asyncio.timeout(SECONDS):
        lines = [line async for line in _until(daemon.stderr, "dashboard at ")]
    address = lines[-1].rpartition(" ")[2].strip()
    assert any(f"port taken, dashboard moved wanted=127.0.0.1:8700 dashboard={address}" in line for line in lines)
    assert address != "http://127.0.0.1:8700"
    assert await person.does("open") == address
    opened = await person.does("open", DISPLAY=":1", BROWSER="echo opened %s")
    assert f"opened {address}" in opened
    linked = await person.does("open", DISPLAY=":1", BROWSER="echo opened %s", TREEHAND_WEB__LOGIN="always")
    assert (linked.startswith(f"{address}/login"), "opened" in linked) == (True, False)


async def test_a_port_that_i_have_chosen_is_the_only_one(person: Person):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        bind = f"127.0.0.1:{listener.getsockname()[1]}"
        await person.does("init", "--here", "--yes", "--no-check")
        answer = await person.treehand("run", ANTHROPIC_API_KEY="x", TREEHAND_WEB__BIND=bind)
    assert (answer.code, f"web.bind = '{bind}' is not available" in answer.err) == (1, True)


async def _until(stream: asyncio.StreamReader, words: str):
    while line := (await stream.readline()).decode():
        yield line
        if words in line:
            return

"""Setup of a worktree before the agent begins: the installed command, real tools, the real sandbox."""

import asyncio
import io
import json
import re
import tomllib
import zipfile

import pytest

from bot.demo.scripted_model import ScriptedModel, UseTool
from tests.program.conftest import DONE, Person, model_env, script_of, write


def commit(person: Person, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = person.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    person.git("add", "--all")
    person.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=More")


def choose(person: Person, **settings: object) -> None:
    """Appends settings to the project's table, like an operator."""
    file = person.repository / "treehand.toml"
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    file.write_text(file.read_text() + f"\n{lines}")
    assert tomllib.loads(file.read_text())["projects"][0].items() >= settings.items()


def package(**scripts: str) -> dict[str, str]:
    """A Node package without dependencies, with its lock file."""
    manifest = {"name": "shop", "version": "1.0.0", "scripts": scripts}
    lock = {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "shop"}}}
    return {"package.json": json.dumps(manifest), "package-lock.json": json.dumps(lock)}


def runs(command: str) -> UseTool:
    return UseTool("Bash", {"command": command, "description": "Look"})


LOOK = runs("test -s node_modules/made && echo $PORT $COMPOSE_PROJECT_NAME > seen.txt")
PORT = re.compile(r"^\+[23]\d{4} treehand-shop-1$", re.MULTILINE)


async def works(person: Person, *steps: UseTool, **env: str) -> int:
    """Returns the number of requests to the model."""
    async with ScriptedModel(script_of(*((step,) for step in steps), DONE)) as model:
        await person.does("once", **model_env(model), **env)
        return len(model.requests)


async def asking(person: Person) -> str:
    """Returns the question on the issue once the run waits for people."""
    assert (await person.run("shop#1"))["phase"] == "asking"
    return await person.does("issue", "show", "1")


@pytest.fixture
async def labelled(ready: Person) -> Person:
    await ready.does("issue", "new", "Look", "--label", "ai")
    return ready


async def test_setup_is_done_when_the_agent_begins_and_its_files_are_not_in_the_commit(labelled):
    commit(labelled, package(prepare="mkdir -p node_modules; date > node_modules/made; touch tool.log; echo >> app.py"))
    await works(labelled, LOOK)
    shown = await labelled.does("pr", "show", "2")
    assert PORT.search(shown)
    assert "node_modules" not in shown
    assert "a/app.py" not in shown
    assert "`tool.log`: written by setup or a server" in shown
    assert labelled.agents_alive() == []


async def test_setup_runs_once_and_again_after_a_lock_file_changed(labelled):
    count = "mkdir -p node_modules; echo x >> node_modules/made; wc -l < node_modules/made > times.txt"
    commit(labelled, {**package(), ".gitignore": "node_modules/\ntimes.txt\n"})
    choose(labelled, setup=[count])
    await works(labelled, runs("cp times.txt first.txt"))
    await labelled.does("pr", "comment", "2", "again")
    await works(labelled, runs("cp times.txt second.txt; echo '{ }' > package-lock.json"))
    await labelled.does("pr", "comment", "2", "and again")
    await works(labelled, runs("cp times.txt third.txt"))
    branch = labelled.state_dir / "worktrees" / "shop" / "shop-1"
    seen = [(branch / name).read_text().strip() for name in ("first.txt", "second.txt", "third.txt")]
    assert seen == ["1", "1", "2"]


async def test_a_failed_setup_asks_at_once_with_its_output_and_retry_repeats_it(labelled):
    choose(labelled, setup=["echo '```'; echo '@ana: it is broken' >&2; exit 7"])
    assert await works(labelled) == 0
    told = await asking(labelled)
    assert "ended with exit code 7" in told
    assert "````" in told
    assert "@ana: it is broken" in told
    assert "this is the unchanged base branch" in told
    settings = labelled.repository / "treehand.toml"
    settings.write_text(settings.read_text().replace("exit 7", "exit 0"))
    await labelled.does("retry", "1")
    assert await works(labelled, write("answer = 42"))
    assert (await labelled.run("shop#1"))["phase"] == "review"
    assert (await labelled.run("shop#1"))["turns"] == 2


async def test_a_setup_interrupted_by_a_kill_starts_again_and_leaves_no_files(labelled):
    choose(labelled, setup=["echo half > half.txt; sleep 301"])
    half = labelled.state_dir / "worktrees" / "shop" / "shop-1" / "half.txt"
    async with ScriptedModel(script_of(DONE)) as model:
        daemon = await labelled.start("run", **model_env(model))
        async with asyncio.timeout(60):
            while not half.exists():
                await asyncio.sleep(0.05)
        daemon.kill()
        await daemon.wait()
    settings = labelled.repository / "treehand.toml"
    settings.write_text(settings.read_text().replace("sleep 301", "rm half.txt"))
    await works(labelled, write("answer = 42"))
    assert (await labelled.run("shop#1"))["phase"] == "review"
    assert "half" not in await labelled.does("pr", "show", "2")
    assert labelled.agents_alive() == []


async def test_the_repositorys_settings_are_read_from_the_base_branch(labelled):
    commit(labelled, {**package(prepare="exit 1"), ".github/treehand.toml": 'setup = ["echo told > told.txt"]\n'})
    await works(labelled, runs("cp told.txt seen.txt; echo 'setup = [\"exit 1\"]' > .github/treehand.toml"))
    assert (await labelled.run("shop#1"))["phase"] == "asking", "a protected path"
    seen = labelled.state_dir / "worktrees" / "shop" / "shop-1" / "seen.txt"
    assert seen.read_text() == "told\n"


async def test_an_unknown_key_in_the_repositorys_file_is_reported_on_the_issue(labelled):
    commit(labelled, {".github/treehand.toml": "setpu = []\n"})
    assert await works(labelled) == 0
    assert "setpu is not a setting. Did you mean `setup`?" in await asking(labelled)


async def test_setup_can_be_disabled(labelled):
    commit(labelled, package(prepare="exit 1"))
    choose(labelled, setup=False)
    await works(labelled, write("answer = 42"))
    assert (await labelled.run("shop#1"))["phase"] == "review"


def wheel(name: str, text: str) -> bytes:
    """A minimal Python package."""
    held, info = io.BytesIO(), f"{name}-1.0.dist-info"
    with zipfile.ZipFile(held, "w") as file:
        file.writestr(f"{name}.py", text)
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return held.getvalue()


async def test_python_packages_are_installed_by_pip_and_can_be_imported(labelled):
    (labelled.repository / "wheels").mkdir()
    (labelled.repository / "wheels" / "tea-1.0-py3-none-any.whl").write_bytes(wheel("tea", "kind = 'green'\n"))
    commit(labelled, {"requirements.txt": "--no-index\n--find-links wheels\ntea==1.0\n"})
    await works(labelled, runs(".venv/bin/python -c 'import tea; print(tea.kind)' > seen.txt"))
    shown = await labelled.does("pr", "show", "2")
    assert "+green" in shown
    assert ".venv" not in shown


async def test_setup_works_the_same_without_a_sandbox(labelled):
    commit(labelled, package(prepare="mkdir -p node_modules; date > node_modules/made; (sleep 300 &)"))
    await works(labelled, LOOK, TREEHAND_SANDBOX__KIND="none")
    assert PORT.search(await labelled.does("pr", "show", "2"))
    assert labelled.agents_alive() == []


async def test_check_lists_the_detected_setup_with_its_reasons_and_a_missing_tool(ready):
    commit(ready, {**package(), "backend/uv.lock": "", "Makefile": "setup:\n\ttrue\n"})
    answer = await ready.treehand("check", "-v", ANTHROPIC_API_KEY="k")
    (line,) = [line for line in answer.out.splitlines() if "shop/setup" in line]
    assert "npm ci (package-lock.json)" in line
    assert "uv sync --frozen --all-groups --all-extras in backend (backend/uv.lock)" in line
    assert "Makefile: has `make setup`, which does not run automatically" in line
    assert line.startswith("failed")
    assert "Not in the sandbox: uv; see `sandbox.tools`" in line


async def test_a_missing_tool_is_reported_and_no_agent_starts(labelled):
    commit(labelled, {"uv.lock": "", "pyproject.toml": "[project]\nname='shop'\nversion='1'\n"})
    assert await works(labelled) == 0
    told = await asking(labelled)
    assert "needs `uv`, which is missing in the sandbox (detected from `uv.lock`)" in told
    assert "`sandbox.tools`" in told


async def test_a_refused_host_is_reported_with_the_line_for_the_settings(labelled):
    commit(labelled, package(prepare="curl -sS https://packages.example.com/; exit 3"))
    hosts = {
        "TREEHAND_SANDBOX__HOSTS": '["packages.example.com"]',
        "TREEHAND_SANDBOX__SETUP_HOSTS": '["a.example.com"]',
    }
    assert await works(labelled, **hosts) == 0
    told = await asking(labelled)
    assert "`sandbox.setup_hosts` lists the hosts that setup may reach" in told
    assert "reach `packages.example.com:443`" in told
    assert '`setup_hosts = ["a.example.com", "packages.example.com"]`' in told
    assert "`setup = false`" in told


async def test_the_refused_hosts_of_all_stacks_are_asked_for_at_once(labelled):
    asks = (
        package(preinstall="curl -sS https://one.example.com/"),
        package(preinstall="curl -sS https://two.example.com/"),
    )
    commit(
        labelled,
        {f"{folder}/{name}": text for folder, files in zip("ab", asks, strict=True) for name, text in files.items()},
    )
    assert await works(labelled) == 0
    told = await asking(labelled)
    assert '`setup_hosts = ["one.example.com", "two.example.com"]`' in told
    assert "`treehand check --learn`" in told


async def test_the_suggested_line_includes_hosts_of_lock_files_and_is_not_suggested_again(labelled):
    files = package(prepare="exit 3")
    lock = json.loads(files["package-lock.json"])
    lock["packages"]["node_modules/tea"] = {
        "resolved": "https://npm.example.com/tea.tgz",
        "optional": True,
        "os": ["x"],
    }
    commit(labelled, {**files, "package-lock.json": json.dumps(lock)})
    await works(labelled)
    line = 'setup_hosts = ["npm.example.com"]'
    assert f"`{line}`" in await asking(labelled)
    answer = await labelled.treehand("check", "-v", ANTHROPIC_API_KEY="k")
    assert re.search(rf"^failed  shop/setup .*{re.escape(line)}.*`setup = false`", answer.out, re.MULTILINE)
    settings = labelled.repository / "treehand.toml"
    settings.write_text(f"{settings.read_text()}\n[sandbox]\n{line}\n")
    answer = await labelled.treehand("check", "-v", ANTHROPIC_API_KEY="k")
    assert re.search(r"^ok      shop/setup   npm ci \(package-lock.json\)$", answer.out, re.MULTILINE)


async def test_init_shows_the_setup_commands_and_the_line_for_the_settings(person):
    lock = 'lockfileVersion = 3\nresolved "https://npm.example.com/tea.tgz"\n'
    commit(person, {"package.json": "{}", "yarn.lock": lock})
    told = await person.does("init", "--yes", "--name", "shop", "--no-check")
    assert "Before an agent starts, Treehand runs: yarn install --frozen-lockfile" in told
    assert '[sandbox]\n      setup_hosts = ["npm.example.com"]\n' in told


async def test_operators_files_are_copied_and_their_values_are_in_no_commit_and_no_comment(labelled):
    commit(labelled, {".gitignore": ".env\n*.local\n", ".worktreeinclude": "*.local\n"})
    (labelled.repository / ".env").write_text("API_TOKEN=s3cret-value-of-mine\nNODE_ENV=development\n")
    (labelled.repository / "dev.local").write_text("one\n")
    leak = runs(
        "test -f dev.local && . ./.env && echo $NODE_ENV > seen.txt; : > .gitignore; git add -f . ; echo x >> .env"
    )
    await works(labelled, leak)
    shown = await labelled.does("pr", "show", "2")
    assert "+development" in shown
    assert "a/.env" not in shown
    assert "b/dev.local" not in shown
    assert "`.env`: a changed copy of the operator's file" in shown
    assert (labelled.repository / ".env").read_text().startswith("API_TOKEN=s3cret-value-of-mine\nNODE")
    copied = labelled.state_dir / "worktrees" / "shop" / "shop-1" / "dev.local"
    assert copied.stat().st_mode & 0o777 == 0o600
    await labelled.does("pr", "comment", "2", "again")
    await works(labelled, runs(". ./.env; echo it is $API_TOKEN > seen.txt"))
    told = await asking(labelled)
    assert "`API_TOKEN` of `.env`" in told
    assert "s3cret-value-of-mine" not in told


async def test_teardown_runs_before_the_worktree_is_removed_and_its_failure_is_only_logged(labelled):
    choose(labelled, setup=["true"], teardown=["echo $PORT > /tmp/x && ls app.py && exit 9", "sleep 1000 &"])
    await works(labelled, write("answer = 42"))
    await labelled.does("pr", "merge", "2")
    await works(labelled)
    assert (await labelled.run("shop#1"))["phase"] == "done"
    assert list((labelled.state_dir / "worktrees" / "shop").iterdir()) == []
    assert list((labelled.state_dir / "ports").iterdir()) == []
    assert "teardown failed branch=treehand/shop-1 code=9: app.py" in (labelled.state_dir / "treehand.log").read_text()
    assert labelled.agents_alive() == []


async def test_detected_setup_runs_by_default_and_no_agent_starts_if_it_fails(labelled):
    commit(labelled, {**package(preinstall="exit 3", test="exit 4"), ".gitignore": "node_modules\n"})
    assert await works(labelled, write("answer = 42")) == 0
    told = await asking(labelled)
    assert "npm ci" in told
    assert "ended with exit code 3" in told
    choose(labelled, setup=False)
    await labelled.does("retry", "1")
    assert await works(labelled, write("answer = 42")) > 0
    assert (await labelled.run("shop#1"))["phase"] == "review"

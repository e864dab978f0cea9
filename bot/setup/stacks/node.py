"""Node: detects the package manager (npm, pnpm, Yarn, Bun), its setup and test commands, and servers. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder, RepositoryFiles, nested_table, strings
from bot.setup.stacks.steps import run_step, setup_step

LOCKS = ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb")

_INSTALL = {
    "npm": "npm ci",
    "pnpm": "pnpm install --frozen-lockfile",
    "yarn": "yarn install --frozen-lockfile",
    "berry": "yarn install --immutable",
    "bun": "bun install --frozen-lockfile",
}
_MANAGERS = dict(zip(LOCKS, ("npm", "npm", "pnpm", "yarn", "bun", "bun"), strict=True))
_PNPM_PACKAGES = re.compile(r"""^[ \t]*-[ \t]*['"]?([^'"#\s]+)""", re.MULTILINE)
_RUNNER = re.compile(r"(?:^|&&|;)[ \t]*(?:npx[ \t]+)?(ava|jasmine|jest|karma|mocha|tap|vitest)(?![\w-])")
_NO_TEST = re.compile(r"no test specified")
_UNIT_TESTS = ("test:unit", "test-unit", "unit", "test:ci", "tests")
"""Scripts that are run if none is called `test`."""
_TESTS_OF_MEMBERS = {
    "npm": "npm test --workspaces --if-present",
    "pnpm": "pnpm --recursive --no-bail --workspace-concurrency=1 --if-present run test",
}
"""Commands for a workspace whose top has no tests; they do not stop at the first package that fails."""
_MOST_MEMBERS = 30
_SERVER_SCRIPTS = ("dev", "start", "serve", "preview", "storybook")
_IGNORES_PORT = re.compile(r"\b(?:vite|astro|ng|webpack|webpack-dev-server|vue-cli-service|storybook)\b")
"""Programs that ignore the variable `PORT` and need `--port`."""
_SETS_PORT = re.compile(r"--port\b|(?:^|\s)-p\b|\$\{?PORT")


def find_setup(folder: FileFolder) -> SetupStep | None:
    if not folder.has("package.json"):
        return None
    locks = [name for name in LOCKS if folder.has(name)]
    chosen = str(folder.json("package.json").get("packageManager", "")).partition("@")[0]
    lock = next((name for name in locks if _MANAGERS[name] == chosen), locks[0] if locks else "")
    if not lock:
        return _setup_step(folder, "npm install --no-package-lock", "npm", "package.json")
    manager = _MANAGERS[lock]
    return _setup_step(folder, _INSTALL["berry" if is_berry(folder, lock) else manager], manager, lock)


def members_of(top: FileFolder) -> tuple[str, ...]:
    """Folders of the workspace at the top, as patterns."""
    manifest = top.json("package.json")
    listed = strings(manifest.get("workspaces")) or strings(nested_table(manifest, "workspaces").get("packages"))
    return (*listed, *_PNPM_PACKAGES.findall(top.text("pnpm-workspace.yaml")))


def find_tests(folder: FileFolder) -> SetupStep | None:
    setup = find_setup(folder)
    if setup is None:
        return None
    (manager,) = setup.tools
    if _has_script(folder.json("package.json"), "test"):
        command = "bun run test" if manager == "bun" else f"{manager} test"
        return replace(run_step(folder, command, "package.json", manager), runners=_runners_in(folder))
    if found := [name for name in _UNIT_TESTS if _has_script(folder.json("package.json"), name)]:
        return run_step(folder, f"{manager} run {found[0]}", "package.json", manager)
    of_members = _TESTS_OF_MEMBERS.get(manager, "") if _has_tests_in_members(folder) else ""
    return run_step(folder, of_members, "package.json", manager) if of_members else None


def _runners_in(folder: FileFolder) -> tuple[str, ...]:
    """Returns the test runners that the script `test` calls."""
    if _is_plug_and_play(folder):
        return ()
    script = str(nested_table(folder.json("package.json"), "scripts").get("test", ""))
    return tuple(dict.fromkeys(_RUNNER.findall(script)))


def _has_script(manifest: Mapping[str, Any], name: str) -> bool:
    script = nested_table(manifest, "scripts").get(name)
    return isinstance(script, str) and bool(script.strip()) and not _NO_TEST.search(script)


def _has_tests_in_members(top: FileFolder) -> bool:
    """Returns True if a package of the workspace has tests, as far as the first few tell."""
    patterns = [pattern.removeprefix("./").rstrip("/") for pattern in members_of(top) if not pattern.startswith("!")]
    folders = [name.removesuffix("/package.json") for name in sorted(top.files.names) if name.endswith("/package.json")]
    members = [one for one in folders if any(fnmatchcase(one, pattern) for pattern in patterns)]
    texts = (top.files.text(f"{one}/package.json") for one in members[:_MOST_MEMBERS])
    return any(_has_script(RepositoryFiles.of({"it": text}).top().json("it"), "test") for text in texts)


def find_servers(folder: FileFolder) -> Iterator[tuple[str, SetupStep]]:
    setup, scripts = find_setup(folder), nested_table(folder.json("package.json"), "scripts")
    if setup is None:
        return
    (manager,) = setup.tools
    for name in _SERVER_SCRIPTS:
        script = scripts.get(name)
        if isinstance(script, str) and script.strip():
            port = " --port $PORT" if _IGNORES_PORT.search(script) and not _SETS_PORT.search(script) else ""
            separator = " --" if port and manager == "npm" else ""
            yield name, run_step(folder, f"{manager} run {name}{separator}{port}", "package.json", manager)


def hints_in(folder: FileFolder) -> tuple[str, ...]:
    locks = [name for name in LOCKS if folder.has(name)] if folder.has("package.json") else []
    return (f"{', '.join(map(folder.at, locks))}: several lock files, one is used",) if len(locks) > 1 else ()


def is_berry(folder: FileFolder, lock: str) -> bool:
    """Returns True for Yarn 2 and later."""
    return lock == "yarn.lock" and ("\n__metadata:" in f"\n{folder.text(lock)}" or bool(folder.has(".yarnrc.yml")))


def _is_plug_and_play(folder: FileFolder) -> bool:
    """Returns True if Yarn may install no `node_modules`."""
    return is_berry(folder, "yarn.lock") and "nodeLinker: node-modules" not in folder.text(".yarnrc.yml")


def _setup_step(folder: FileFolder, command: str, manager: str, reason: str) -> SetupStep:
    return setup_step(folder, command, reason, manager, creates=("node_modules/",))

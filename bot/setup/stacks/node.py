"""What a folder with JavaScript in it needs. Pure."""

import re

from bot.domain.setup_plan import Step
from bot.setup.repository_files import Folder, table, words

LOCKS = ("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb")

_COMMANDS = {
    "npm": "npm ci",
    "pnpm": "pnpm install --frozen-lockfile",
    "yarn": "yarn install --frozen-lockfile",
    "berry": "yarn install --immutable",
    "bun": "bun install --frozen-lockfile",
}
_MANAGERS = dict(zip(LOCKS, ("npm", "npm", "pnpm", "yarn", "bun", "bun"), strict=True))
_PACKAGES = re.compile(r"""^\s*-\s*['"]?([^'"#\s]+)""", re.MULTILINE)


def find_node(folder: Folder) -> Step | None:
    if not folder.has("package.json"):
        return None
    locks = [name for name in LOCKS if folder.has(name)]
    chosen = str(folder.json("package.json").get("packageManager", "")).partition("@")[0]
    lock = next((name for name in locks if _MANAGERS[name] == chosen), locks[0] if locks else "")
    if not lock:
        return _step(folder, "npm install --no-package-lock", "npm", "package.json")
    manager = _MANAGERS[lock]
    return _step(folder, _COMMANDS["berry" if _is_berry(folder, lock) else manager], manager, lock)


def members_of(top: Folder) -> tuple[str, ...]:
    manifest = top.json("package.json")
    listed = words(manifest.get("workspaces")) or words(table(manifest, "workspaces").get("packages"))
    return (*listed, *_PACKAGES.findall(top.text("pnpm-workspace.yaml")))


def hints_in(folder: Folder) -> tuple[str, ...]:
    locks = [name for name in LOCKS if folder.has(name)] if folder.has("package.json") else []
    return (f"{', '.join(map(folder.at, locks))}: several lock files, one is used",) if len(locks) > 1 else ()


def _is_berry(folder: Folder, lock: str) -> bool:
    return lock == "yarn.lock" and ("\n__metadata:" in f"\n{folder.text(lock)}" or bool(folder.has(".yarnrc.yml")))


def _step(folder: Folder, command: str, manager: str, because: str) -> Step:
    lock = folder.at(because)
    return Step(command, folder.path, lock, (manager,), (lock,), ("node_modules/",))

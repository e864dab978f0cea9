"""Names of layers: which worktrees may share what setup made. Pure.

Rule: a name contains everything that setup is known to read. Where it may read more, it contains all files.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.setup_plan import SetupPlan
from bot.setup.repository_files import RepositoryFiles, nested_table, strings

_VERSION = 1
_LOCKED_TOOLS = frozenset({"npm", "pnpm", "yarn", "bun", "uv", "poetry", "pdm"})
"""They install what their lock files name."""
_MANIFESTS = frozenset({
    "package.json", "package-lock.json", ".npmrc", ".yarnrc", ".yarnrc.yml", "pnpm-workspace.yaml", ".pnpmfile.cjs",
    "bunfig.toml", "binding.gyp", "pyproject.toml", "uv.toml", "poetry.toml", "pdm.toml", ".python-version",
    ".node-version", ".nvmrc", ".tool-versions",
})  # fmt: skip
_MANIFEST_FOLDERS = frozenset({"patches", ".yarn", ".pnpm-patches"})
_SCRIPTS = ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare")
"""Scripts of the repository's own packages that an installation runs."""
_FILE = "file:"
"""Most package managers copy the folder of such a dependency, and a lock file has no hash of it."""
_BACKENDS = frozenset({
    "hatchling.build", "flit_core.buildapi", "uv_build", "poetry.core.masonry.api", "pdm.backend",
    "setuptools.build_meta",
})  # fmt: skip
"""They install a package without extensions in place as a path, and nothing of its content."""


@dataclass(frozen=True, slots=True)
class LayerNames:
    of_tree: str
    """Name of the layer for worktrees with exactly these files."""
    of_locks: str
    """Name of the layer for worktrees with these lock files and manifests; empty if setup may read more."""


@dataclass(frozen=True, slots=True)
class SetupInputs:
    """Facts that a setup depends on, besides the files of the commit."""

    fingerprint: str
    """Hash of the setup steps and the lock files."""
    toolchains: Sequence[str] = ()
    operators: Mapping[str, str] | None = None
    """Object ids of the operator's files, by path."""


def layer_names(
    plan: SetupPlan, files: RepositoryFiles, tree: str, ids: Mapping[str, str], use: SetupInputs
) -> LayerNames:
    """`ids`: object ids of the files of the commit, by path."""
    common = [_VERSION, use.fingerprint, list(use.toolchains), sorted((use.operators or {}).items())]
    manifests = sorted((name, sha) for name, sha in ids.items() if _is_manifest(name))
    of_locks = _hash([*common, manifests]) if reads_manifests_only(plan, files) else ""
    return LayerNames(_hash([*common, tree]), of_locks)


def reads_manifests_only(plan: SetupPlan, files: RepositoryFiles) -> bool:
    """Setup reads nothing but lock files and manifests."""
    is_locked = all(step.locks and step.tools and step.tools[0] in _LOCKED_TOOLS for step in plan.steps)
    return is_locked and not any(_reads_more(name, files) for name in files.names)


def _is_manifest(path: str) -> bool:
    *folders, name = path.split("/")
    return name in _MANIFESTS or not _MANIFEST_FOLDERS.isdisjoint(folders)


def _reads_more(path: str, files: RepositoryFiles) -> bool:
    match path.rpartition("/")[2]:
        case "setup.py" | "binding.gyp":
            return True
        case "package.json":
            return _package_reads_more(path, files)
        case "pyproject.toml":
            return _pyproject_reads_more(path, files)
    return False


def _package_reads_more(path: str, files: RepositoryFiles) -> bool:
    package = files.folder_of(path).json("package.json")
    scripts = nested_table(package, "scripts")
    if "node_modules" in path.split("/"):
        return False
    text = files.text(path)
    is_read = bool(package) or text.strip() == "{}"
    return not is_read or _FILE in text or any(name in scripts for name in _SCRIPTS)


def _pyproject_reads_more(path: str, files: RepositoryFiles) -> bool:
    found = files.folder_of(path).toml("pyproject.toml")
    if not found or _FILE in files.text(path) or strings(nested_table(found, "project").get("dynamic")):
        return True
    if nested_table(found, "build-system").get("build-backend", "setuptools.build_meta") not in _BACKENDS:
        return "build-system" in found
    return any(_names_a_path(nested_table(found, "tool", tool)) for tool in ("uv", "poetry", "pdm"))


def _names_a_path(value: object) -> bool:
    if isinstance(value, Mapping):
        return "path" in value or any(map(_names_a_path, value.values()))
    return isinstance(value, list) and any(map(_names_a_path, value))


def _hash(content: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

"""Which worktrees may share what setup made."""

import json

import pytest

from bot.domain.setup_plan import SetupPlan, SetupStep
from bot.setup.layer_names import SetupInputs, layer_names, reads_manifests_only
from bot.setup.repository_files import RepositoryFiles

NPM = SetupStep("npm ci", tools=("npm",), locks=("package-lock.json",))
UV = SetupStep("uv sync", tools=("uv",), locks=("uv.lock",))
POETRY = SetupStep("poetry sync", tools=("poetry",), locks=("poetry.lock",))
PIP = SetupStep("pip install .", tools=("python3",), locks=("pyproject.toml",))
OWN = SetupStep("make bootstrap", locks=("uv.lock",))
UNLOCKED = SetupStep("npm install", tools=("npm",))


def package(**scripts: str) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": scripts})}


def pyproject(text: str) -> dict[str, str]:
    return {"pyproject.toml": text}


ONLY_MANIFESTS = {
    "npm": (NPM, package(test="mocha", build="tsc")),
    "uv": (UV, pyproject('[project]\nname = "a"\n[build-system]\nbuild-backend = "hatchling.build"\n')),
    "no package": (UV, pyproject('[project]\nname = "a"\n')),
    "a git source": (UV, pyproject('[tool.uv.sources]\na = {git = "https://example.org/a"}\n')),
    "scripts in what is installed": (NPM, {"node_modules/a/package.json": '{"scripts": {"install": "make"}}'}),
}
MORE = {
    "a script before others": (NPM, package(prepare="tsc")),
    "a script of a member": (NPM, {"packages/a/package.json": '{"scripts": {"postinstall": "x"}}'}),
    "an extension": (NPM, {"binding.gyp": ""}),
    "a command that somebody named": (OWN, {}),
    "no lock file": (UNLOCKED, {}),
    "pip": (PIP, {}),
    "a version found elsewhere": (UV, pyproject('[project]\nname = "a"\ndynamic = ["version"]\n')),
    "another backend": (UV, pyproject('[build-system]\nbuild-backend = "maturin"\n')),
    "setup.py": (UV, {"setup.py": ""}),
    "a folder as a source": (UV, pyproject('[tool.uv.sources]\na = {path = "libs/a"}\n')),
    "a folder in Poetry": (POETRY, pyproject('[tool.poetry.group.dev.dependencies]\na = [{path = "libs/a"}]\n')),
    "a folder as an address": (UV, pyproject('[project]\ndependencies = ["a @ file:///${PROJECT_ROOT}/libs/a"]\n')),
    "a folder in npm": (NPM, {"package.json": '{"dependencies": {"a": "file:libs/a"}}'}),
    "a manifest that cannot be read": (UV, pyproject("[project")),
    "a package that cannot be read": (NPM, {"package.json": "{"}),
}  # fmt: skip


@pytest.mark.parametrize(("step", "files"), ONLY_MANIFESTS.values(), ids=ONLY_MANIFESTS)
def test_package_managers_with_lock_files_read_manifests_only(step, files):
    assert reads_manifests_only(SetupPlan((step,)), RepositoryFiles.of(files))


@pytest.mark.parametrize(("step", "files"), MORE.values(), ids=MORE)
def test_what_may_read_more_counts_for_exactly_these_files(step, files):
    assert not reads_manifests_only(SetupPlan((step,)), RepositoryFiles.of(files))


def test_names_differ_where_setup_may_differ():
    def names(tree: str = "t", ids: tuple[str, ...] = ("package.json=1", "src/a.js=1"), **use):
        by_path = dict(one.split("=") for one in ids)
        inputs = SetupInputs(**({"fingerprint": "f", "toolchains": ("/opt/node",), "operators": {".env": "1"}} | use))
        return layer_names(SetupPlan((NPM,)), RepositoryFiles.of({}), tree, by_path, inputs)

    same = names()
    assert names() == same
    other_source = names(tree="u", ids=("package.json=1", "src/a.js=2"))
    assert (other_source.of_tree != same.of_tree, other_source.of_locks) == (True, same.of_locks)
    others = [
        names(fingerprint="g"),
        names(toolchains=()),
        names(operators={".env": "2"}),
        names(tree="u", ids=("package.json=2",)),
        names(tree="u", ids=("package.json=1", "web/.npmrc=1")),
        names(tree="u", ids=("package.json=1", "patches/a.patch=1")),
    ]
    assert len({one.of_locks for one in (same, *others)}) == 7

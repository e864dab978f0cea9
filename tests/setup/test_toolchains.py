"""Versions of languages and build tools: what a repository asks for, and what the machine has."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bot.setup.detect import detect
from bot.setup.repository_files import RepositoryFiles
from bot.setup.toolchains import Toolchains, ToolChoice
from tests.setup.conftest import BRANCH

PYPROJECT = '[project]\nname = "shop"\nrequires-python = "{}"\n'


def asks(files: dict[str, str]) -> list[str]:
    found = detect(RepositoryFiles.of(files)).wanted
    return [f"{one}{'!' if one.is_required else ''}" for one in found]


def install(folder: Path, program: str, version: str) -> None:
    file = folder / "bin" / program
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho '{version}'\n")
    file.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Toolchains:
    """Has Python 3.11.2 and Node 20.20.2; version managers have others."""
    home = tmp_path / "home"
    install(tmp_path / "system", "python3", "Python 3.11.2")
    install(tmp_path / "system", "node", "v20.20.2")
    install(home / ".pyenv/versions/3.12.1", "python3", "Python 3.12.1")
    install(home / ".local/share/uv/python/cpython-3.14.3-linux-x86_64-gnu", "python3", "Python 3.14.3")
    install(home / ".local/share/uv/python/cpython-3.15.0b2-linux-x86_64-gnu", "python3", "Python 3.15.0b2")
    install(home / ".nvm/versions/node/v22.3.0", "node", "v22.3.0")
    install(home / ".nvm/versions/node/v18.1.0", "node", "v18.1.0")
    install(home / ".rustup/toolchains/stable-x86_64-unknown-linux-gnu", "cargo", "cargo 1.81.0 (2dbb1af80 2024-08-20)")
    install(home / ".rustup/toolchains/nightly-x86_64-unknown-linux-gnu", "cargo", "cargo 1.97.0-nightly")
    return Toolchains(lambda: str(tmp_path / "system" / "bin"), home, run)


def run(words: tuple[str, ...]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def chosen(machine: Toolchains, files: dict[str, str]) -> ToolChoice:
    return machine.choose(detect(RepositoryFiles.of(files)))


def test_versions_are_read_where_each_ecosystem_writes_them():
    assert asks({"pyproject.toml": PYPROJECT.format(">=3.9"), ".python-version": "3.12\n"}) == [
        "python >=3.9 (pyproject.toml)!",
        "python 3.12 (.python-version)",
    ]
    assert asks({"uv.lock": "", ".python-version": "3.12"}) == ["python 3.12 (.python-version)!"], "uv obeys it"
    assert asks({"setup.cfg": "[options]\npython_requires = >=3.8\n"}) == ["python >=3.8 (setup.cfg)!"]
    assert asks({"package.json": '{"engines": {"node": ">=18"}}', ".nvmrc": "v20\n"}) == [
        "node >=18 (package.json)",
        "node v20 (.nvmrc)",
    ]
    assert asks({"package.json": '{"engines": {"node": ">=18"}}', "yarn.lock": ""}) == ["node >=18 (package.json)!"]
    assert asks({"package.json": '{"engines": {"node": ">=18"}}', "yarn.lock": "__metadata:\n"}) == [
        "node >=18 (package.json)"
    ], "Yarn 2 and later ignore it"
    assert asks({"go.mod": "module shop\n\ngo 1.23.1\n"}) == ["go >=1.23.1 (go.mod)", "go >=1.21 (go.mod)!"]
    assert asks(
        {"Cargo.toml": '[package]\nrust-version = "1.70"\n', "rust-toolchain.toml": '[toolchain]\nchannel="1.75"'}
    ) == [
        "rust >=1.70 (Cargo.toml)!",
        "rust 1.75 (rust-toolchain.toml)",
    ]
    assert asks({"Gemfile": "ruby '~> 3.2'\n", ".ruby-version": "ruby-3.2.2"}) == [
        "ruby ~> 3.2 (Gemfile)!",
        "ruby 3.2.2 (.ruby-version)",
    ]
    assert asks({"composer.json": '{"require": {"php": "^8.1 || ~8.3"}}'}) == ["php ^8.1 || ~>8.3 (composer.json)!"]
    assert asks({"pom.xml": "<maven.compiler.release>21</maven.compiler.release>"}) == ["java >=21 (pom.xml)!"]
    assert asks({"pom.xml": "<java.version>1.8</java.version>"}) == ["java >=8 (pom.xml)!"]
    assert asks({"global.json": '{"sdk": {"version": "8.0.104"}}'}) == ["dotnet >=8.0.104 <8.0.200 (global.json)!"]
    assert asks({".tool-versions": "nodejs 20.1.0 # why\njava temurin-17.0.2+8\nterraform 1\n"}) == [
        "node 20.1.0 (.tool-versions)",
        "java 17.0.2+8 (.tool-versions)",
    ]
    assert asks({"mise.toml": '[tools]\npython = "3.12"\n'}) == ["python 3.12 (mise.toml)"]


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": "[project\n"},
        {"pyproject.toml": "[project]\nrequires-python = 3\n"},
        {"setup.cfg": "[options\npython_requires"},
        {"package.json": '{"engines": ["node"]}'},
        {"global.json": '{"sdk": {"version": "8"}}'},
        {"mise.toml": "[tools]\npython = {version = '3.12'}\n"},
        {".python-version": "\n"},
    ],
)
def test_a_broken_file_asks_for_nothing(files):
    assert asks(files) == []


def test_the_machines_own_version_is_used_if_it_will_do(machine):
    assert chosen(machine, {"pyproject.toml": PYPROJECT.format(">=3.9")}).folders == ()


def test_the_newest_installed_version_that_fits_is_used_otherwise(machine):
    (folder,) = chosen(machine, {"pyproject.toml": PYPROJECT.format(">=3.12")}).folders
    assert folder.name == "cpython-3.14.3-linux-x86_64-gnu", "not a beta"
    (folder,) = chosen(machine, {"pyproject.toml": PYPROJECT.format(">=3.12,<3.14")}).folders
    assert folder.name == "3.12.1"


def test_a_required_version_that_is_missing_is_named_with_the_ones_that_exist_and_a_command(machine):
    (said,) = chosen(machine, {"pyproject.toml": PYPROJECT.format(">=3.99")}).missing
    assert "`>=3.99` (pyproject.toml)" in said
    assert "found: 3.11.2, 3.14.3 in " in said
    assert said.endswith("`uv python install 3.99`")


def test_a_preferred_version_that_is_missing_is_noted_and_stops_nothing(machine):
    choice = chosen(machine, {"package.json": '{"engines": {"node": ">=24"}}'})
    assert choice.missing == ()
    assert choice.notes == ("node >=24 (package.json) is not installed; node 20.20.2 is used",)


def test_a_preferred_version_that_is_installed_is_used(machine):
    (folder,) = chosen(machine, {"package.json": "{}", ".nvmrc": "22"}).folders
    assert folder.name == "v22.3.0"


def test_a_tool_that_only_a_version_manager_has_is_found_without_a_wish(machine):
    (folder,) = chosen(machine, {"Cargo.toml": "[package]\n"}).folders
    assert folder.name == "stable-x86_64-unknown-linux-gnu", "not the nightly one"


def test_a_program_that_does_not_tell_its_version_stops_nothing(machine, tmp_path):
    install(tmp_path / "system", "python3", "")
    os.utime(tmp_path / "system" / "bin" / "python3", (1, 1))
    assert chosen(machine, {"pyproject.toml": PYPROJECT.format(">=3.99")}).missing == ()


async def test_setup_agents_and_tests_find_the_version_first_and_cannot_write_it(shop, tmp_path):
    folder = tmp_path / "home" / ".pyenv" / "versions" / "3.99.1"
    install(folder, "python3", "Python 3.99.1")
    shop.toolchains = Toolchains(lambda: "/usr/bin:/bin", tmp_path / "home", run)
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.99")})
    ready = await shop.told(f"python3 --version > build.log; touch {folder}/new || echo kept >> build.log").ready()
    assert ready.obstacle is None
    assert (shop.folder() / "build.log").read_text() == "Python 3.99.1\nkept\n"
    assert ready.toolchains == (folder,)
    again = await shop.ready()
    assert again.toolchains == (folder,)


async def test_setup_is_repeated_when_the_version_it_was_run_with_is_gone(shop, tmp_path):
    versions = tmp_path / "home" / ".pyenv" / "versions"
    install(versions / "3.99.1", "python3", "Python 3.99.1")
    shop.toolchains = Toolchains(lambda: "/usr/bin:/bin", tmp_path / "home", run)
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.99"), ".gitignore": "build.log\n"})
    await shop.told("python3 --version > build.log").ready()
    (versions / "3.99.1").rename(versions / "3.99.2")
    install(versions / "3.99.2", "python3", "Python 3.99.2")
    ready = await shop.ready()
    assert ready.obstacle is None
    assert (shop.folder() / "build.log").read_text() == "Python 3.99.2\n"


async def test_a_worktree_stays_on_its_version_when_a_newer_one_appears(shop, tmp_path):
    versions = tmp_path / "home" / ".pyenv" / "versions"
    install(versions / "3.99.1", "python3", "Python 3.99.1")
    shop.toolchains = Toolchains(lambda: "/usr/bin:/bin", tmp_path / "home", run)
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.99"), ".gitignore": "build.log\n"})
    await shop.told("python3 --version >> build.log").ready()
    install(versions / "3.99.2", "python3", "Python 3.99.2")
    assert (await shop.ready()).toolchains == (versions / "3.99.1",)
    assert (shop.folder() / "build.log").read_text() == "Python 3.99.1\n", "nor is setup repeated"
    assert (await shop.ready("treehand/shop-2")).toolchains == (versions / "3.99.2",), "new worktrees get it"


async def test_a_missing_version_is_an_obstacle_before_anything_runs(shop, tmp_path):
    shop.toolchains = Toolchains(lambda: "/usr/bin:/bin", tmp_path, run)
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.99")})
    ready = await shop.ready()
    assert ready.obstacle is not None
    assert "nothing was spent" in ready.obstacle.sentence
    assert "`uv python install 3.99`" in ready.obstacle.sentence
    assert not (shop.folder(BRANCH) / ".venv").exists()


@pytest.mark.parametrize("setup", [None, ("touch build.log",)], ids=["none", "their own"])
async def test_people_who_choose_the_setup_are_asked_for_no_version(shop, tmp_path, setup):
    shop.toolchains = Toolchains(lambda: "/usr/bin:/bin", tmp_path, run)
    shop.origin.commit({"pyproject.toml": PYPROJECT.format(">=3.99")})
    shop.overrides = replace(shop.overrides, setup=setup)
    assert (await shop.ready()).obstacle is None

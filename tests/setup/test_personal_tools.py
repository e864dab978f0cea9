"""Tools that installers put into a person's home are in the sandbox, without the folder that they are in."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.sandbox.host_tools import find_tools, has_program
from bot.sandbox.mount_plan import SYSTEM_SEARCH


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Has a key beside its tools."""
    home = tmp_path / "person"
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/key").write_text("secret")
    monkeypatch.setenv("HOME", str(home))
    return home


def add_native(home: Path, name: str, folder: str = ".local/bin") -> None:
    (home / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/echo", home / folder / name)


def add_python_tool(home: Path, name: str, environments: str = ".local/share/pipx/venvs") -> Path:
    """As pipx does it: a link to a script in an environment."""
    place = home / environments / name
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    script = place / "bin" / name
    script.write_text(f"#!{place}/bin/python\nimport sys; print('{name}', sys.prefix)\n")
    script.chmod(0o755)
    (home / ".local/bin" / name).symlink_to(script)
    return place


async def printed(shop, command: str) -> str:
    shop.origin.commit({".gitignore": "build.log\n"})
    ready = await shop.told(f"({command}) > build.log 2>&1; true").ready()
    assert ready.obstacle is None
    return (shop.folder() / "build.log").read_text()


async def test_a_native_program_is_found_alone(shop, home):
    add_native(home, "uv")
    add_native(home, "bun", ".bun/bin")
    text = await printed(shop, f"uv found; bun found; ls -a {home}/.local/bin; rm $(which uv) || echo kept")
    assert text.startswith("found\nfound\n")
    assert "No such file or directory" in text
    assert text.endswith("kept\n")
    assert has_program(find_tools((), shop.root), "uv")


async def test_a_tool_of_pipx_is_found_with_its_environment(shop, home):
    place = add_python_tool(home, "poetry")
    text = await printed(shop, f"poetry; cat {home}/.local/bin/key; touch {place}/new || echo kept")
    assert text.startswith(f"poetry {place}\n")
    assert "secret" not in text
    assert text.endswith("kept\n")


def test_the_python_of_an_environment_is_shown_under_each_of_its_names(home, tmp_path):
    place = add_python_tool(home, "pdm", ".local/share/uv/tools")
    (home / "pythons/cpython-3.12.4/bin").mkdir(parents=True)
    (home / "pythons/cpython-3.12.4/lib/python3.12").mkdir(parents=True)
    (home / "pythons/cpython-3.12.4/lib/python3.12/os.py").touch()
    (home / "pythons/cpython-3.12.4/bin/python3.12").touch()
    (home / "pythons/cpython-3.12").symlink_to("cpython-3.12.4")
    (place / "bin/python").unlink()
    (place / "bin/python").symlink_to(home / "pythons/cpython-3.12/bin/python3.12")
    tools = find_tools((), tmp_path / "state")
    assert {place, home / "pythons/cpython-3.12.4"} <= set(tools.folders)
    assert (str(home / "pythons/cpython-3.12"), str(home / "pythons/cpython-3.12.4")) in tools.links


@pytest.mark.parametrize("prefix", [".local", "."])
def test_a_python_installed_among_a_persons_files_is_not_shown(home, tmp_path, prefix):
    place = add_python_tool(home, "pdm")
    (home / prefix / "bin").mkdir(exist_ok=True)
    (home / prefix / "lib/python3.12").mkdir(parents=True)
    (home / prefix / "lib/python3.12/os.py").touch()
    (home / prefix / "bin/python3.12").touch()
    (place / "bin/python").unlink()
    (place / "bin/python").symlink_to(home / prefix / "bin/python3.12")
    tools = find_tools((), tmp_path / "state")
    assert not any(home.is_relative_to(one) or one == home / ".local" for one in tools.folders)
    assert not has_program(tools, "pdm")


def test_other_files_in_these_folders_are_not_shown(home, tmp_path):
    add_native(home, "my-secret-tool")
    (home / ".local/bin/just").write_text("#!/bin/sh\n. ~/.keys\n")
    (home / ".local/bin/just").chmod(0o755)
    add_python_tool(home, "hatch", "work/environments")
    tools = find_tools((), tmp_path / "state")
    assert tools.programs == ()
    assert not any(folder.is_relative_to(home) for folder in tools.folders)


def test_a_program_of_the_system_or_of_the_settings_comes_first(home, tmp_path):
    add_native(home, "uv")
    add_native(tmp_path, "uv", "tools")
    tools = find_tools((tmp_path / "tools",), tmp_path / "state")
    assert tools.programs == ()
    assert tools.path.split(os.pathsep)[:2] == [str(tmp_path / "tools"), SYSTEM_SEARCH[0]]

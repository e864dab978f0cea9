"""Imports of a command, which make up most of its start time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PROBE = """
import contextlib, io, sys
from bot.cli.main import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main(sys.argv[1:])
print("\\n".join(sys.modules))
"""


def modules_of(*command: str, cwd: Path) -> set[str]:
    """Returns all modules that are imported when a command has ended."""
    root = str(Path(__file__).parent.parent)
    probe = f"import sys; sys.path.insert(0, {root!r})\n{_PROBE}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TREEHAND_")}
    done = subprocess.run(
        [sys.executable, "-c", probe, *command],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "treehand.toml").write_text('state_dir = "state"\n[[projects]]\nname = "shop"\nrepository = "."\n')
    return tmp_path


def test_help_imports_few_modules(folder):
    found = modules_of("--help", cwd=folder)
    assert not found & {
        "pydantic",
        "pydantic_settings",
        "asyncio",
        "sqlite3",
        "logging",
        "bot.app",
        "bot.settings.schema",
    }
    assert len(found) < 110


@pytest.mark.parametrize(
    "command", [("status",), ("status", "--json"), ("issue", "list"), ("pr", "list")], ids=" ".join
)
def test_reading_commands_import_no_modules_of_the_daemon(command, folder):
    found = modules_of(*command, cwd=folder)
    vendors = {
        "claude_agent_sdk",
        "mcp",
        "apscheduler",
        "starlette",
        "uvicorn",
        "rich",
        "git",
        "gitdb",
        "github",
        "httpx",
    }
    assert not found & vendors
    assert not found & {
        "bot.daemon",
        "bot.engine.loop",
        "bot.executors.local",
        "bot.workspace.workspaces",
        "bot.agents",
    }
    assert len(found) < 340


def test_checking_the_agents_program_does_not_import_its_slow_library():
    probe = "import sys, bot.agents.claude, bot.agents.claude.program as p; p.find_installed(); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True
    )
    assert not {"claude_agent_sdk", "mcp"} & set(done.stdout.split())

"""The dependency direction, as an executable table."""

import ast
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from bot.services.registry import FORGES, TRACKERS
from bot.settings import ProjectSettings

BOT = Path(__file__).parent.parent / "bot"

MAY_IMPORT = {
    "__init__": set(),
    "__main__": {"cli"},
    "errors": set(),
    "clock": set(),
    "about": {"domain"},
    "logs": {"about"},
    "database": {"errors", "locks"},
    "backup": {"errors", "database"},
    "locks": {"errors"},
    "disk": set(),
    "launch": set(),
    "processes": set(),
    "settings": {"errors"},
    "credentials": {"errors", "settings"},
    "domain": {"errors"},
    "ports": {"domain", "errors"},
    "cells": {"domain"},
    "engine": {"domain", "ports", "errors", "about"},
    "store": {"domain", "errors", "database"},
    "telling": {"domain", "engine", "errors", "ports"},
    "workspace": {"domain", "errors", "ports"},
    "embedded": {"domain", "errors", "database", "locks", "workspace"},
    "trackers": {"domain", "errors", "ports", "embedded", "clients"},
    "forges": {"domain", "errors", "ports", "embedded", "clients"},
    "agents": {"domain", "errors", "ports", "cells", "launch", "processes"},
    "executors": {"domain", "errors", "ports", "about"},
    "readiness": {"domain", "errors", "ports", "cells", "launch", "processes", "workspace"},
    "sandbox": {"domain", "errors", "ports", "cells", "launch", "processes"},
    "state": {"domain", "engine"},
    "clients": {"domain", "errors", "database", "clock", "manners"},
    "manners": {"errors", "database", "clock"},
    "web": {"domain", "state", "errors", "clock"},
}
"""room -> rooms it may look into. Those `ON_TOP` put things together: anywhere but into adapters."""

ON_TOP = {
    "app",
    "adapters",
    "limits",
    "confining",
    "connecting",
    "preparing",
    "outlook",
    "viewing",
    "exhibits",
    "glance",
    "keys",
    "closeup",
    "showing",
    "speaking",
    "stations",
    "daemon",
    "cli",
    "housekeeping",
    "notifying",
    "reading",
    "vitals",
    "measures",
    "pools",
    "terminal",
    "demo",
}

ADAPTERS = {"trackers", "forges", "agents", "executors"}
"""Only `app.py`, and `adapters.py` for it, import these."""

HOMES = {
    "git": {"workspace"},
    "gitdb": {"workspace"},
    "sqlite3": {"database", "store", "embedded", "clients", "manners"},
    "claude_agent_sdk": {"agents"},
    "apscheduler": {"daemon"},
    "pydantic": {"settings"},
    "pydantic_settings": {"settings"},
    "rich": {"terminal"},
    "shtab": {"terminal"},
    "apprise": {"telling"},
    "prometheus_client": {"web"},
    "starlette": {"demo", "web"},
    "uvicorn": {"demo", "web"},
    "jinja2": {"web"},
    "markupsafe": {"web"},
    "pygments": {"web"},
    "github": {"clients"},
    "requests": {"clients"},
    "jwt": {"clients"},
    "httpx": {"clients", "sandbox"},
    "h11": {"sandbox"},
}
"""Each vendor library lives in the rooms named here, and nowhere else."""

PURE = ["domain/*.py", "state.py", *(f"engine/{name}.py" for name in (
    "actions", "ailing", "announcing", "answers", "asking", "beginning", "brakes", "budget", "choosing", "commands",
    "consent", "decide", "decision", "facts", "following", "handing", "history", "holding", "ledger", "mending",
    "messages", "names", "notes", "observation", "outcome", "planning", "portrait", "prompts", "queue", "quoting",
    "receipts", "schedule", "telling", "verifying",
))]  # fmt: skip
IMPURE = {"asyncio", "datetime", "time", "random", "os", "logging", "sqlite3", "httpx", "subprocess", "socket", "uuid"}

HEAVY = {
    "claude_agent_sdk",
    "git",
    "github",
    "apscheduler",
    "starlette",
    "uvicorn",
    "rich",
    "pydantic",
    "httpx",
    "asyncio",
}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"bot.{alias.name}" for alias in node.names if node.module == "bot"}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(BOT).parts[0].removesuffix(".py")


def rooms_seen_from(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports_of(path) if name.startswith("bot.")} - {"__version__"}


MODULES = [path for path in sorted(BOT.rglob("*.py")) if "sample" not in path.parts]


def named(path: Path) -> str:
    return str(path.relative_to(BOT))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_rooms_only_look_where_they_may(path: Path):
    room = room_of(path)
    if room in ON_TOP:
        assert room in {"app", "adapters"} or not rooms_seen_from(path) & ADAPTERS
    else:
        assert rooms_seen_from(path) <= MAY_IMPORT[room] | {room}


@pytest.mark.parametrize("folder", sorted(ADAPTERS))
def test_siblings_in_a_plural_folder_never_import_each_other(folder: str):
    siblings = {path.stem for path in (BOT / folder).iterdir() if path.stem not in {"__init__", "__pycache__"}}
    for path in (BOT / folder).rglob("*.py"):
        own = path.relative_to(BOT / folder).parts[0].removesuffix(".py")
        others = {f"bot.{folder}.{name}" for name in siblings - {own}}
        assert not {name for name in imports_of(path) if any(name.startswith(other) for other in others)}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_each_vendor_library_lives_in_its_room(path: Path):
    vendors = {name.split(".")[0] for name in imports_of(path)} & HOMES.keys()
    assert not {vendor for vendor in vendors if room_of(path) not in HOMES[vendor]}


@pytest.mark.parametrize("path", [path for glob in PURE for path in sorted(BOT.glob(glob))], ids=named)
def test_the_core_is_pure(path: Path):
    assert not {name.split(".")[0] for name in imports_of(path)} & IMPURE
    assert not any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(ast.parse(path.read_text())))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_modules_stay_small_and_say_what_they_are_for(path: Path):
    text = path.read_text()
    assert len(text.splitlines()) <= 330
    assert ast.get_docstring(ast.parse(text))


def test_every_word_for_a_tracker_or_a_forge_has_its_adapter():
    trackers = get_args(ProjectSettings.model_fields["tracker"].annotation)
    forges = get_args(get_type_hints(ProjectSettings.forge.fget)["return"])
    assert (set(TRACKERS), set(FORGES)) == (set(trackers), set(forges))


def test_only_the_engine_and_the_executors_forgive_everything():
    """Around a run's step and a turn; and where others may raise anything: exit, SDK, a play, a caller, a channel."""
    broad = {
        named(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    }
    forgiving = {"engine/loop.py", "executors/local.py", "cli.py", "demo/model.py", "agents/claude/agent.py"}
    assert broad == forgiving | {"sandbox/gate/door.py", "telling/channels.py"}

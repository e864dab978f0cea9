"""The dependency direction, as an executable table."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from bot.services.registry import SERVICES
from bot.settings.schema import ProjectSettings, service_folders

BOT = Path(__file__).parent.parent / "bot"

_BASE = {"errors", "system"}
_VALUES = {*_BASE, "domain", "text"}
_BUILT = {*_VALUES, "settings", "ports"}
_FILES = {*_BUILT, "git", "secret_scan"}

MAY_IMPORT: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "system": {"errors"},
    "settings": {"errors", "system"},
    "text": set(),
    "secret_scan": {"settings"},
    "domain": {"errors", "text"},
    "git": {"errors", "system", "domain"},
    "ports": {"domain"},
    "sandbox": _BUILT - {"ports"},
    "engine": _BUILT,
    "store": _BUILT - {"ports"},
    "agents": {*_BUILT, "sandbox"},
    "executors": _BUILT,
    "publish_guard": {"domain", "text", "git", "secret_scan"},
    "workspace": {*_FILES, "publish_guard"},
    "services": {*_FILES, "workspace"},
    "notifications": {*_VALUES, "engine"},
    "setup": {*_FILES, "sandbox", "workspace"},
    "evidence": {*_FILES, "workspace"},
    "maintenance": {*_FILES, "store", "publish_guard", "workspace", "setup", "evidence"},
    "control": {*_FILES, "store", "sandbox", "workspace", "services", "setup"},
    "status": {
        *_FILES, "engine", "store", "workspace", "services", "notifications", "setup", "evidence", "control",
    },
    "web": {*_VALUES, "status"},
    "app": {
        *_FILES, "engine", "store", "sandbox", "agents", "executors", "workspace", "services", "setup", "evidence",
        "maintenance", "control", "status",
    },
    "daemon": {*_VALUES, "settings", "services", "control", "status", "web", "app"},
    "demo": {"domain", "git", "services", "app"},
    "cli": {
        *_FILES, "engine", "store", "sandbox", "workspace", "services", "setup", "evidence", "maintenance", "control",
        "status", "web", "app", "daemon", "demo",
    },
    "__main__": {"cli"},
}  # fmt: skip
"""Room -> rooms it may import, bottom to top: a row names rows above it only, and no room is without a row."""

FAMILIES = {"agents", "executors"}
"""Rooms of adapters: only `app.py` imports them."""

HOMES = {
    "git": set(),
    "gitdb": {"git"},
    "sqlite3": {"services", "store", "system"},
    "claude_agent_sdk": {"agents"},
    "apscheduler": {"daemon"},
    "pydantic": {"settings", "web"},
    "markdown_it": {"web"},
    "pydantic_settings": {"settings"},
    "rich": {"cli"},
    "shtab": {"cli"},
    "apprise": {"notifications"},
    "prometheus_client": {"status"},
    "starlette": {"demo", "web"},
    "uvicorn": {"demo", "web"},
    "jinja2": {"web"},
    "markupsafe": {"web"},
    "pygments": {"web"},
    "github": {"services"},
    "requests": {"services"},
    "jwt": {"services"},
    "cryptography": {"sandbox"},
    "httpx": {"sandbox", "services"},
    "h11": {"sandbox", "web"},
    "yaml": {"setup"},
}
"""Each vendor library lives in the rooms named here, and nowhere else."""

PURE = [
    "domain/*.py", "text/*.py", "secret_scan/[!b]*.py", "engine/messages/*.py", "notifications/health_alerts.py",
    "notifications/text.py", "publish_guard/auto_run_files.py", "publish_guard/path_rules.py",
    "publish_guard/protected_paths.py", "publish_guard/symlinks.py", "status/as_json.py", "status/model_health.py",
    *(f"engine/{name}.py" for name in (
        "acknowledge", "actions", "ask_human", "authorization", "backoff", "ci_and_conflicts", "ci_approval",
        "circuit_breaker", "commands", "comment_ledger", "decide", "decision", "finish_turn", "handover",
        "issue_budget", "issue_status", "model_choice", "notifications", "observation", "plan_first", "prompts",
        "publish_approval", "queue_estimate", "run_note", "schedule", "start_turn", "verify_result", "watch_turn",
    )),
]  # fmt: skip
IMPURE = {"asyncio", "datetime", "time", "random", "os", "logging", "sqlite3", "httpx", "subprocess", "socket", "uuid"}

LONGEST_FUNCTION = 45


@cache
def parsed(path: Path) -> ast.Module:
    """Each module is parsed once, however many laws it is held against."""
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(parsed(path)))


@cache
def imports_of(path: Path) -> frozenset[str]:
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found |= {f"bot.{alias.name}" for alias in node.names if node.module == "bot"}
    return frozenset(found)


def room_of(path: Path) -> str:
    return path.relative_to(BOT).parts[0].removesuffix(".py")


def rooms_seen_from(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports_of(path) if name.startswith("bot.")} - {"__version__"}


MODULES = [path for path in sorted(BOT.rglob("*.py")) if "sample" not in path.parts]
CODE = [path for path in MODULES if path.name != "__init__.py"]


def named(path: Path) -> str:
    return str(path.relative_to(BOT))


def test_every_room_has_a_row_and_a_row_names_only_rows_above_it():
    assert set(MAY_IMPORT) == {room_of(path) for path in MODULES}
    rooms = list(MAY_IMPORT)
    for place, room in enumerate(rooms):
        assert MAY_IMPORT[room] <= set(rooms[:place]), room


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_room_imports_only_what_its_row_names(path: Path):
    assert rooms_seen_from(path) <= MAY_IMPORT[room_of(path)] | {room_of(path)}


@pytest.mark.parametrize("room", sorted(FAMILIES))
def test_only_the_app_imports_a_family_of_adapters(room: str):
    assert {other for other, row in MAY_IMPORT.items() if room in row} == {"app"}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_adapters_are_imported_by_the_app_and_the_registry_alone(path: Path):
    """A service may import its own adapters."""
    own, adapters = named(path), {f"services.{one}.{part}" for one in SERVICES for part in ("tracker", "forge")}
    for name in imports_of(path):
        wanted = name.removeprefix("bot.")
        if wanted in adapters:
            slice_ = "/".join(wanted.split(".")[:2])
            assert own == "services/registry.py" or own.startswith(slice_), name


@pytest.mark.parametrize("folder", ["agents", "executors"])
def test_siblings_in_a_plural_folder_never_import_each_other(folder: str):
    siblings = {path.stem for path in (BOT / folder).iterdir()} - {"__init__", "__pycache__", "build"}
    for path in (BOT / folder).rglob("*.py"):
        own = path.relative_to(BOT / folder).parts[0].removesuffix(".py")
        others = {f"bot.{folder}.{name}" for name in siblings - {own}} if own != "build" else set()
        assert not {name for name in imports_of(path) if any(name.startswith(other) for other in others)}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_each_vendor_library_is_imported_in_its_room_only(path: Path):
    vendors = {name.split(".")[0] for name in imports_of(path)} & HOMES.keys()
    assert not {vendor for vendor in vendors if room_of(path) not in HOMES[vendor]}


def test_every_line_of_the_purity_list_matches_a_file():
    assert not [glob for glob in PURE if not list(BOT.glob(glob))]


@pytest.mark.parametrize("path", [path for glob in PURE for path in sorted(BOT.glob(glob))], ids=named)
def test_the_core_is_pure(path: Path):
    assert not {name.split(".")[0] for name in imports_of(path)} & IMPURE
    assert not any(isinstance(node, ast.AsyncFunctionDef) for node in nodes_of(path))


@pytest.mark.parametrize("path", CODE, ids=named)
def test_every_module_has_a_docstring(path: Path):
    assert ast.get_docstring(parsed(path))


@pytest.mark.parametrize("path", [path for path in MODULES if path not in CODE and path.parent != BOT], ids=named)
def test_package_files_contain_only_a_docstring(path: Path):
    tree = parsed(path)
    assert len(tree.body) == bool(ast.get_docstring(tree))


def functions_of(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in nodes_of(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", CODE, ids=named)
def test_functions_stay_short(path: Path):
    """A function may have 45 lines; a module as many as its subject needs."""
    lengths = {one.name: (one.end_lineno or one.lineno) - one.lineno + 1 for one in functions_of(path)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


UNEVEN = re.compile(r"[*+?}]\+|\(\?>")
"""Possessive quantifiers and atomic groups: some versions of Python 3.11 match something else by them."""
STILL_UNEVEN = {"publish_guard/protected_paths.py", "setup/download_hosts.py"}


def patterns_of(path: Path) -> Iterator[str]:
    """Yields the strings of a module that look like patterns: raw, or concatenated."""
    source = path.read_text()
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for node in nodes_of(path):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            start = lines[node.lineno - 1][node.col_offset : node.col_offset + 3]
            if re.match(rb"(?i)(?:r|rf|fr|rb|br|f)[\"']", start):  # finding the whole text takes long
                yield ast.get_source_segment(source, node) or ""


def is_uneven(pattern: str) -> bool:
    without_escapes = re.sub(r"\\.", "x", pattern)
    without_fields = re.sub(r"\{[^{}]*[^0-9,{}][^{}]*\}", "x", without_escapes)
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", without_fields)
    return bool(UNEVEN.search(plain)) and "++ b/" not in plain  # of a diff


@pytest.mark.parametrize("path", CODE, ids=named)
def test_a_pattern_has_the_same_meaning_on_every_python(path: Path):
    uneven = [text for text in patterns_of(path) if is_uneven(text)]
    assert bool(uneven) == (named(path) in STILL_UNEVEN), uneven


def test_patterns_that_differ_are_detected():
    assert all(is_uneven(text) for text in (r"a++", r"[a-z]*+b", r"(?>a|b)", r"x{2,}+", r"x?+"))
    assert not any(is_uneven(text) for text in (r"a\++", r"\++", r"[+]", r"(?:a)+b"))


def test_a_public_class_name_exists_once():
    """Services have files of the same name: there the same file may have the same class."""
    places: dict[str, list[Path]] = {}
    for path in CODE:
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(path.relative_to(BOT))
    assert {name: paths for name, paths in places.items() if len(paths) > 1 and not are_twins(paths)} == {}


def are_twins(paths: list[Path]) -> bool:
    """Returns True for the same file name in the folders of two services."""
    slices = {path.parts[:2] for path in paths}
    return (
        len({path.parts[2:] for path in paths}) == 1
        and len(slices) == len(paths)
        and slices <= {("services", one) for one in SERVICES}
    )


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_build_modules_import_the_settings(path: Path):
    """In services, only `connect.py`. The rooms on top work on the whole installation."""
    if room_of(path) in {"settings", "control", "status", "app", "daemon", "cli"}:
        return
    if {name for name in imports_of(path) if name.startswith("bot.settings")}:
        files = {"connect.py", "registry.py", "interface.py"} if room_of(path) == "services" else {"build.py"}
        assert path.name in files


LOAD_UNCHECKED = {"settings", "init", "init_finish", "add", "check", "run", "learn", "demo", "backup"}
"""Commands that load settings before a state is used, check the state in another way, or must work with any state."""


def test_other_commands_check_that_the_state_belongs_to_the_repositories():
    """They load their settings with `load_settings`."""
    for path in (BOT / "cli").glob("*.py"):
        loads = [
            node for node in nodes_of(path) if isinstance(node, ast.ImportFrom) and node.module == "bot.settings.load"
        ]
        assert path.stem in LOAD_UNCHECKED or not any(one.name == "load" for node in loads for one in node.names)


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_names_of_services_are_not_compared(path: Path):
    if room_of(path) in {"settings", "services"} or named(path).startswith("cli/init"):
        return
    words = {node.value for node in nodes_of(path) if isinstance(node, ast.Constant)}
    assert not {word for word in words if isinstance(word, str)} & SERVICES.keys()


def test_the_map_of_rooms_has_the_order_of_the_table():
    page = (BOT.parent / "ARCHITECTURE.md").read_text()
    rooms = [
        path.removesuffix("/").removesuffix(".py")
        for path in re.findall(r"^\| `bot/([\w.]+/?)` \|", page, re.MULTILINE)
    ]
    assert rooms == [room for room in MAY_IMPORT if not room.startswith("__")]


def test_every_kind_of_tracker_and_forge_has_an_adapter():
    forges = get_args(get_type_hints(ProjectSettings.forge.fget)["return"])
    assert set(SERVICES) == {*service_folders(), *forges}


def test_only_listed_modules_catch_every_exception():
    """Around a run's step and a turn, and where foreign code may raise anything: SDK, script, connection, channel."""
    broad = {
        named(path)
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id == "Exception"))
    }
    forgiving = {
        "engine/loop.py",
        "executors/local.py",
        "cli/main.py",
        "demo/scripted_model.py",
        "agents/claude/agent.py",
    }
    assert broad == forgiving | {"sandbox/proxy/server.py", "notifications/send.py"}

"""Duration of `treehand --help` and `treehand status`, and the modules that they import."""

import os
import subprocess
import sys
import time
from pathlib import Path

from figures import Figure, middle
from test_imports import modules_of

HEAVY = ("pydantic", "asyncio", "rich", "git", "gitdb", "claude_agent_sdk", "apscheduler", "starlette")
_TIMES = 9
_TREEHAND = (str(Path(sys.executable).with_name("treehand")),)


async def measure(folder: Path) -> list[Figure]:
    (folder / "treehand.toml").write_text(
        f'state_dir = "{folder}/state"\n[[projects]]\nname = "shop"\nrepository = "{folder}"\n'
    )
    bare, aided, status = _interleaved(
        folder, (sys.executable, "-c", ""), (*_TREEHAND, "--help"), (*_TREEHAND, "status")
    )
    return [
        Figure("python -c '' (reference)", bare, "s"),
        Figure("treehand --help", aided, "s", 0.3),
        Figure("treehand status", status, "s", 0.5),
        *_imports("--help", folder),
        *_imports("status", folder),
    ]


def _interleaved(folder: Path, *commands: tuple[str, ...]) -> list[float]:
    """Returns the median of several alternating runs of each command. The very first run only warms up."""
    taken: dict[tuple[str, ...], list[float]] = {command: [] for command in commands}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for go in range(_TIMES + 1):
        for command in commands:
            began = time.perf_counter()
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            if go:
                taken[command].append(time.perf_counter() - began)
    return [middle(taken[command]) for command in commands]


def _imports(command: str, folder: Path) -> list[Figure]:
    modules = modules_of(command, cwd=folder)
    heavy = ", ".join(sorted(set(HEAVY) & modules)) or "none"
    return [Figure(f"treehand {command}: modules (heavy: {heavy})", len(modules), "modules")]

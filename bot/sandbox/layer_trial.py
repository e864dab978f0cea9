"""Tries whether this machine can show a folder beneath a worktree, read-only, as `enter.py` does it."""

import asyncio
import json
import os
import shutil
from pathlib import Path

from bot.sandbox import enter
from bot.sandbox.none import write_launcher
from bot.system.launch import PARENT

_SECONDS = 10.0
_MAX_SHOWN = 200


async def try_layer(folder: Path) -> str:
    """Returns why it cannot, in words; empty if it can. `folder` is empty, and on the file system of the worktrees."""
    below, over, work = (folder / name for name in ("below", "over", "work"))
    for one in (below, over, work):
        one.mkdir()
    end = shutil.which("true") or "/bin/true"
    layer = {"lowerdir": str(below), "upperdir": str(over), "workdir": str(work)}
    plan = {
        "bwrap": end, "options": [], "uid": os.geteuid() or 1, "filter": "", "layer": layer, "command": [],
        "steps": [("write", str(over), str(over))],
    }  # fmt: skip
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    process = await asyncio.create_subprocess_exec(
        str(write_launcher(folder / "enter", Path(enter.__file__), file)), env={PARENT: str(os.getpid())},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, stderr = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "an overlay could not be tried in time"
    if not process.returncode:
        return ""
    return "overlay: " + stderr.decode(errors="replace").strip().rpartition("\n")[2][:_MAX_SHOWN]

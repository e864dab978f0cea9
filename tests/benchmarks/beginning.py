"""Duration from a fresh clone and an empty home to the end of `make demo`, with the network.

Runs only on request: it downloads the same as a new user, about 400 MB.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from figures import Figure

ROOT = Path(__file__).parents[2]
_HANDED_ON = ("PATH", "LANG", "SSL_CERT_FILE")
_OF_INSTALLERS = ("PIP_", "UV_")
_BLOCK = 512


async def measure(folder: Path) -> list[Figure]:
    return measured(folder, "demo")


def measured(folder: Path, goal: str) -> list[Figure]:
    clone, home = folder / "treehand", folder / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", f"file://{ROOT}", clone], check=True)
    load = os.getloadavg()[0]
    installed = _seconds("install", clone, home)
    took = _seconds(goal, clone, home)
    return [
        Figure(f"make install, after git clone ({os.cpu_count()} cores, load {load:.1f})", installed, "s"),
        Figure(f"make {goal}, after that (load {os.getloadavg()[0]:.1f})", took, "s"),
        Figure(f"fresh clone to the end of make {goal}", installed + took, "s"),
        Figure("the clone without .venv", _megabytes(clone) - _megabytes(clone / ".venv"), "MB"),
        Figure(".venv with the agent's program", _megabytes(clone / ".venv"), "MB"),
        Figure("of that, the agent's program", _agents_program(clone), "MB"),
        Figure("files left in the home, such as caches of installers", _megabytes(home), "MB"),
    ]


def _seconds(goal: str, clone: Path, home: Path) -> float:
    kept = {name: value for name, value in os.environ.items() if name in _HANDED_ON or name.startswith(_OF_INSTALLERS)}
    began = time.perf_counter()
    done = subprocess.run(
        ["make", "--no-print-directory", f"PYTHON={sys.executable}", goal], cwd=clone, env={**kept, "HOME": str(home)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"make {goal} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return time.perf_counter() - began


def _agents_program(clone: Path) -> float:
    found = shutil.which("claude", path=os.pathsep.join(map(str, clone.glob(".venv/lib/*/site-packages/*/_bundled"))))
    return Path(found).stat().st_size / 1e6 if found else 0.0


def _megabytes(folder: Path) -> float:
    """Returns the size on disk; a file with two names counts once."""
    return sum({(one.st_dev, one.st_ino): one.st_blocks * _BLOCK for one in _files(folder)}.values()) / 1e6


def _files(folder: Path) -> Iterator[os.stat_result]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield (Path(place) / name).lstat()

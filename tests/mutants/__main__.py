"""`make mutants`: every guard switched off in turn must make at least one test fail. Prints the guards and their tests.

`python tests/mutants [WORD...]`: only the guards with such a word in their names.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(1, str(HERE))

from guards import GUARDS, Guard, NotApplicable, switched_off  # noqa: E402 - the folder is no package

_SECONDS = 300
_COPIED = ("bot", "tests", "config", "docs", "pyproject.toml", "README.md", "ARCHITECTURE.md")
_FAILED = 1  # pytest's word for: tests ran, and some failed


def main(*words: str) -> None:
    guards = [guard for guard in GUARDS if all(word in guard.name for word in words)]
    if not guards:
        sys.exit(f"No guard is called {' '.join(words)}.")
    with tempfile.TemporaryDirectory(prefix="treehand-mutants-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        tests = sorted({test for guard in guards for test in guard.tests})
        with _copy(Path(folder) / "whole") as whole:
            if (code := _run(whole, tests)) != 0:
                sys.exit(f"With every guard in place the tests already fail (pytest: {code}).")
        results = list(pool.map(lambda guard: _try(Path(folder), guard), guards))
    survived = sum(not line.startswith("caught") for line in results)
    print(f"{len(guards) - survived} guards caught, {survived} survived")
    sys.exit(1 if survived else 0)


def _try(folder: Path, guard: Guard) -> str:
    with _copy(folder / guard.name.replace(" ", "-").replace("/", "-")) as copy:
        try:
            switched_off(guard, copy)
        except NotApplicable as problem:
            return _told(f"STALE     {guard.name}: {problem}")
        code = _run(copy, guard.tests)
    word = "caught  " if code == _FAILED else f"SURVIVED ({code})"
    return _told(f"{word}  {guard.name:<60} {' '.join(guard.tests)}")


def _told(line: str) -> str:
    print(line, flush=True)
    return line


@contextmanager
def _copy(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, tests: Sequence[str]) -> int:
    """In a process of its own, in which `bot` is the copy."""
    command = (sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "120")
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    places = (f"--basetemp={folder}-tmp", *tests)
    try:
        ended = subprocess.run(
            (*command, *places),
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1
    finally:
        shutil.rmtree(f"{folder}-tmp", ignore_errors=True)
    if ended.returncode not in {0, _FAILED}:
        print(ended.stdout[-2000:], ended.stderr[-2000:], file=sys.stderr)
    return ended.returncode


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`make mutants`: disables every guard in turn; at least one test must fail. Prints the guards and their tests.

The output ends with the guards that no test caught, and the last lines of the output of their tests.

`python tests/mutants [WORD...]`: only the guards with such words in their names. With MINUTES, it begins no guard after
that time; which ones it tries depends on the commit, so that in time all are tried. TESTED=yes: the tests have
just passed.
"""

import compileall
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT))

from tests.mutants.guards import GUARDS, Guard, NotApplicable, switched_off  # noqa: E402 - found from here only
from tests.mutants.result import NOTICED, Result, summary  # noqa: E402 - as above
from tests.mutants.trying import CAUGHT, NOTHING_RAN, SURVIVED, run  # noqa: E402 - as above

_COPIED = (
    "bot", "tests", "config", "deploy", "docs", "action.yml", "pyproject.toml", "README.md", "ARCHITECTURE.md",
    "CONTRIBUTING.md",
)  # fmt: skip

_WORKERS = max(2, (os.cpu_count() or 1) * 3 // 2)
"""As many as `make test` has: tests often wait for daemons."""

_TRIES = 2
"""A busy machine may make a test too late to notice, or notice what is not there: once more tells."""


def main(*words: str) -> None:
    named = [guard for guard in GUARDS if all(word in guard.name for word in words)]
    guards = [guard for guard in named if os.geteuid() == 0 or not guard.as_root]
    if not guards:
        sys.exit(f"No guard is called {' '.join(words)}.")
    minutes = float(os.environ.get("MINUTES") or "inf")
    if minutes < float("inf"):
        random.Random(_commit()).shuffle(guards)
    with tempfile.TemporaryDirectory(prefix="treehand-mutants-") as folder:
        whole = Path(folder) / "whole"
        with _copy(ROOT, whole):
            if os.environ.get("TESTED"):
                compileall.compile_dir(whole, quiet=2)
            else:
                _ensure_quiet(whole, sorted({test for guard in guards for test in guard.tests}))
            results = _try_until(time.monotonic() + 60 * minutes, whole, guards)
    print(summary(results, left_out=len(named) - len(guards), later=len(guards) - len(results)))
    sys.exit(not results or any(result.is_failure for result in results))


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _try_until(end: float, whole: Path, guards: Sequence[Guard]) -> Sequence[Result]:
    with ThreadPoolExecutor(_WORKERS) as pool:
        tried = pool.map(lambda one: None if time.monotonic() > end else _try(whole, *one), enumerate(guards))
        return [result for result in tried if result]


def _ensure_quiet(whole: Path, tests: Sequence[str]) -> None:
    """Checks that all tests pass with every guard in place. Leaves compiled modules behind for all copies."""
    for _ in range(_TRIES):
        code, printed = run(whole, ("-n", str(_WORKERS), "--dist", "worksteal", *tests), seconds=1200.0)
        if code in {SURVIVED, NOTHING_RAN}:
            break
    else:
        sys.exit(f"{printed}\nThe tests notice something while every guard is in place (pytest: {code}).")


def _try(whole: Path, number: int, guard: Guard) -> Result:
    with _copy(whole, whole.with_name(str(number))) as copy:
        try:
            switched_off(guard, copy)
        except NotApplicable as problem:
            code, printed, word = SURVIVED, str(problem), "STALE"
        else:
            for _ in range(_TRIES):
                code, printed = run(copy, ("-x", *guard.tests))
                if (word := _word_of(code)) == NOTICED:
                    break
    result = Result(guard, word, printed)
    print(result, flush=True)
    if result.is_failure:
        print(printed, file=sys.stderr)
    return result


def _word_of(code: int) -> str:
    if code == CAUGHT:
        return NOTICED
    return "SURVIVED" if code in {SURVIVED, NOTHING_RAN} else f"BROKEN ({code})"


@contextmanager
def _copy(source: Path, folder: Path) -> Iterator[Path]:
    """Copies of the copy share its files: only one of them is written, and that one anew."""
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__") if source == ROOT else None
    copied = shutil.copy2 if source == ROOT else os.link
    for name in _COPIED:
        if (source / name).is_dir():
            shutil.copytree(source / name, folder / name, ignore=ignored, copy_function=copied)
        else:
            copied(source / name, folder / name)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

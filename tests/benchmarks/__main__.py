"""`make bench`: every figure we promise, measured in this run and printed as a table and one line of JSON.

`python tests/benchmarks [spawn] [model] [events] [idle] [commands] [limits] [polling] [writes] [linear] [flood]
[reading] [sandbox] [readiness] [disk] [large] [alarms] [restart] [dashboard] [dashboard_diff] [hostile_capture]
[exploration] [stall] [codeipi]`: only those. Only when asked for: [beginning], from an empty home to the end of `make
demo`, and [beginning_tests], to that of `make test`.
"""

import asyncio
import importlib
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parent.parent))  # what a command imports is counted by tests/test_imports.py

sys.path.insert(2, str(Path(__file__).parent.parent.parent))  # what is measured and tested alike

from figures import Figure

PARTS = (
    "commands",
    "spawn",
    "model",
    "events",
    "idle",
    "limits",
    "polling",
    "writes",
    "linear",
    "flood",
    "reading",
    "sandbox",
    "readiness",
    "disk",
    "large",
    "alarms",
    "restart",
    "dashboard",
    "dashboard_diff",
    "hostile_capture",
    "exploration",
    "stall",
    "codeipi",
)


def main(*wanted: str) -> None:
    figures: list[Figure] = []
    for name in wanted or PARTS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="treehand-bench-", ignore_cleanup_errors=True) as folder:
            found = asyncio.run(importlib.import_module(name).measure(Path(folder)))
        for figure in found:
            print(f"{figure.name:<64} {figure.value:>10.3f} {figure.unit:<7} {figure.verdict}".rstrip(), flush=True)
        figures += found
    print(json.dumps({figure.name: round(figure.value, 4) for figure in figures}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Child process of `in_child`: calls one function with the record it reads, and prints the answer as a record.

Rule: it ends with its parent, and the kernel ends it first if memory is scarce.

`child_main.py MODULE FUNCTION PARENT CPU_SECONDS`
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the modules of the parent process

import contextlib
import gc
import importlib
import json
import resource
from collections.abc import Callable
from typing import Any, get_type_hints

from bot.domain.serialize import as_record, from_record
from bot.errors import BotError
from bot.git.command import GitFailed, RepositoryDamaged, stay_in_process_group
from bot.system.launch import die_with_parent

_MEMORY_BYTES = 3_000_000_000
_OOM_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_GO = "900"


def main(module: str, function: str, parent: str, cpu_seconds: str) -> None:
    if sys.platform == "linux":
        die_with_parent(int(parent))
        with contextlib.suppress(OSError):
            _OOM_SCORE.write_text(_FIRST_TO_GO)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds) + 1))
    stay_in_process_group()
    gc.disable()  # the process lives for one call
    reply = _reply(getattr(importlib.import_module(module), function), json.load(sys.stdin))
    sys.stdout.write(json.dumps(reply))


def _reply(work: Callable[[Any], object], record: object) -> dict[str, object]:
    (kind,) = (kind for name, kind in get_type_hints(work).items() if name != "return")
    try:
        return {"answer": as_record(work(from_record(kind, record)))}
    except GitFailed as exc:
        return {"git": [exc.command, exc.code, exc.stderr, isinstance(exc, RepositoryDamaged)]}
    except BotError as exc:
        return {"error": _error_name(exc), "text": str(exc)}
    except OSError as exc:
        return {"errno": exc.errno or 0, "text": exc.strerror or str(exc)}
    except (MemoryError, RecursionError):
        return {"error": "OverLimit", "text": _TOO_MUCH_MEMORY}


def _error_name(exc: BotError) -> str:
    return next(kind.__name__ for kind in type(exc).__mro__ if kind.__module__ == "bot.errors")


_TOO_MUCH_MEMORY = (
    "Reading and checking the files needs more memory than the limit for that. Delete very large or deeply "
    "nested files, "
    "or add them to .gitignore."
)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Makes many attempts in one sandbox and returns how each was refused."""

import json
from collections.abc import Mapping

from tests.escape.conftest import Attacker

_PLAY = """
import ctypes, errno, fcntl, glob, json, os, shutil, signal, socket, struct, subprocess, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def call(*words):
    return check(libc.syscall(*words))
def mount(source, place, kind, flags):
    return check(libc.mount(source.encode(), place.encode(), kind.encode(), ctypes.c_ulong(flags), None))
def put(path, text):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)
def run(*words):
    done = subprocess.run(words, capture_output=True, timeout=20, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise OSError(errno.EPERM, done.stderr.decode())
given = json.loads(sys.argv[1])
def late(*_):
    raise TimeoutError(errno.ETIME, "it waits")
signal.signal(signal.SIGALRM, late)
for name, code in given.items():
    signal.alarm(5)
    try:
        exec(code)
        how = "DONE"
    except OSError as exc:
        how = errno.errorcode.get(exc.errno, "refused")
    except Exception as exc:
        how = f"BROKEN {exc!r}"
    print(json.dumps([name, how]), flush=True)
"""


async def refusals(attacker: Attacker, attempts: Mapping[str, str], *, as_command: bool = True) -> dict[str, str]:
    """Returns, by attempt, the name of its error, or DONE."""
    printed = await attacker.python(_PLAY, json.dumps(attempts), as_command=as_command)
    told = dict(json.loads(line) for line in printed.splitlines())
    assert told.keys() == attempts.keys(), printed
    return told


def succeeded(told: Mapping[str, str]) -> dict[str, str]:
    """Returns the attempts that were not refused or could not be made."""
    return {name: how for name, how in told.items() if how == "DONE" or how.startswith("BROKEN")}

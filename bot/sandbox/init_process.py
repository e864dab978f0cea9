"""The first program in a sandbox: sets limits, opens the one way to the gate, runs what is to run and ends with it.
A script of its own that imports nothing of the bot.

`inside.py PORT SOCKET PORCH PROCESSES FILE_BYTES MEMORY_BYTES PROGRAM ARGUMENT...`; 0: no limit. PORCH, a socket of the
host's as well, is where people come in; empty: nobody does.
"""

import contextlib
import os
import resource
import socket
import sys
import threading

_CHUNK = 1 << 16
_OFFERS = 8
"""So many may come in at the same moment."""


def main(port: str, gate: str, porch: str, processes: str, file_bytes: str, memory_bytes: str, *command: str) -> None:
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    child = os.fork()
    if child == 0:
        listener.close()
        _limit(resource.RLIMIT_NPROC, int(processes))
        _limit(resource.RLIMIT_FSIZE, int(file_bytes))
        _limit(resource.RLIMIT_DATA, int(memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(command[0], command)  # noqa: S606
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)  # the program's own end of them is the only one
    threading.Thread(target=_let_through, args=(listener, gate), daemon=True).start()
    for _ in range(_OFFERS if porch else 0):
        threading.Thread(target=_lead_in, args=(porch,), daemon=True).start()
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _limit(which: int, most: int) -> None:
    if most:
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def _let_through(listener: socket.socket, gate: str) -> None:
    while True:
        caller, _ = listener.accept()
        way = socket.socket(socket.AF_UNIX)
        try:
            way.connect(gate)
        except OSError:
            caller.close()
            continue
        _join(caller, way)


def _lead_in(porch: str) -> None:
    """The host takes this offer when somebody is there, and says for which port."""
    while True:
        way = socket.socket(socket.AF_UNIX)
        try:
            way.connect(porch)
            asked = way.recv(2, socket.MSG_WAITALL)
        except OSError:
            return
        if len(asked) < 2:  # noqa: PLR2004 - the host is through
            return
        threading.Thread(target=_reach, args=(way, int.from_bytes(asked, "big")), daemon=True).start()


def _reach(way: socket.socket, port: int) -> None:
    for address in ("127.0.0.1", "::1"):
        with contextlib.suppress(OSError):
            _join(way, socket.create_connection((address, port)))
            return
    way.close()


def _join(one: socket.socket, other: socket.socket) -> None:
    for start, end in ((one, other), (other, one)):
        threading.Thread(target=_pump, args=(start, end), daemon=True).start()


def _pump(start: socket.socket, end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := start.recv(_CHUNK):
            end.sendall(data)
    for side, how in ((end, socket.SHUT_WR), (start, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            side.shutdown(how)


if __name__ == "__main__":
    main(*sys.argv[1:])

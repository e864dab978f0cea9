"""The first program in a sandbox: sets process limits, connects it to the proxy, starts services, runs the program and
ends with it.

A script of its own that imports nothing of the bot. Arguments: PORT PROXY_SOCKET PORTS_SOCKET SERVICES PROCESSES
FILE_BYTES MEMORY_BYTES PROGRAM ARGUMENT...; 0: no limit. People's connections arrive through PORTS_SOCKET, and SERVICES
describes the services; empty: there are none.
"""

import contextlib
import os
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

_CHUNK = 1 << 16
_WAITING_CONNECTIONS = 8
"""Connections of people that can be accepted at the same moment."""
_SIGNALLED = 128
"""Added to the number of the signal that ended the program, as shells do."""


_SERVICE_SECONDS = 6.0
"""Time for the services to end."""

_Limits = tuple[str, str, str]
"""Processes, bytes of a file, and bytes of memory."""


def main(port: str, proxy_socket: str, ports_socket: str, services_file: str, *limits_and_command: str) -> None:
    processes, file_bytes, memory_bytes, *command = limits_and_command
    limits = processes, file_bytes, memory_bytes
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=64)
    services, forwarded = _start_services(services_file, limits) if services_file else ([], [])
    child = os.fork()
    if child == 0:
        listener.close()
        _set_limits(limits)
        os.execv(command[0], command)  # noqa: S606
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)  # the program holds the only other end
    threading.Thread(target=_forward_to_proxy, args=(listener, proxy_socket), daemon=True).start()
    for _ in range(_WAITING_CONNECTIONS if ports_socket else 0):
        threading.Thread(target=_accept_from_host, args=(ports_socket,), daemon=True).start()
    for inner_listener, target in forwarded:
        threading.Thread(target=_forward_to_port, args=(inner_listener, target), daemon=True).start()
    _, status = os.waitpid(child, 0)
    _end_services(services)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else _SIGNALLED - code)


def _set_limits(limits: _Limits) -> None:
    processes, file_bytes, memory_bytes = limits
    _limit(resource.RLIMIT_NPROC, int(processes))
    _limit(resource.RLIMIT_FSIZE, int(file_bytes))
    _limit(resource.RLIMIT_DATA, int(memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _start_services(
    file: str, limits: _Limits
) -> "tuple[list[subprocess.Popen[bytes]], list[tuple[socket.socket, int]]]":
    """Returns when all answer, with the sockets of further ports and where they lead.

    If one does not answer, a command of the host does not run, and an agent works without it.
    """
    import json
    import subprocess
    from pathlib import Path

    plan: dict[str, Any] = json.loads(Path(file).read_text())
    started = [
        subprocess.Popen(
            [plan["shell"], one["name"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: _set_limits(limits),  # noqa: PLW1509 - there are no threads yet
        )
        for one in plan["services"]
    ]  # fmt: skip
    for process in started:
        assert process.stdout
        answer = process.stdout.readline()
        if answer.strip() != b"ready" and plan["are_needed"]:
            sys.exit((answer + process.stdout.read()).decode(errors="replace") or "A service did not start.")
    return started, [*_listen_on_other_ports(plan["services"])]


def _listen_on_other_ports(services: list[dict[str, Any]]) -> Iterator[tuple[socket.socket, int]]:
    for one in services:
        for port in one["other_ports"]:
            with contextlib.suppress(OSError):  # another service has this port
                yield socket.create_server(("127.0.0.1", port), backlog=64), one["port"]


def _end_services(services: "list[subprocess.Popen[bytes]]") -> None:
    import subprocess

    for process in services:
        assert process.stdin
        process.stdin.close()
    for process in services:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SERVICE_SECONDS)


def _forward_to_port(listener: socket.socket, target: int) -> None:
    while True:
        connection, _ = listener.accept()
        _connect_to_port(connection, target)


def _limit(which: int, most: int) -> None:
    if most:
        hard = resource.getrlimit(which)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def _forward_to_proxy(listener: socket.socket, proxy_socket: str) -> None:
    while True:
        connection, _ = listener.accept()
        proxy = socket.socket(socket.AF_UNIX)
        try:
            proxy.connect(proxy_socket)
        except OSError:
            connection.close()
            continue
        _join(connection, proxy)


def _accept_from_host(ports_socket: str) -> None:
    """Offers connections to the host, which takes one for each visitor and sends the port that the visitor wants."""
    while True:
        host = socket.socket(socket.AF_UNIX)
        try:
            host.connect(ports_socket)
            port = host.recv(2, socket.MSG_WAITALL)
        except OSError:
            return
        if len(port) < 2:  # noqa: PLR2004 - the host has closed it
            return
        threading.Thread(target=_connect_to_port, args=(host, int.from_bytes(port, "big")), daemon=True).start()


def _connect_to_port(host: socket.socket, port: int) -> None:
    for address in ("127.0.0.1", "::1"):
        with contextlib.suppress(OSError):
            _join(host, socket.create_connection((address, port)))
            return
    host.close()


def _join(one: socket.socket, other: socket.socket) -> None:
    for source, target in ((one, other), (other, one)):
        threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    for side, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            side.shutdown(how)


if __name__ == "__main__":
    main(*sys.argv[1:])

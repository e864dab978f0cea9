"""Listening: finds out whether this machine lets a program listen on an address."""

import socket


def why_taken(bind: str) -> str:
    """`bind`: `HOST:PORT`. Returns an empty string if a program could listen there now."""
    host, _, port = bind.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as listener:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(address)
                listener.listen()
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""

"""The filter on system calls that every program in a sandbox runs under: what namespaces do not cover. Pure.

Rule: it closes doors that builds and tests do not use. Above all, sockets of families that know no network namespace
(AF_VSOCK reaches the machine's own host) cannot be made.
"""

import errno
import platform
import struct
from collections.abc import Sequence

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000

_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink: each is the namespace's own

# by architecture: how the kernel names it, where foreign numbers begin, `socket`, then the rest
_X86, _ARM = "x86_64", "aarch64"
_AUDIT = {_X86: 0xC000003E, _ARM: 0xC00000B7}
_X32 = 0x40000000
_SOCKET = {_X86: (41, 53), _ARM: (198, 199)}
"""`socket` and `socketpair`."""
_CLOSED = {
    # keys, tracing of the kernel, modules, clocks, handles, faults, swap, reboot, quotas, accounting
    _X86: (248, 249, 250, 321, 298, 175, 176, 313, 246, 320, 304, 323, 167, 168, 169, 179, 163, 164, 227, 305, 159),
    _ARM: (217, 218, 219, 280, 241, 105, 106, 273, 104, 294, 265, 282, 224, 225, 142, 60, 89, 170, 112, 266, 171),
}
_UNKNOWN = (425, 426, 427)
"""io_uring does its work behind such a filter's back: programs that know it do without when it is not there."""


def filter_for(machine: str = platform.machine()) -> bytes:
    """A program for the kernel, as `bwrap --seccomp` takes it. Empty: none is known for this kind of machine."""
    if machine not in _AUDIT:
        return b""
    program = [
        _jump_over(_load(_ARCHITECTURE), _EQUAL, _AUDIT[machine], 1),
        _refuse(errno.EPERM),
        _load(_NUMBER),
        *([_compare(_AT_LEAST, _X32, 0, 1), _refuse(errno.EPERM)] if machine == _X86 else []),
        *_each(_UNKNOWN, errno.ENOSYS),
        *_each(_CLOSED[machine], errno.EPERM),
        *_sockets(_SOCKET[machine]),
        _return(_ALLOW),
    ]
    return b"".join(program)


def _jump_over(load: bytes, test: int, value: int, skipped: int) -> bytes:
    return load + _compare(test, value, skipped, 0)


def _each(numbers: Sequence[int], error: int) -> list[bytes]:
    return [line for number in numbers for line in (_compare(_EQUAL, number, 0, 1), _refuse(error))]


def _sockets(numbers: Sequence[int]) -> list[bytes]:
    """Only of the families listed. Whoever asks for another is told that there is none."""
    asked = len(_FAMILIES) + 2
    first, second = numbers
    return [
        _compare(_EQUAL, first, 1, 0),
        _compare(_EQUAL, second, 0, asked),
        _load(_FIRST_ARGUMENT),
        *(_compare(_EQUAL, family, len(_FAMILIES) - place, 0) for place, family in enumerate(_FAMILIES)),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _compare(test: int, value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", test, then, otherwise, value)


def _refuse(error: int) -> bytes:
    return _return(_REFUSE | error)


def _return(value: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, value)

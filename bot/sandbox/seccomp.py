"""Seccomp filter: refuses system calls that builds and tests do not need and that namespaces do not cover. Pure.

Rule: sockets can be made of the listed families only. Others ignore network namespaces: AF_VSOCK reaches the machine's
own host.
"""

import errno
import platform
import struct
from collections.abc import Sequence

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT = 0, 4, 16, 24
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000

_ALLOWED_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink: each is the namespace's own

# per architecture: its audit number, the first foreign call number, `socket`, then the others
_X86, _ARM = "x86_64", "aarch64"
_AUDIT = {_X86: 0xC000003E, _ARM: 0xC00000B7}
_X32 = 0x40000000
_SOCKET = {_X86: (41, 53), _ARM: (198, 199)}
"""`socket` and `socketpair`."""
_FORBIDDEN = {
    # keys, tracing of the kernel, modules, clocks, handles, faults, swap, reboot, quotas, accounting
    _X86: (248, 249, 250, 321, 298, 175, 176, 313, 246, 320, 304, 323, 167, 168, 169, 179, 163, 164, 227, 305, 159),
    _ARM: (217, 218, 219, 280, 241, 105, 106, 273, 104, 294, 265, 282, 224, 225, 142, 60, 89, 170, 112, 266, 171),
}
_SHMGET, _SEMGET = {_X86: 29, _ARM: 194}, {_X86: 64, _ARM: 190}
_MAX_SEGMENT_BYTES = 1 << 16
"""Size of a shared segment of System V, which stays when no process has it any more. Databases need a few bytes; the
kernel allows 4096 segments."""
_MAX_SEMAPHORES = 64
"""In one set of System V: each semaphore takes 64 bytes that no process has, and the kernel allows 32,000 sets of
32,000. Databases take some 20 in a set."""
_MISSING = (425, 426, 427, 447)
"""Look as if the kernel had none: io_uring, which bypasses such filters, and memfd_secret, whose memory nobody can
count. Programs that use them work without them too."""


def seccomp_filter(machine: str = platform.machine()) -> bytes:
    """Returns a program for `bwrap --seccomp`; empty if the machine's architecture is not known."""
    if machine not in _AUDIT:
        return b""
    program = [
        _jump_over(_load(_ARCHITECTURE), _EQUAL, _AUDIT[machine], 1),
        _refuse(errno.EPERM),
        _load(_NUMBER),
        *([_compare(_AT_LEAST, _X32, 0, 1), _refuse(errno.EPERM)] if machine == _X86 else []),
        *_refuse_each(_MISSING, errno.ENOSYS),
        *_refuse_each(_FORBIDDEN[machine], errno.EPERM),
        *_limit_second_argument(_SHMGET[machine], _MAX_SEGMENT_BYTES),
        *_limit_second_argument(_SEMGET[machine], _MAX_SEMAPHORES),
        *_restrict_sockets(_SOCKET[machine]),
        _return(_ALLOW),
    ]
    return b"".join(program)


def _jump_over(load: bytes, test: int, value: int, skipped: int) -> bytes:
    return load + _compare(test, value, skipped, 0)


def _refuse_each(numbers: Sequence[int], error: int) -> list[bytes]:
    return [line for number in numbers for line in (_compare(_EQUAL, number, 0, 1), _refuse(error))]


def _restrict_sockets(numbers: Sequence[int]) -> list[bytes]:
    """Allows the listed families; others fail as if the kernel did not support them."""
    skipped_if_other = len(_ALLOWED_FAMILIES) + 2
    first, second = numbers
    return [
        _compare(_EQUAL, first, 1, 0),
        _compare(_EQUAL, second, 0, skipped_if_other),
        _load(_FIRST_ARGUMENT),
        *(
            _compare(_EQUAL, family, len(_ALLOWED_FAMILIES) - place, 0)
            for place, family in enumerate(_ALLOWED_FAMILIES)
        ),
        _refuse(errno.EAFNOSUPPORT),
    ]


def _limit_second_argument(number: int, most: int) -> list[bytes]:
    return [
        _compare(_EQUAL, number, 0, 6),
        _load(_SECOND_ARGUMENT + 4),
        _compare(_AT_LEAST, 1, 2, 0),
        _load(_SECOND_ARGUMENT),
        _compare(_AT_LEAST, most + 1, 0, 1),
        _refuse(errno.EINVAL),
        _load(_NUMBER),
    ]


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", _LOAD, 0, 0, offset)


def _compare(test: int, value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", test, then, otherwise, value)


def _refuse(error: int) -> bytes:
    return _return(_REFUSE | error)


def _return(value: int) -> bytes:
    return struct.pack("=HBBI", _RETURN, 0, 0, value)

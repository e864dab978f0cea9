"""The seccomp filter, evaluated like the kernel does, also for other architectures than this machine's."""

import errno
import struct

import pytest

from bot.sandbox.seccomp import seccomp_filter

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OPEN = {
    "x86_64": (0, 1, 257, 59, 272, 165),
    "aarch64": (63, 64, 56, 221, 97, 40),
}  # read ... mount: namespaces hold those
CLOSED = {
    "x86_64": (248, 249, 250, 298, 321, 323, 304, 246, 175, 313, 169),
    "aarch64": (217, 218, 219, 241, 280, 282, 265, 104, 105, 273, 142),
}
SOCKET = {"x86_64": (41, 53), "aarch64": (198, 199)}
ALLOWED = 0x7FFF0000


def outcome(program: bytes, machine: int, number: int, first: int = 0, second: int = 0) -> int:
    """Returns 0 if the call is allowed, otherwise its error number."""
    data = struct.pack("=IIQQQ", number, machine, 0, first, second)
    lines = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    held, at = 0, 0
    while True:
        code, then, otherwise, value = lines[at]
        at += 1
        match code:
            case 0x20:
                held = struct.unpack_from("=I", data, value)[0]
            case 0x15:
                at += then if held == value else otherwise
            case 0x35:
                at += then if held >= value else otherwise
            case 0x06:
                return 0 if value == ALLOWED else value & 0xFFFF


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_system_calls_of_builds_are_allowed_and_dangerous_ones_refused(machine):
    program = seccomp_filter(machine)
    assert [outcome(program, AUDIT[machine], number) for number in OPEN[machine]] == [0] * len(OPEN[machine])
    assert {outcome(program, AUDIT[machine], number) for number in CLOSED[machine]} == {errno.EPERM}
    assert {outcome(program, AUDIT[machine], number) for number in (425, 426, 427, 447)} == {errno.ENOSYS}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("family", range(46))
def test_only_sockets_of_namespaced_families_can_be_created(machine, family):
    program = seccomp_filter(machine)
    expected = 0 if family in {1, 2, 10, 16} else errno.EAFNOSUPPORT
    assert [outcome(program, AUDIT[machine], number, family) for number in SOCKET[machine]] == [expected] * 2


@pytest.mark.attack("T16", "Memory is kept in segments that no process has")
@pytest.mark.parametrize(("machine", "number"), [("x86_64", 29), ("aarch64", 194)])
def test_t16_shared_memory_segments_of_system_v_are_limited(machine, number):
    program = seccomp_filter(machine)
    sizes = {1: 0, 1 << 16: 0, (1 << 16) + 1: errno.EINVAL, 1 << 30: errno.EINVAL, 1 << 32: errno.EINVAL}
    assert {size: outcome(program, AUDIT[machine], number, 0, size) for size in sizes} == sizes


@pytest.mark.attack("T16", "Memory is kept in semaphores that no process has")
@pytest.mark.parametrize(("machine", "number"), [("x86_64", 64), ("aarch64", 190)])
def test_t16_sets_of_semaphores_of_system_v_are_limited(machine, number):
    program = seccomp_filter(machine)
    sizes = {1: 0, 20: 0, 64: 0, 65: errno.EINVAL, 32000: errno.EINVAL}
    assert {size: outcome(program, AUDIT[machine], number, 0, size) for size in sizes} == sizes


def test_system_call_numbers_of_another_architecture_are_refused():
    for machine, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        assert outcome(seccomp_filter(machine), AUDIT[other], OPEN[other][0]) == errno.EPERM
    i386 = 0x40000003
    assert outcome(seccomp_filter("x86_64"), i386, 3) == errno.EPERM
    assert outcome(seccomp_filter("x86_64"), AUDIT["x86_64"], 0x40000000 + 1) == errno.EPERM


def test_an_unknown_architecture_has_no_filter():
    assert seccomp_filter("riscv64") == b""

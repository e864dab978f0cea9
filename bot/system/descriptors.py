"""File descriptors: raises this process's limit, and divides it, so that connections leave enough for our own files."""

import resource

_ENOUGH = 16_384
"""Some programs that we start close every descriptor that they may have, one by one."""


def raise_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def share_of_limit(part: int, *, most: int) -> int:
    """Returns the limit divided by `part`, and `most` at most."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if soft == resource.RLIM_INFINITY else min(most, soft // part)

"""What a person can do where the sandbox does not start or does not hold. Looks at the machine; changes nothing."""

import asyncio
import contextlib
import os
import re
from pathlib import Path

from bot.errors import CannotStart

OLDEST = (0, 8, 0)
"""Earlier ones know no `--disable-userns`."""

NO_MEND = 'Mend that, or choose to do without: `sandbox.kind = "none"` (docs/security.md says what that means).'
_NO_NAMESPACES = (
    "This machine lets nobody make user namespaces. Allow it: `sysctl -w user.max_user_namespaces=15000`"
    " and, on Debian, `sysctl -w kernel.unprivileged_userns_clone=1`."
)
_APPARMOR = (
    "AppArmor keeps bubblewrap from making user namespaces (Ubuntu 24.04 and later). Give it a profile that allows"
    " them, as docs/troubleshooting.md shows, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`."
)
_CONTAINER = (
    "Start it with `--security-opt seccomp=deploy/seccomp.json --security-opt systempaths=unconfined`, where there is"
    " AppArmor also `--security-opt apparmor=unconfined`, as root also `--cap-add SYS_ADMIN`; deploy/README.md has"
    " these words for Podman, Compose and Kubernetes."
)
_FORBIDDEN = f"A container that allows no namespaces? Its seccomp profile forbids them. {_CONTAINER}"
_MASKED = f"A container that hides a part of /proc? Then nothing in it can have one of its own. {_CONTAINER}"
_NO_MOUNTS = "Root may not mount here: run Treehand as an ordinary user, or give it CAP_SYS_ADMIN."
_NO_USERS = (
    "Root here has no other users to let agents work as: give this container a range of 65536 user ids, or run"
    " Treehand as an ordinary user."
)

_USERS = 60_000
_CAP_SYS_ADMIN = 1 << 21


async def version_of(bwrap: Path) -> str:
    """Raises when it is too old, or does not tell."""
    process = await asyncio.create_subprocess_exec(
        str(bwrap), "--version", env={}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), 10)
    except TimeoutError as exc:
        raise CannotStart(f"{bwrap} does not tell its version in time.") from exc
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    found = re.search(r"(\d+)\.(\d+)\.?(\d*)", printed.decode(errors="replace"))
    if not found:
        raise CannotStart(f"{bwrap} does not tell its version.")
    if tuple(int(number or 0) for number in found.groups()) < OLDEST:
        raise CannotStart(f"bubblewrap {found[0]} is too old: {'.'.join(map(str, OLDEST))} or later is needed.")
    return found[0]


def mend_for(trouble: str) -> str:
    """`trouble` is what was said as it did not start; empty: it started, and something got out."""
    return f"{_found(trouble)} {NO_MEND}".strip()


def _found(trouble: str) -> str:
    if os.geteuid() == 0 and not _has_users():
        return _NO_USERS
    if not re.search(r"namespace|uid map|mount|hostname|not permitted|RTM_NEWADDR", trouble):
        return ""
    if os.geteuid() == 0 and not _effective() & _CAP_SYS_ADMIN:
        return _NO_MOUNTS
    if _number("user/max_user_namespaces") == 0 or _number("kernel/unprivileged_userns_clone") == 0:
        return _NO_NAMESPACES
    if _number("kernel/apparmor_restrict_unprivileged_userns") == 1:
        return _APPARMOR
    return container_mend_for(trouble)


def container_mend_for(trouble: str) -> str:
    return _MASKED if "mount proc" in trouble else _FORBIDDEN


def _number(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", name).read_text())
    except (OSError, ValueError):
        return None


def _has_users() -> bool:
    lines = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    return sum(int(count) for _, _, count in lines) >= _USERS


def _effective() -> int:
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else 0

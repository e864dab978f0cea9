"""Fix hints: advice for a sandbox that does not start or hold, from the state of the machine. Changes nothing."""

import asyncio
import contextlib
import os
import re
from pathlib import Path

from bot.errors import CannotStart
from bot.system.disk import full_disk_text, says_full_disk

OLDEST_BWRAP = (0, 8, 0)
"""Earlier versions have no `--disable-userns`."""

FIX_OR_OPT_OUT = (
    'Fix that, or run without a sandbox: `sandbox.kind = "none"` (`treehand docs security` describes the risk).'
)
_NO_NAMESPACES = (
    "This machine forbids user namespaces. Allow it: `sysctl -w user.max_user_namespaces=15000`"
    " and, on Debian, `sysctl -w kernel.unprivileged_userns_clone=1`."
)
_APPARMOR = (
    "AppArmor keeps bubblewrap from making user namespaces (Ubuntu 24.04 and later). Give it a profile that allows"
    " them, as `treehand docs troubleshooting` shows, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`."
)
_CONTAINER = (
    "Start it with `--security-opt seccomp=deploy/seccomp.json --security-opt systempaths=unconfined`, where there is"
    " AppArmor also `--security-opt apparmor=unconfined`, as root also `--cap-add SYS_ADMIN`. `treehand docs deploy`"
    " has these options for Podman, Compose and Kubernetes, and says where the profile is."
)
_NAMESPACES_FORBIDDEN = f"A container that allows no namespaces? Its seccomp profile forbids them. {_CONTAINER}"
_PROC_MASKED = f"A container that hides a part of /proc? Then nothing in it can have one of its own. {_CONTAINER}"
_NO_MOUNTS = "Root may not mount here: run Treehand as an ordinary user, or give it CAP_SYS_ADMIN."
_NO_USER_IDS = (
    "Root here has no other users to let agents work as: give this container a range of 65536 user ids, or run"
    " Treehand as an ordinary user."
)

_MIN_USER_IDS = 60_000
_CAP_SYS_ADMIN = 1 << 21


async def bwrap_version(bwrap: Path) -> str:
    """Raises CannotStart if bubblewrap is too old or does not print its version."""
    process = await asyncio.create_subprocess_exec(
        str(bwrap), "--version", env={}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), 10)
    except TimeoutError as exc:
        raise CannotStart(f"{bwrap} does not print its version in time.") from exc
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    found = re.search(r"(\d{1,9})\.(\d{1,9})\.?(\d{0,9})", printed.decode(errors="replace"))
    if not found:
        raise CannotStart(f"{bwrap} does not print its version.")
    if tuple(int(number or 0) for number in found.groups()) < OLDEST_BWRAP:
        raise CannotStart(f"bubblewrap {found[0]} is too old: {'.'.join(map(str, OLDEST_BWRAP))} or later is needed.")
    return found[0]


def fix_hint_for(output: str) -> str:
    """`output` was printed as the sandbox did not start; empty: it started, and a probe got out."""
    if says_full_disk(output) and "namespace" not in output:  # the kernel says the same of too many namespaces
        return f"{full_disk_text()}."
    return f"{_fix_for(output)} {FIX_OR_OPT_OUT}".strip()


def _fix_for(output: str) -> str:
    if os.geteuid() == 0 and not _has_users():
        return _NO_USER_IDS
    if not re.search(r"namespace|uid map|mount|hostname|not permitted|RTM_NEWADDR", output):
        return ""
    if os.geteuid() == 0 and not _effective_capabilities() & _CAP_SYS_ADMIN:
        return _NO_MOUNTS
    if _sysctl("user/max_user_namespaces") == 0 or _sysctl("kernel/unprivileged_userns_clone") == 0:
        return _NO_NAMESPACES
    if _sysctl("kernel/apparmor_restrict_unprivileged_userns") == 1:
        return _APPARMOR
    return container_fix_hint(output)


def container_fix_hint(output: str) -> str:
    return _PROC_MASKED if "mount proc" in output else _NAMESPACES_FORBIDDEN


def _sysctl(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", name).read_text())
    except (OSError, ValueError):
        return None


def _has_users() -> bool:
    lines = (line.split() for line in Path("/proc/self/uid_map").read_text().splitlines())
    return sum(int(count) for _, _, count in lines) >= _MIN_USER_IDS


def _effective_capabilities() -> int:
    found = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 16) if found else 0

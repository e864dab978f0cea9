"""What makes an ordinary file run programs: scripts of a package's installation, drivers in git's attributes. Pure."""

import json
import re
from collections.abc import Collection, Iterable

_LIFECYCLE = (
    "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "prepublishOnly",
    "publish", "postpublish", "prepack", "postpack", "dependencies", "preuninstall", "uninstall", "postuninstall",
)  # fmt: skip
_DRIVER = re.compile(rb"(?:^|[ \t])(filter|diff|merge)=(\S+)")
_UNREADABLE = "cannot be read as JSON"


def install_scripts(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    """Those that are not as they were in any of the versions before, in words."""
    try:
        now = _scripts(content)
    except (ValueError, RecursionError):
        return (_UNREADABLE,)
    known = list(_readable(before))
    return tuple(
        f"the script `{name}` runs when it is installed or published"
        for name in _LIFECYCLE
        if name in now and not any(older.get(name) == now[name] for older in known)
    )


def _readable(before: Iterable[bytes]) -> Iterable[dict[str, object]]:
    for content in before:
        try:
            yield _scripts(content)
        except (ValueError, RecursionError):
            continue


def _scripts(content: bytes) -> dict[str, object]:
    package = json.loads(content.decode("utf-8-sig"))
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def drivers(lines: Iterable[bytes]) -> tuple[str, ...]:
    """What these lines of git's attributes would have git run, in words."""
    found = (match for line in lines for match in _DRIVER.finditer(line))
    named = (b"=".join(match.groups()).decode(errors="backslashreplace") for match in found)
    return tuple(f"`{name}` has git run a program" for name in dict.fromkeys(named))

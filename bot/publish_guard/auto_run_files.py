"""What makes an ordinary file run programs: scripts of a package's installation, drivers in git's attributes. Pure."""

import json
import re
from collections.abc import Collection, Iterable

_LIFECYCLE = (
    "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "prepublishOnly",
    "publish", "postpublish", "prepack", "postpack", "dependencies", "preuninstall", "uninstall", "postuninstall",
)  # fmt: skip
_DRIVER = re.compile(rb"(?:^|[ \t])(filter|diff|merge)=(\S+)")
_OF_GIT = {
    b"diff": frozenset(
        b"ada bash bibtex cpp csharp css dts elixir fortran fountain golang html java kotlin markdown matlab objc"
        b" pascal perl php python ruby rust scheme tex".split()
    ),
    b"merge": frozenset(b"text binary union".split()),
}
"""It brings these along, and they run nothing."""
_LARGE_FILES = b"lfs"
"""Where it is installed it is set up for every repository; what it obeys in one (`.lfsconfig`) is protected."""
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
    found = (match.groups() for line in lines for match in _DRIVER.finditer(line))
    runs = (pair for pair in found if pair[1] != _LARGE_FILES and pair[1] not in _OF_GIT.get(pair[0], ()))
    named = (b"=".join(pair).decode(errors="backslashreplace") for pair in runs)
    return tuple(f"`{name}` has git run a program" for name in dict.fromkeys(named))

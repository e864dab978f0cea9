"""Auto-run files: what runs programs when a package is installed or built, or when git reads the files. Pure."""

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from bot.text.limited_toml import parse_toml

_LIFECYCLE = (
    "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish", "prepublishOnly",
    "publish", "postpublish", "prepack", "postpack", "dependencies", "preuninstall", "uninstall", "postuninstall",
)  # fmt: skip
_DRIVER = re.compile(rb"(?:^|[ \t])(filter|diff|merge)=(\S+)")
_BUILT_IN_DRIVERS = {
    b"diff": frozenset(
        b"ada bash bibtex cpp csharp css dts elixir fortran fountain golang html java kotlin markdown matlab objc"
        b" pascal perl php python ruby rust scheme tex".split()
    ),
    b"merge": frozenset(b"text binary union".split()),
}
"""Drivers built into git, which run no program."""
_GIT_LFS = b"lfs"
"""Installed by the user, not by the repository; its settings file (`.lfsconfig`) is protected."""
_CODING_BYTES, _LONGEST_LINE, _SHOWN_LETTERS = 400, 2000, 80
_UNREADABLE = "cannot be read as JSON"
_Programs = Mapping[str, object]
_ARCHIVES = (
    ".tgz", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip", ".whl", ".egg", ".jar", ".war", ".aar",
    ".gem", ".crate", ".nupkg", ".phar", ".vsix", ".node", ".so", ".dylib", ".dll", ".exe", ".class", ".pyc", ".pyd",
    ".wasm",
)  # fmt: skip
_INSTALL_SCRIPT = re.compile(rb""""hasInstallScript"\s*:\s*true|\brequiresBuild\s*:\s*true""")
_BACK_ENDS = frozenset(
    [
        "setuptools.build_meta",
        "setuptools.build_meta:__legacy__",
        "hatchling.build",
        "flit_core.buildapi",
        "poetry.core.masonry.api",
        "pdm.backend",
        "uv_build",
        "maturin",
        "mesonpy",
        "scikit_build_core.build",
    ]
)
"""Build back ends that are packages; any other may be a file of the repository."""
_BUILD_HOOKS = (
    ("hatch", "build", "hooks"), ("hatch", "metadata", "hooks"), ("poetry", "build"), ("pdm", "build", "custom-hook"),
    ("pdm", "build", "run-setuptools"), ("setuptools", "cmdclass"),
)  # fmt: skip
"""Tables of pyproject.toml below `tool` that name programs of the repository, which a build runs."""
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)")
_ORDINARY_REQUIREMENT = re.compile(
    r"""\s*(?:[a-z0-9][\w.-]*\s*(?:\[[\w.,\s-]*\])?[\w\s.,*+!=<>~()-]*(?:;[\w\s.,*+!=<>~()'"-]*)?)?"""
    r"(?:\s*--hash=\w+:\w+)*\s*(?:(?:^|\s)\#.*)?|-[rc]\s+[\w./-]+\s*|--require-hashes\s*",
    re.IGNORECASE,
)
"""A package of the registry that the operator chose, with its versions; anything else chooses where it comes from."""
_OTHER_CODING = re.compile(rb"\#.*coding[:=]\s*(?!utf-?8)", re.IGNORECASE)
_BUILT = "is a program that runs when it is installed or built"


def changed_install_scripts(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    """Install scripts that differ from every earlier version, in words."""
    try:
        now = _scripts(content)
    except (ValueError, RecursionError):
        return (_UNREADABLE,)
    known = list(_parse_readable(before, _scripts))
    return tuple(
        f"the script `{name}` runs when it is installed or published"
        for name in _LIFECYCLE
        if name in now and not any(older.get(name) == now[name] for older in known)
    )


def changed_build(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    """Programs of the repository that a pyproject.toml has builds run, unless an earlier version had them, in words."""
    now, known = _programs_of_build(content), [_programs_of_build(older) for older in before]
    return tuple(
        f"`{name}` runs when it is installed or built"
        for name, value in now.items()
        if not any(older.get(name) == value for older in known)
    )


def _programs_of_build(content: bytes) -> Mapping[str, object]:
    try:
        found = parse_toml(content.decode("utf-8-sig"))
    except ValueError:
        return {"a file that cannot be read": content}
    system = found.get("build-system")
    system = system if isinstance(system, dict) else {}
    programs: dict[str, object] = {}
    if "backend-path" in system or system.get("build-backend", "setuptools.build_meta") not in _BACK_ENDS:
        programs["build-system"] = system
    for names in _BUILD_HOOKS:
        if (table := _nested(found.get("tool"), names)) is not None:
            programs[".".join(("tool", *names))] = table
    return programs


def _nested(table: object, names: Iterable[str]) -> object:
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table


def changed_composer(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    """Scripts and plugins of composer.json that differ from every earlier version, in words."""
    try:
        now = _programs_of_composer(content)
    except (ValueError, RecursionError):
        return (_UNREADABLE,)
    known = list(_parse_readable(before, _programs_of_composer))
    return tuple(
        f"`{name}` runs programs when it is installed"
        for name, value in now.items()
        if value and not any(older.get(name) == value for older in known)
    )


def _programs_of_composer(content: bytes) -> Mapping[str, object]:
    package = json.loads(content.decode("utf-8-sig"))
    return {
        "scripts": _nested(package, ("scripts",)),
        "allow-plugins": _nested(package, ("config", "allow-plugins")),
    }


def changed_locks(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    """Says that a lock file lists more packages with install scripts than every earlier version."""
    count = len(_INSTALL_SCRIPT.findall(content))
    if count <= max((len(_INSTALL_SCRIPT.findall(older)) for older in before), default=0):
        return ()
    return ("a package that it lists runs a script when it is installed",)


def changed_requirements(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    """Lines that have pip fetch or build something from elsewhere, unless an earlier version had them, in words."""
    known = {line for older in before for line in _unusual_requirements(older)}
    return tuple(
        f"`{line[:_SHOWN_LETTERS]}` chooses where a package comes from"
        for line in dict.fromkeys(_unusual_requirements(content))
        if line not in known
    )


def _unusual_requirements(content: bytes) -> Iterable[str]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ["a line that cannot be read"]
    if _OTHER_CODING.search(content, 0, _CODING_BYTES):
        return ["a line in another encoding"]
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    return [line.strip() for line in lines if len(line) > _LONGEST_LINE or not _ORDINARY_REQUIREMENT.fullmatch(line)]


def changed_program(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    return () if content in before else (_BUILT,)


def changed_archive(content: bytes, before: Collection[bytes]) -> tuple[str, ...]:
    return () if content in before else ("contains files that are not shown here and may run when it is installed",)


PROGRAM_FILES: Mapping[str, Callable[[bytes, Collection[bytes]], tuple[str, ...]]] = {
    "package.json": changed_install_scripts,
    "package.json5": changed_program,
    "package.yaml": changed_program,
    "package-lock.json": changed_locks,
    "npm-shrinkwrap.json": changed_locks,
    "pnpm-lock.yaml": changed_locks,
    "pyproject.toml": changed_build,
    "setup.py": changed_program,
    "binding.gyp": changed_program,
    "extconf.rb": changed_program,
    "composer.json": changed_composer,
    "sitecustomize.py": changed_program,
    "usercustomize.py": changed_program,
    ".pnp.cjs": changed_program,
    ".pnp.loader.mjs": changed_program,
}
"""Function that names the programs in such a file, by file name in canonical spelling."""


def programs_finder(name: str) -> Callable[[bytes, Collection[bytes]], tuple[str, ...]] | None:
    """Returns the function that names the programs in a file of this name; None if tools run none from it."""
    if found := PROGRAM_FILES.get(name):
        return found
    if name.endswith(".pth"):
        return changed_program
    if _REQUIREMENTS.fullmatch(name):
        return changed_requirements
    return changed_archive if name.endswith(_ARCHIVES) else None


def _parse_readable(before: Iterable[bytes], parse: Callable[[bytes], _Programs]) -> Iterable[_Programs]:
    for content in before:
        with contextlib.suppress(ValueError, RecursionError):
            yield parse(content)


def _scripts(content: bytes) -> dict[str, object]:
    package = json.loads(content.decode("utf-8-sig"))
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def git_drivers(lines: Iterable[bytes]) -> tuple[str, ...]:
    """Drivers in these .gitattributes lines that make git run a program, in words."""
    found = (match.groups() for line in lines for match in _DRIVER.finditer(line))
    runs = (pair for pair in found if pair[1] != _GIT_LFS and pair[1] not in _BUILT_IN_DRIVERS.get(pair[0], ()))
    named = (b"=".join(pair).decode(errors="backslashreplace") for pair in runs)
    return tuple(f"`{name}` makes git run a program" for name in dict.fromkeys(named))

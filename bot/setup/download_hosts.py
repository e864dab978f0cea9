"""Where a repository downloads from: as its own files say, as its tools are set, as it was seen to try. Pure.

Rule: no host is known here by name. What is found is shown to a person, who allows it. Every pattern is linear: it
begins at one place of a line, or before something rare, and takes no step back over more than a word.
"""

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.domain.setup_plan import Step
from bot.setup.repository_files import Files, table

Ask = Callable[[Sequence[str]], str]
"""Runs a program, out of all files, and gives what it prints."""

_MOST = 20
_HOST = r"([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?)"
_ADDRESS = re.compile(r"https\\?://(?:[^@/\s\"']*@)?" + _HOST)
_PLACE = re.compile(r"(?:reach )" + _HOST + r"(?: \(\d+ times\))?")
_WORD = re.compile(_HOST)
_MARK = r"[^\n]*?https\\?://"
_NAMED = {
    "package-lock.json": r'"resolved":\s*"https://',
    "npm-shrinkwrap.json": r'"resolved":\s*"https://',
    "pnpm-lock.yaml": r"tarball:\s*https://",
    "yarn.lock": rf"^[ \t]*+resolved{_MARK}",
    "bun.lock": r'"https://',
    ".npmrc": rf"^[ \t]*+(?:@[^:\s]++:)?registry[ \t]*+={_MARK}",
    ".yarnrc": rf"^(?>[^\n]*?registry){_MARK}",
    ".yarnrc.yml": rf"^[ \t]*+npmRegistryServer:{_MARK}",
    "uv.lock": r"(?:registry|url|git) = \"https://",
    "poetry.lock": r"url = \"https://",
    "pdm.lock": r"url = \"https://",
    "pyproject.toml": rf"^[ \t]*+(?:url|index-url)[ \t]*+={_MARK}",
    "*requirements*.txt": rf"^[ \t]*+[^#\s]{_MARK}",
    "Cargo.lock": r"source = \"(?:sparse|git)\+https://",
    "Gemfile.lock": r"remote: https://",
    "Gemfile": rf"^[ \t]*+source\b{_MARK}",
    "pom.xml": r"<(?:repository|pluginRepository)>(?:(?!</?(?:repository|pluginRepository)>)[\s\S])*?<url>\s*+https://",
    "*.gradle": rf"^(?>[^\n]*?\b(?:url|uri)\b){_MARK}",
    "*.gradle.kts": rf"^(?>[^\n]*?\b(?:url|uri)\b){_MARK}",
    ".mvn/wrapper/maven-wrapper.properties": rf"^distributionUrl={_MARK}",
    "gradle/wrapper/gradle-wrapper.properties": rf"^distributionUrl={_MARK}",
}
"""By the file's name: what stands right before the address of something that is downloaded."""
_PATTERNS = {
    name: re.compile(f"(?:{before})" + r"(?:[^@/\s\"']*@)?" + _HOST, re.MULTILINE) for name, before in _NAMED.items()
}


def hosts_in(files: Files, steps: Sequence[Step]) -> tuple[str, ...]:
    """As lock files and the settings of tools beside them name them."""
    found = (host for step in steps for host in _named_beside(files, step))
    return _listed(found)


def silent_tools(files: Files, steps: Sequence[Step]) -> tuple[str, ...]:
    """Of what downloads something, where no file says from where."""
    silent = [step for step in steps if _downloads(files, step) and not hosts_in(files, [step])]
    return tuple(dict.fromkeys(tool for step in silent for tool in step.tools if tool in _ASKED))


def hosts_of(tools: Iterable[str], ask: Ask) -> tuple[str, ...]:
    """As these are set."""
    return _listed(word for tool in tools for word in _words(ask(_ASKED[tool])))


def hosts_refused(refused: Iterable[str]) -> tuple[str, ...]:
    """Out of what the gate says was tried."""
    return _listed(found[1].removesuffix(":443") for one in refused if (found := _PLACE.fullmatch(one)))


def missing(wanted: Iterable[str], allowed: Iterable[str]) -> tuple[str, ...]:
    plain = {_plain(one) for one in allowed}
    return tuple(dict.fromkeys(one for one in map(_plain, wanted) if one not in plain))


def as_setting(hosts: Iterable[str]) -> str:
    """A line that can be pasted."""
    return f"setup_hosts = {json.dumps(list(dict.fromkeys(hosts)))}"


_ASKED: Mapping[str, Sequence[str]] = {
    "npm": ("npm", "config", "get", "registry"),
    "pnpm": ("pnpm", "config", "get", "registry"),
    "yarn": ("yarn", "config", "get", "registry"),
    "go": ("go", "env", "GOPROXY", "GOSUMDB"),
    "python3": (
        "python3", "-c", "from pip._internal.models.index import PyPI as it; print(it.url, it.file_storage_domain)",
    ),
}  # fmt: skip
"""By tool: what tells where it downloads from when nobody says otherwise."""


def _named_beside(files: Files, step: Step) -> Iterator[str]:
    """In its lock files, and in what else in their folder says where things come from."""
    for folder in sorted({lock.rpartition("/")[0] for lock in step.locks}):
        inside = f"{folder}/" if folder else ""
        here = [name.removeprefix(inside) for name in sorted(files.names) if name.startswith(inside)]
        for known, pattern in _PATTERNS.items():
            for name in fnmatch.filter((one for one in here if one.count("/") == known.count("/")), known):
                yield from (found[1] for found in pattern.finditer(files.text(f"{inside}{name}")))
        yield from _in_composer(files.text(f"{inside}composer.lock"))


def _in_composer(text: str) -> Iterator[str]:
    """Only what is downloaded: it is full of other addresses."""
    locked = Files.of({"it": text}).top().json("it")
    for kind in ("packages", "packages-dev"):
        packages: Any = locked.get(kind)
        for one in packages if isinstance(packages, list) else ():
            if found := _ADDRESS.match(str(table(one, "dist").get("url", ""))):
                yield found[1]


def _downloads(files: Files, step: Step) -> bool:
    """Or is there nothing to download at all?"""
    for lock in step.locks:
        name, text = lock.rpartition("/")[2], files.text(lock)
        if name in {"package-lock.json", "npm-shrinkwrap.json"} and '"node_modules/' not in text:
            return False
        if "--no-index" in text:
            return False
    return True


def _words(said: str) -> Iterator[str]:
    for word in re.split(r"[\s,|]+", said):
        if found := _ADDRESS.match(word):
            yield found[1]
        elif "." in word and _WORD.fullmatch(word):
            yield word


def _listed(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_plain(one) for one in hosts if one != "localhost"))[:_MOST]


def _plain(host: str) -> str:
    return host.lower().removesuffix(":443")

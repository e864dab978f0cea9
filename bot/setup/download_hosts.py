"""Download hosts: detects which hosts setup needs, from lock files, tool settings and refused attempts. Pure.

Rules: no host is allowed by default; detected hosts are shown to a person, who allows them. And every pattern runs in
linear time: it begins at one place of a line, or before something rare, and does not step back over more than a word.
"""

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import RepositoryFiles, nested_table, strings

RunTool = Callable[[Sequence[str]], str]
"""Runs a program outside of any repository, and returns its output."""

_MAX_HOSTS = 20
_HOST = r"([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?)"
_ADDRESS = re.compile(r"https\\?://(?:[^@/\s\"']*@)?" + _HOST)
_REFUSED_HOST = re.compile(r"(?:reach )" + _HOST + r"(?: \(\d+ times\))?")
_BARE_HOST = re.compile(_HOST)
_REST = r"[^\n]*?https\\?://"
_PREFIXES = {
    "package-lock.json": r'"resolved":\s*"https://',
    "npm-shrinkwrap.json": r'"resolved":\s*"https://',
    "pnpm-lock.yaml": r"tarball:\s*https://",
    "yarn.lock": rf"^[ \t]*+resolved{_REST}",
    "bun.lock": r'"https://',
    ".npmrc": rf"^[ \t]*+(?:@[^:\s]++:)?registry[ \t]*+={_REST}",
    ".yarnrc": rf"^(?>[^\n]*?registry){_REST}",
    ".yarnrc.yml": rf"^[ \t]*+npmRegistryServer:{_REST}",
    "uv.lock": r"(?:registry|url|git) = \"https://",
    "poetry.lock": r"url = \"https://",
    "pdm.lock": r"url = \"https://",
    "*requirements*.txt": rf"^[ \t]*+[^#\s]{_REST}",
    "Cargo.lock": r"source = \"(?:sparse|git)\+https://",
    "Gemfile.lock": r"remote: https://",
    "Gemfile": rf"^[ \t]*+source\b{_REST}",
    "pom.xml": r"<(?:repository|pluginRepository)>(?:(?!</?(?:repository|pluginRepository)>)[\s\S])*?<url>\s*+https://",
    "*.gradle": rf"^(?>[^\n]*?\b(?:url|uri)\b){_REST}",
    "*.gradle.kts": rf"^(?>[^\n]*?\b(?:url|uri)\b){_REST}",
    ".mvn/wrapper/maven-wrapper.properties": rf"^distributionUrl={_REST}",
    "gradle/wrapper/gradle-wrapper.properties": rf"^distributionUrl={_REST}",
}
"""Text right before the address of a download, by file name."""
_PATTERNS = {
    name: re.compile(f"(?:{before})" + r"(?:[^@/\s\"']*@)?" + _HOST, re.MULTILINE) for name, before in _PREFIXES.items()
}


def hosts_in_files(files: RepositoryFiles, steps: Sequence[SetupStep]) -> tuple[str, ...]:
    """Hosts that the lock files, and the settings of tools beside them, name."""
    found = (host for step in steps for host in _hosts_beside_lock(files, step))
    return _unique(found)


def tools_without_hosts(files: RepositoryFiles, steps: Sequence[SetupStep]) -> tuple[str, ...]:
    """Tools that download something although no file names a host."""
    without_hosts = [step for step in steps if _downloads(files, step) and not hosts_in_files(files, [step])]
    return tuple(dict.fromkeys(tool for step in without_hosts for tool in step.tools if tool in _QUERY_COMMANDS))


def hosts_of_tools(tools: Iterable[str], run_tool: RunTool) -> tuple[str, ...]:
    """Hosts that the tools are configured for."""
    return _unique(word for tool in tools for word in _hosts_in_output(run_tool(_QUERY_COMMANDS[tool])))


def refused_hosts(refusals: Iterable[str]) -> tuple[str, ...]:
    """Hosts in the attempts that the proxy refused."""
    return _unique(found[1].removesuffix(":443") for one in refusals if (found := _REFUSED_HOST.fullmatch(one)))


def missing_hosts(needed: Iterable[str], allowed: Iterable[str]) -> tuple[str, ...]:
    plain = {_normalize(one) for one in allowed}
    return tuple(dict.fromkeys(one for one in map(_normalize, needed) if one not in plain))


def setup_hosts_line(hosts: Iterable[str]) -> str:
    """A line to paste into the settings file."""
    return f"setup_hosts = {json.dumps(list(dict.fromkeys(hosts)))}"


_QUERY_COMMANDS: Mapping[str, Sequence[str]] = {
    "npm": ("npm", "config", "get", "registry"),
    "pnpm": ("pnpm", "config", "get", "registry"),
    "yarn": ("yarn", "config", "get", "registry"),
    "go": ("go", "env", "GOPROXY", "GOSUMDB"),
    "python3": (
        "python3", "-c", "from pip._internal.models.index import PyPI as it; print(it.url, it.file_storage_domain)",
    ),
}  # fmt: skip
"""Command that prints the hosts that a tool downloads from by default, by tool."""


def _hosts_beside_lock(files: RepositoryFiles, step: SetupStep) -> Iterator[str]:
    """Searches its lock files, and the settings of tools in their folder."""
    for folder in sorted({lock.rpartition("/")[0] for lock in step.locks}):
        inside = f"{folder}/" if folder else ""
        here = [name.removeprefix(inside) for name in sorted(files.names) if name.startswith(inside)]
        for file_pattern, pattern in _PATTERNS.items():
            for name in fnmatch.filter(
                (one for one in here if one.count("/") == file_pattern.count("/")), file_pattern
            ):
                yield from (found[1] for found in pattern.finditer(files.text(f"{inside}{name}")))
        yield from _hosts_in_composer_lock(files.text(f"{inside}composer.lock"))
        yield from _hosts_in_pyproject(files.text(f"{inside}pyproject.toml"))


def _hosts_in_composer_lock(text: str) -> Iterator[str]:
    """Reads downloads only: the file is full of other addresses."""
    locked = RepositoryFiles.of({"it": text}).top().json("it")
    for kind in ("packages", "packages-dev"):
        packages: Any = locked.get(kind)
        for one in packages if isinstance(packages, list) else ():
            if found := _ADDRESS.match(str(nested_table(one, "dist").get("url", ""))):
                yield found[1]


def _hosts_in_pyproject(text: str) -> Iterator[str]:
    """Reads the indexes of uv, Poetry and PDM, and direct references: other tools have addresses that mean nothing."""
    manifest = RepositoryFiles.of({"it": text}).top().toml("it")
    uv, poetry, pdm = (nested_table(manifest, "tool", name) for name in ("uv", "poetry", "pdm"))
    listed = (one for tables in (uv.get("index"), poetry.get("source"), pdm.get("source")) for one in _tables(tables))
    direct = [*nested_table(uv, "sources").values(), *nested_table(poetry, "dependencies").values()]
    found = [one.get(key) for one in (*listed, *_tables(direct)) for key in ("url", "git")]
    for table in (uv, nested_table(uv, "pip")):
        found += [table.get("index-url"), *strings(table.get("extra-index-url"))]
    wanted = [nested_table(manifest, "project").get("dependencies")]
    wanted += nested_table(manifest, "project", "optional-dependencies").values()
    wanted += nested_table(manifest, "dependency-groups").values()
    found += [one.partition("@ ")[2].removeprefix("git+") for value in wanted for one in strings(value)]
    for address in found:
        if isinstance(address, str) and (host := _ADDRESS.match(address.strip())):
            yield host[1]


def _tables(value: object) -> Iterator[Mapping[str, Any]]:
    return (one for one in value if isinstance(one, Mapping)) if isinstance(value, list) else iter(())


def _downloads(files: RepositoryFiles, step: SetupStep) -> bool:
    """False if its lock files list nothing to download."""
    for lock in step.locks:
        name, text = lock.rpartition("/")[2], files.text(lock)
        if name in {"package-lock.json", "npm-shrinkwrap.json"} and '"node_modules/' not in text:
            return False
        if "--no-index" in text:
            return False
    return True


def _hosts_in_output(output: str) -> Iterator[str]:
    for word in re.split(r"[\s,|]+", output):
        if found := _ADDRESS.match(word):
            yield found[1]
        elif "." in word and _BARE_HOST.fullmatch(word):
            yield word


def _unique(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_normalize(one) for one in hosts if one != "localhost"))[:_MAX_HOSTS]


def _normalize(host: str) -> str:
    return host.lower().removesuffix(":443")

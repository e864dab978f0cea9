"""Which paths are not published without a person's word: what a repository is ruled by, and what runs by itself. Pure.

Rule: a path counts as any file system may spell it. A pattern that names a folder holds everything in it, one without a
slash holds in every folder.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bot.publish_guard.path_rules import canonical

PROTECTED = (".github/workflows/**", "CODEOWNERS")
"""What a project's setting says by default."""
ATTRIBUTES = ".gitattributes"
PACKAGE = "package.json"

_CLASSES = (
    ("runs in CI", (
        ".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".gitlab-ci*", ".gitlab/ci",
        ".circleci", "Jenkinsfile*", "azure-pipelines*", ".azure-pipelines", ".travis.y*ml", ".buildkite",
        "bitbucket-pipelines.y*ml", ".drone.y*ml", ".woodpecker*", "appveyor.y*ml", ".appveyor.y*ml", ".cirrus.*",
        ".semaphore", ".teamcity",
    )),
    ("says who owns what", ("/CODEOWNERS", "docs/CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS")),
    ("git obeys it", (
        ".git", ".gitmodules", ".lfsconfig", ".githooks", ".husky", "lefthook.*", ".lefthook*", "lefthook-local.*",
        ".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".overcommit.yml",
    )),
    ("agents obey it", (
        "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", "QWEN.md", ".agents",
        ".qwen", ".opencode", "opencode.json*", ".amazonq", ".augment*", ".trae", ".claude", ".claude.json",
        ".claude-plugin", ".mcp.json", ".cursor*", ".windsurf*", ".clinerules*", ".aider*", ".codex", ".gemini",
        ".roo*", ".continue", ".goosehints", ".junie", ".kiro", ".github/copilot-*", ".github/instructions",
        ".github/prompts", ".github/agents", ".github/chatmodes", ".github/skills",
    )),
    ("runs when the folder is opened", (
        "**/.vscode/tasks.json", "**/.vscode/settings.json", "**/.vscode/launch.json", "**/.vscode/mcp.json",
        "*.code-workspace", ".devcontainer", ".devcontainer.json", ".envrc", "**/.idea/runConfigurations",
        "*.run.xml", "**/.zed/tasks.json", "**/.zed/settings.json", ".gitpod.y*ml", ".exrc", ".nvim.lua",
        ".dir-locals.el",
    )),
    ("says where packages come from", (
        ".npmrc", ".yarnrc*", ".yarn/releases", ".yarn/plugins", ".pnpmfile.*", "pip.conf", "pip.ini", ".pypirc",
        "uv.toml", "**/.cargo/config*", "bunfig.toml", ".condarc", "nuget.config", "**/.mvn", "**/.bundle/config",
    )),
    ("Treehand's own settings", ("treehand.toml", ".github/treehand.toml")),
    ("rules the repository", (
        ".github/dependabot.y*ml", "renovate.json*", ".renovaterc*", ".github/renovate*", ".gitlab/renovate*",
        ".github/settings.y*ml", ".github/rulesets", ".github/branch-protection*", ".mergify*", ".github/mergify*",
        ".kodiak.toml", ".github/.kodiak.toml", ".bulldozer.yml",
    )),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """How far one project goes without asking."""

    protected: tuple[str, ...] = PROTECTED
    changed_files: int = 500
    changed_mb: float = 20.0
    told: tuple[str, ...] = ()
    """More, that the repository itself names."""
    forbidden: tuple[str, ...] = ()
    """And what the issue itself asks to leave alone."""


_FORBIDDEN = "forbidden by the issue"


def why_protected(path: str, rules: Rules) -> str:
    """What it is that a person is to look at; empty: nothing."""
    path = canonical(path)
    found = _judged(path, rules.protected, rules.told)
    return found or (_FORBIDDEN if _judged(path, rules.forbidden, ()) else "")


def holds_protected(path: str, rules: Rules) -> bool:
    """Whatever takes the place of this folder takes the place of what is protected in it."""
    parts = canonical(path).split("/")
    named = (*rules.protected, *rules.told, *rules.forbidden)
    wanted = (*named, *(pattern for _, patterns in _CLASSES for pattern in patterns))
    return any(_leads_to(parts, pattern) for pattern in wanted)


@lru_cache(maxsize=100_000)
def _judged(path: str, protected: tuple[str, ...], told: tuple[str, ...]) -> str:
    classes = (*_CLASSES, ("protected by the settings", protected), ("protected by the repository", told))
    named = ((why, _matcher(patterns)) for why, patterns in classes if patterns)
    return next((why for why, matcher in named if matcher.fullmatch(path)), "")


@lru_cache(maxsize=64)
def _matcher(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_expression(pattern)})" for pattern in patterns), re.DOTALL)


def _expression(pattern: str) -> str:
    parts = _parts(pattern)
    anywhere = "(?:.*/)?" if "/" not in pattern.rstrip("/") else ""
    inside = "" if parts[-1:] == ["**"] else "(?:/.*)?"
    return anywhere + "".join(_of_parts(parts)) + inside


def _of_parts(parts: Sequence[str]) -> list[str]:
    last = len(parts) - 1
    return [
        ("(?:.*/)?" if at < last else ".*") if part == "**" else _of_name(part) + ("/" if at < last else "")
        for at, part in enumerate(parts)
    ]


def _of_name(name: str) -> str:
    """What stands between two stars is taken where it comes first: then nothing is ever tried twice."""
    first, *others = ("".join(map(_of_letter, part)) for part in (canonical(name) or name).split("*"))
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>[^/]*?{part})" for part in middle if part) + f"[^/]*{last}"


def _of_letter(letter: str) -> str:
    return "[^/]" if letter == "?" else re.escape(letter)


def _parts(pattern: str) -> list[str]:
    parts = [part for part in pattern.strip().split("/") if part]
    return [part for at, part in enumerate(parts) if part != "**" or parts[at - 1 : at] != ["**"]]


def _leads_to(parts: Sequence[str], pattern: str) -> bool:
    """Is it one of the folders that the pattern goes through?"""
    wanted = _parts(pattern)
    anywhere = wanted[0] == "**"
    through = wanted[1:-1] if anywhere else wanted[:-1]
    through = through[: through.index("**")] if "**" in through else through
    depths = range(1, len(through) + 1) if anywhere else [len(parts)]
    return any(
        depth <= len(through)
        and depth <= len(parts)
        and all(re.fullmatch(_of_name(name), part) for name, part in zip(through, parts[-depth:], strict=False))
        for depth in depths
    )

"""Protected paths: files that rule a repository or run by themselves, published only with a person's approval. Pure.

Rule: paths are compared in canonical spelling. A pattern that names a folder covers everything in it; a pattern without
a slash applies in every folder.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from bot.publish_guard.path_rules import canonical

PROTECTED = (".github/workflows/**", "CODEOWNERS")
"""Default of the project setting."""
ATTRIBUTES = ".gitattributes"

_CLASSES = (
    ("runs in CI", (
        ".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".gitlab-ci*", ".gitlab/ci",
        ".circleci", "Jenkinsfile*", "azure-pipelines*", ".azure-pipelines", ".travis.y*ml", ".buildkite",
        "bitbucket-pipelines.y*ml", ".drone.y*ml", ".woodpecker*", "appveyor.y*ml", ".appveyor.y*ml", ".cirrus.*",
        ".semaphore", ".teamcity", "buildspec.y*ml", "cloudbuild.y*ml", "cloudbuild.json", ".tekton", ".zuul*",
        "zuul.d", "zuul.y*ml", "netlify.toml", "vercel.json", "atlantis.y*ml", ".readthedocs.y*ml", "readthedocs.y*ml",
        "action.y*ml", "wercker.y*ml", ".scrutinizer.y*ml", ".codeship*", "codeship-*.y*ml", ".prow*", ".harness",
        ".builds", ".build.y*ml", "render.y*ml", "amplify.y*ml", "skaffold.y*ml", "fly.toml",
        "bitrise.y*ml", "codemagic.y*ml", ".onedev-buildspec*", "dagger.json",
    )),
    ("names code owners", ("/CODEOWNERS", "docs/CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS")),
    ("changes what git does", (
        ".git", ".gitmodules", ".lfsconfig", ".githooks", ".husky", "lefthook.*", ".lefthook*", "lefthook-local.*",
        ".pre-commit-config.y*ml", ".pre-commit-hooks.y*ml", ".overcommit.yml",
    )),
    ("instructs agents", (
        "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", "QWEN.md", ".agents",
        ".qwen", ".opencode", "opencode.json*", ".amazonq", ".augment*", ".trae", ".claude", ".claude.json",
        ".claude-plugin", ".mcp.json", ".cursor*", ".windsurf*", ".clinerules*", ".aider*", ".codex", ".gemini",
        "AGENT.md", "CRUSH.md", "WARP.md", ".rules", ".crush*", ".warp", ".factory", ".amp", ".openhands", ".ruler",
        ".sourcegraph", ".cody", ".tabnine*", ".devin", ".replit", "replit.md",
        ".roo*", ".continue", ".goosehints", ".junie", ".kiro", ".github/copilot-*", ".github/instructions",
        ".github/prompts", ".github/agents", ".github/chatmodes", ".github/skills",
    )),
    ("runs when the folder is opened", (
        "**/.vscode/tasks.json", "**/.vscode/settings.json", "**/.vscode/launch.json", "**/.vscode/mcp.json",
        "*.code-workspace", ".devcontainer", ".devcontainer.json", ".envrc", "**/.idea/runConfigurations",
        "*.run.xml", "**/.zed/tasks.json", "**/.zed/settings.json", ".gitpod.y*ml", ".exrc", ".nvim.lua",
        ".dir-locals.el", ".gdbinit", ".lldbinit", ".vimrc", ".nvimrc", ".lvimrc", ".local.vimrc",
        "mise.toml", ".mise*.toml", ".mise", ".config/mise*", ".rtx.toml", "devbox.json", ".autoenv*",
        ".tool-versions", "**/.idea/watcherTasks.xml", "**/.idea/startup.xml", "**/.idea/tools", ".fleet", ".nova",
        ".helix", ".nvim", ".lazy.lua", ".neoconf.json", "*.sublime-project", ".tmuxinator.y*ml", ".vim",
    )),
    ("runs when a tool is started in the folder", (
        ".pdbrc", ".irbrc", ".pryrc", ".rprofile", ".renviron", ".ghci", ".iex.exs", ".octaverc", ".bazelrc",
        ".bazelversion", "**/tools/bazel", ".pythonrc", ".justrc",
    )),
    ("chooses the source of packages", (
        ".npmrc", ".yarnrc*", ".yarn/releases", ".yarn/plugins", ".pnpmfile.*", "pip.conf", "pip.ini", ".pypirc",
        "uv.toml", "**/.cargo/config*", "bunfig.toml", ".condarc", "nuget.config", "**/.mvn", "**/.bundle/config",
        ".yarn/sdks", "gradle-wrapper.properties", "gradle-wrapper.jar", "maven-wrapper.*", "mvnw", "mvnw.cmd",
        "gradlew", "gradlew.bat", ".gemrc", ".netrc", "_netrc",
    )),
    ("Treehand's own settings", ("treehand.toml", ".github/treehand.toml", "/.worktreeinclude")),
    ("configures the repository", (
        ".github/dependabot.y*ml", "renovate.json*", ".renovaterc*", ".github/renovate*", ".gitlab/renovate*",
        ".github/settings.y*ml", ".github/rulesets", ".github/branch-protection*", ".mergify*", ".github/mergify*",
        ".kodiak.toml", ".github/.kodiak.toml", ".bulldozer.yml",
    )),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishRules:
    """Limits and protected paths of one project."""

    protected: tuple[str, ...] = PROTECTED
    max_changed_files: int = 0
    """A change of more files needs a person's approval; 0: no limit."""
    max_changed_mb: float = 0.0
    """A change with more new content needs a person's approval; 0: no limit."""
    repository_protected: tuple[str, ...] = ()
    """Paths named by the repository's own settings."""
    forbidden: tuple[str, ...] = ()
    """Paths that the issue says to leave alone."""
    uploads_lfs: bool = True
    """New objects of Git LFS can reach the remote."""


_FORBIDDEN = "forbidden by the issue"


def why_protected(path: str, rules: PublishRules) -> str:
    """Returns why a path is protected; empty if it is not."""
    path = canonical(path)
    found = _find_reason(path, rules.protected, rules.repository_protected)
    return found or (_FORBIDDEN if _find_reason(path, rules.forbidden, ()) else "")


def holds_protected(path: str, rules: PublishRules) -> bool:
    """True if a protected path lies in this folder: replacing the folder would replace it."""
    parts = canonical(path).split("/")
    named = (*rules.protected, *rules.repository_protected, *rules.forbidden)
    wanted = (*named, *(pattern for _, patterns in _CLASSES for pattern in patterns))
    return any(_leads_to(parts, pattern) for pattern in wanted)


@lru_cache(maxsize=100_000)
def _find_reason(path: str, protected: tuple[str, ...], by_repository: tuple[str, ...]) -> str:
    classes = (*_CLASSES, ("protected by the settings", protected), ("protected by the repository", by_repository))
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
    """Text between two stars matches at its first occurrence only, so matching takes linear time."""
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
    """True if the path is a folder that the pattern passes through."""
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

"""Where tokens, keys and Apps are made, and what they must be allowed: what `treehand init` says at its end."""

import subprocess
from collections.abc import Iterator

from bot.cli.init_settings import Draft
from bot.settings import Settings
from bot.settings.credentials import github_token, has_key, has_linear_key
from bot.setup.build import prospect_of

PERMISSIONS = (
    ("Contents", "read and write", "branches"),
    ("Issues", "read and write", "labels, the progress comment, answers"),
    ("Pull requests", "read and write", "drafts, answers to reviews"),
    ("Commit statuses", "read", "what is red"),
    ("Actions", "read", "the end of red logs"),
)
"""Of a fine-grained token. GitHub adds `Metadata: read`; it gives none of them the permission Checks."""
_GH_SECONDS = 10


def site_of(api_url: str) -> str:
    """Where people look at the server that this API belongs to."""
    return api_url.removesuffix("/api/v3").replace("://api.", "://", 1)


def advice(draft: Draft, settings: Settings) -> Iterator[str]:
    """What is still to be set before work can begin, and where it is had. Secrets go into the environment, or files."""
    if draft.on_github and not draft.app and not github_token(settings):
        yield from _about_github(draft, site_of(settings.github.api_url))
    if draft.tracker == "linear" and not has_linear_key(settings):
        yield "A key for Linear: https://linear.app/settings/account/security (Personal API keys: read and write)"
        yield "    export LINEAR_API_KEY=..."
    yield from _about_setup(settings)
    if not has_key(settings):
        yield "A key for the agent's model:"
        yield "    export ANTHROPIC_API_KEY=...        (or CLAUDE_CODE_OAUTH_TOKEN, from `claude setup-token`)"


def _about_setup(settings: Settings) -> Iterator[str]:
    """What is installed before an agent begins may download, once somebody has said from where."""
    (project,) = settings.projects
    prospect = prospect_of(settings, project)
    if prospect and prospect.hosts:
        yield f"Before an agent begins, I run: {'; '.join(map(str, prospect.recipe.steps))}"
        yield "It downloads packages. To allow that, put this at the end of your settings:"
        yield f"    [sandbox]\n      {prospect.setting}"


def _about_github(draft: Draft, site: str) -> Iterator[str]:
    host = site.partition("://")[2]
    if _gh_knows(host):
        yield f"gh is signed in to {host} as you. To try it out, Treehand can use that:"
        yield f"    export GITHUB_TOKEN=$(gh auth token --hostname {host})"
        yield "For longer, a token of its own, which can do less:"
    else:
        yield "A token for GitHub:"
    yield f"    {site}/settings/personal-access-tokens/new"
    owner, _, name = draft.repository.partition("/")
    yield f"    Resource owner {owner}; only the repository {name}; permissions:"
    yield from (f"        {name + ':':<17}{level:<16}{purpose}" for name, level, purpose in PERMISSIONS)
    yield "    export GITHUB_TOKEN=..."
    yield "An App of its own can do the same and see all checks, too: `treehand init --app` makes one."


def _gh_knows(host: str) -> bool:
    """Whether it would tell a token. The token itself is let go of at once."""
    try:
        said = subprocess.run(
            ["gh", "auth", "token", "--hostname", host], capture_output=True, timeout=_GH_SECONDS, check=False,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return said.returncode == 0 and bool(said.stdout.strip())

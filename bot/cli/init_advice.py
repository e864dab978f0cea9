"""Advice at the end of `treehand init`: where to create tokens, keys and Apps, and the permissions they need."""

from collections.abc import Iterator

from bot.cli.init_settings import SettingsDraft
from bot.settings.credentials import github_token, has_key, has_linear_key
from bot.settings.schema import Settings
from bot.setup.build import preview_setup

PERMISSIONS = (
    ("Contents", "read and write", "branches"),
    ("Issues", "read and write", "labels, the progress comment, replies"),
    ("Pull requests", "read and write", "drafts, replies to reviews"),
    ("Commit statuses", "read", "failed checks"),
    ("Actions", "read", "the last lines of failed logs"),
)
"""Permissions of a fine-grained token. GitHub adds `Metadata: read` and offers no token the permission Checks."""


def site_of(api_url: str) -> str:
    """Returns the address of the web pages of a GitHub server."""
    return api_url.removesuffix("/api/v3").replace("://api.", "://", 1)


def advice(draft: SettingsDraft, settings: Settings) -> Iterator[str]:
    """Names the credentials and hosts that are missing; secrets go into the environment or into files."""
    if draft.on_github and not (draft.app or draft.token_file or github_token(settings)):
        site = site_of(settings.github.api_url)
        yield from explain_github_token(draft, site)
        yield "    export GITHUB_TOKEN=..."
        yield f"    export GITHUB_TOKEN=$(gh auth token --hostname {site.partition('://')[2]})   (if gh is signed in)"
    if draft.tracker == "linear" and not has_linear_key(settings):
        yield "A key for Linear: https://linear.app/settings/account/security (Personal API keys: read and write)"
        yield "    export LINEAR_API_KEY=..."
    yield from _setup_advice(settings)
    if not has_key(settings):
        yield "A key for the agent's model:"
        yield "    export ANTHROPIC_API_KEY=...        (or CLAUDE_CODE_OAUTH_TOKEN, from `claude setup-token`)"


def _setup_advice(settings: Settings) -> Iterator[str]:
    (project,) = settings.projects
    preview = preview_setup(settings, project)
    if preview and preview.services.lines:
        yield "Services:"
        yield from (f"    {line}" for line in preview.services.lines)
    if preview and preview.hosts:
        yield f"Before an agent starts, Treehand runs: {'; '.join(map(str, preview.plan.steps))}"
        yield "These commands download packages. To allow that, add this at the end of your settings:"
        yield f"    [sandbox]\n      {preview.setting}"


def explain_github_token(draft: SettingsDraft, site: str) -> Iterator[str]:
    """Says where to create a token, and which permissions it needs."""
    yield "A token for GitHub:"
    yield f"    {site}/settings/personal-access-tokens/new"
    owner, _, name = draft.repository.partition("/")
    yield f"    Resource owner {owner}; only the repository {name}; permissions:"
    yield from (f"        {name + ':':<17}{level:<16}{purpose}" for name, level, purpose in PERMISSIONS)
    yield "A GitHub App can read all checks as well: `treehand init --app` creates one."

"""Lock files: the command that writes each of them again, without network. Pure."""

from collections.abc import Sequence

_COMMANDS = {
    "package-lock.json": "npm install --package-lock-only --offline",
    "npm-shrinkwrap.json": "npm install --package-lock-only --offline",
    "pnpm-lock.yaml": "pnpm install --lockfile-only --offline",
    "yarn.lock": "yarn install --offline",
    "bun.lock": "bun install --lockfile-only",
    "uv.lock": "uv lock --offline",
    "poetry.lock": "poetry lock",
    "pdm.lock": "pdm lock --update-reuse",
    "Cargo.lock": "cargo update --workspace --offline",
    "go.sum": "go mod tidy",
    "composer.lock": "composer update --lock",
    "Gemfile.lock": "bundle lock --local",
}


def rewrite_commands(texts: Sequence[str]) -> dict[str, str]:
    """Commands by the name of the lock file, for those that the texts mention."""
    return {name: command for name, command in _COMMANDS.items() if any(name in text for text in texts)}

"""CI versions: reads which versions of languages a job of the workflows sets up. Pure."""

import re
from collections.abc import Iterator

from bot.domain.setup_plan import WantedVersion
from bot.setup.declared.workflow_jobs import WorkflowJob, WorkflowStep
from bot.setup.repository_files import RepositoryFiles

_INPUTS = {
    "actions/setup-python": ("python", "python-version"),
    "astral-sh/setup-uv": ("python", "python-version"),
    "actions/setup-node": ("node", "node-version"),
    "actions/setup-go": ("go", "go-version"),
    "actions/setup-java": ("java", "java-version"),
    "actions/setup-dotnet": ("dotnet", "dotnet-version"),
    "ruby/setup-ruby": ("ruby", "ruby-version"),
    "shivammathur/setup-php": ("php", "php-version"),
    "dtolnay/rust-toolchain": ("rust", "toolchain"),
}
_VERSION = re.compile(r"[0-9]{1,4}(?:\.(?:[0-9]{1,4}|x)){0,3}")
_NEWEST = re.compile(r"stable|latest|lts.{0,20}|node|current|beta|nightly|.{0,20}head", re.IGNORECASE)
"""A job that tests with one of these as well asks for no version. Ruby's `head` comes besides its releases."""
_MOST_VERSIONS = 12


def find_ci_versions(job: WorkflowJob, files: RepositoryFiles) -> Iterator[WantedVersion]:
    """Yields one preferred version, or several to choose from, for each tool."""
    for step in job.steps:
        if step.uses in _INPUTS:
            tool, key = _INPUTS[step.uses]
            given = step.inputs.get(key, step.version if tool == "rust" else "")
            texts = job.values(given) if given else _in_file(step, f"{key}-file", files)
            versions = [text.removeprefix("v") for listed in texts for text in listed.split()]
            if tool != "ruby" and any(_NEWEST.fullmatch(one) for one in versions):
                continue
            plain = list(dict.fromkeys(one for one in versions if _VERSION.fullmatch(one)))[:_MOST_VERSIONS]
            if plain:
                yield WantedVersion(tool, " || ".join(plain), str(job))


def _in_file(step: WorkflowStep, key: str, files: RepositoryFiles) -> tuple[str, ...]:
    """The first line of a file that the step names."""
    return tuple(files.text(step.inputs.get(key, "").removeprefix("./")).strip().splitlines()[:1])

"""Prints the notes of a release: its section of CHANGELOG.md. Refuses a tag that does not fit what it would release."""

import argparse
import re
import sys
from pathlib import Path

from bot import __version__
from release.artifacts import absolute_links

ROOT = Path(__file__).resolve().parents[1]


def main(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="release.notes", description="Print the notes of a release.")
    parser.add_argument("tag", help="tag of the release, such as v1.2.3")
    parser.add_argument("--repository", default="", metavar="URL", help="address that relative links are based on")
    options = parser.parse_args(words)
    notes = notes_for(options.tag, __version__, (ROOT / "CHANGELOG.md").read_text())
    repository = options.repository.rstrip("/")
    print(absolute_links(notes, repository, options.tag) if repository else notes)
    return 0


def notes_for(tag: str, version: str, changelog: str) -> str:
    """Raises SystemExit, with what to do, unless the tag, the version and the newest section belong together."""
    if tag != f"v{version}":
        raise SystemExit(f"The tag {tag} is not v{version}, the version in bot/__init__.py. Change one of them.")
    heading, _, section = changelog.partition("\n## ")[2].partition("\n")
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
        raise SystemExit(f"The newest heading of CHANGELOG.md is `## {heading}`: make it `## {version} (YYYY-MM-DD)`.")
    notes = section.partition("\n## ")[0].strip()
    if not notes:
        raise SystemExit(f"CHANGELOG.md says nothing about {version}.")
    return notes


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

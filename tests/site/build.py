"""Builds the site from the same pages that GitHub shows.

Copies the pages and the files that they link to, in the same folders, so that relative links need no change.
"""

import re
import shutil
from itertools import pairwise
from pathlib import Path

from mkdocs.commands.build import build as build_site
from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]
_CONFIG = Path(__file__).parent / "mkdocs.yml"
_LINK = re.compile(r"(?:\]\(|\bsrc(?:set)?=\")([^)\s\"#]+)")
_ITEM = re.compile(r"(?:> )?(?:[-*]|\d+\.) ")


def build(folder: Path) -> Path:
    """Returns the folder of the site. Raises mkdocs' Abort if there is any warning."""
    pages, site = folder / "pages", folder / "site"
    shutil.rmtree(pages, ignore_errors=True)
    decisions = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "deploy" / "README.md"]:
        _copy(page, pages)
        if page.parent.name == "adr" and page.name != "README.md":
            decisions.append(str(page.relative_to(ROOT)))
    config = load_config(str(_CONFIG), docs_dir=str(pages), site_dir=str(site), strict=True)
    config.nav[-1]["Contribute"][-1]["Decisions"] += sorted(decisions)
    build_site(config)
    return site


def _copy(page: Path, pages: Path) -> None:
    text = page.read_text()
    target = pages / page.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(with_lists(text))
    for link in _LINK.findall(text):
        linked = (page.parent / link).resolve()
        if "://" not in link and linked.is_file() and linked.suffix != ".md":
            copied = pages / linked.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(linked, copied)


def with_lists(text: str) -> str:
    """Adds the blank line between a paragraph and its list that Python-Markdown needs and GitHub does not."""
    lines = text.splitlines()
    out = lines[:1]
    for before, line in pairwise(lines):
        if _ITEM.match(line) and before.strip(" >") and not _ITEM.match(before) and not before.startswith((" ", ">  ")):
            out.append(">" if line.startswith(">") else "")
        out.append(line)
    return "\n".join(out) + "\n"

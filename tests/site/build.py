"""Builds the site from the same pages that GitHub shows.

Copies the pages and the files that they link to, in the same folders, so that relative links need no change.
"""

import re
import shutil
from pathlib import Path

from mkdocs.commands.build import build as build_site
from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]
_CONFIG = Path(__file__).parent / "mkdocs.yml"
_LINK = re.compile(r"(?:\]\(|\bsrc(?:set)?=\")([^)\s\"#]+)")
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")


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
    """Writes lists as Python-Markdown reads them: below a blank line, with four spaces before what an item holds."""
    out: list[str] = []
    before, indent, fenced = "", 0, False
    for line in text.splitlines():
        quote, body = re.fullmatch(r"((?:> ?)?)(.*)", line).groups()
        fenced ^= body.startswith("```")
        item = None if fenced else _ITEM.match(body)
        if item and before and not indent:
            out.append(quote.rstrip())
        if item:
            indent = 4 - len(item[0])
        elif body and not body.startswith(" "):
            indent = 0
        spaces = " " * indent if body.startswith(" ") else ""
        out.append(quote + spaces + body)
        before = body
    return "\n".join(out) + "\n"

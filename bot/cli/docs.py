"""`treehand docs`: prints a page of the documentation, or the list of all pages."""

import argparse
import difflib
from pathlib import Path

from bot.cli.output import print_text
from bot.errors import CannotStart
from bot.system.documentation import documentation_folder, find_pages


def docs(options: argparse.Namespace) -> None:
    folder = documentation_folder()
    if folder is None:
        raise CannotStart("this installation has no documentation. Install Treehand from its wheel or from a clone.")
    pages = find_pages(folder)
    if not options.page:
        print_text(f"Pages in {folder}. To read one: treehand docs PAGE")
        width = max(map(len, pages))
        for name, page in pages.items():
            print_text(f"  {name.ljust(width)}  {_title_of(page)}")
    elif options.page in pages:
        print_text(pages[options.page].read_text(encoding="utf-8").rstrip())
    else:
        raise CannotStart(f"there is no page {options.page!r}.{_hint(options.page, list(pages))}")


def _title_of(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("#").strip()


def _hint(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name.removesuffix(".md").removeprefix("docs/"), names, n=1)
    return f" Did you mean `{close[0]}`?" if close else " `treehand docs` lists all pages."

"""The site: every link between pages has a target, every page is in the menu, and nothing is loaded from elsewhere."""

import re

import pytest

from tests.site.build import build, with_lists


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build(tmp_path_factory.mktemp("site"))


def test_the_site_is_built_without_a_warning_and_has_every_page(site):
    assert {"index.html", "docs/start.html", "deploy/index.html", "docs/adr/index.html"} <= {
        str(page.relative_to(site)) for page in site.rglob("*.html")
    }


def test_the_site_loads_nothing_from_other_servers(site):
    pages = list(site.rglob("*.html"))
    loaded = re.compile(r"<(?:script|img|source|iframe|link)\b[^>]*?(?:src|srcset|href)=\"?(https?:[^\"\s>]+)")
    assert len(pages) > 80
    assert {(page.name, url) for page in pages for url in loaded.findall(page.read_text())} == set()
    assert [page.name for page in pages if 'class="mermaid"' in page.read_text()] == []  # its script would be loaded


@pytest.mark.parametrize(
    ("on_github", "on_the_site"),
    [
        ("One:\n- a\n  more\n- b\n", "One:\n\n- a\n    more\n- b\n"),
        ("> One\n> - a\n>   - b\n", "> One\n>\n> - a\n>     - b\n"),
        ("1. a\n\n       code\n\nTwo\n\n    code\n", "1. a\n\n        code\n\nTwo\n\n    code\n"),
        ("```\na\n- b\n```\n", "```\na\n- b\n```\n"),
    ],
)
def test_lists_are_the_same_on_the_site_as_on_github(on_github, on_the_site):
    assert with_lists(on_github) == on_the_site

"""Text of a page on GitHub as a reader sees it: rendered by GitHub's own parser and displayed like in a browser."""

import random
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import cmarkgfm
import html5lib  # type: ignore[import-untyped]
from cmarkgfm.cmark import Options

from bot.text.html_tags import SHOWN_AS_TEXT
from bot.text.read_untrusted import read

_NEVER_SHOWN = SHOWN_AS_TEXT | {
    "applet", "audio", "canvas", "datalist", "dialog", "head", "map", "math", "noscript", "object", "optgroup", "rp",
    "select", "svg", "template", "video",
}  # fmt: skip
_BITS = (
    "<!-- @ -->", "<!--", "-->", "--!>", "@", "@", "@", "<div>", "</div>", "<div hidden>", "<p hidden>", "</p>",
    "<pre>", "</pre>", "<span hidden>", "</span>", "<b hidden>", "</b>", "<b title='@'>", '<b title="', "'", '"', ">",
    "<a href=x title='@'>", "</a>", "`", "`", "``", "```", "~~~", "\n", "\n", "\n", "\n\n", "\n\n", "    ", "  ", "- ",
    "- ", "> ", "> ", "1. ", "10) ", "* ", "\\", "word", "<http://a`b>", "<a`b©c.d>", "http://a.b/", "www.a.b/",
    "![@](x)", "![@](x 'y')", "[x](y '@')", '[x](y "', "')", "](", "[x](", "[", "]", "![", "(", ")", "[@]: z", "[@]",
    "[x][@]", "[a]", "[a]: y '@'", "[a]: y\n'@'", "[@\\]]: y", "[^n]", "[^n]: @", "[^m]: @", "| ", "|",
    "| a | b |\n|---|---|\n", "| @ |", "\n|-|\n", ":-", "---", "===", "# ", "<?", "?>", "<? @ ?>", "<![CDATA[", "]]>",
    "<!X", "<!x", "&#8203;", "&amp;", "\t", "  \t", "~~~ x @", "``` x @", "<br>", "<img alt='@' src=x>", "<table>",
    "<td>", "</table>", "<script>", "</script>", "<textarea>", "<picture>", "<source srcset='@'>", "</picture>",
    "<details>", "<summary>", "</details>", "<template>", "</template>", "<select>", "<svg>", "<p>", "</ ", "</", "<x",
    "<x ", "=", "a=", "a='", "/>", "/", "\\`", "\\<", "\\[", "\\]", "<!-->", "<!--->", "!", "{", "*", "**", "_",
)  # fmt: skip
"""Marks of Markdown and HTML, alone and as they belong together; `@` stands for a phrase."""


def shown_on_github(text: str) -> str:
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    page = cmarkgfm.github_flavored_markdown_to_html(text, options=options)
    tree = html5lib.parse(f"<!DOCTYPE html><body>{page}", treebuilder="etree", namespaceHTMLElements=False)
    return " ".join("".join(_shown(tree.find("body"))).split())


def _shown(element: Element) -> list[str]:
    if not isinstance(element.tag, str) or element.tag in _NEVER_SHOWN or "hidden" in element.attrib:
        return []
    parts = [element.text or ""]
    for child in element:
        parts += [*_shown(child), child.tail or ""]
    return parts


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A random text with phrases in it that can be found again."""

    text: str
    phrases: tuple[str, ...]


def made_up(chance: random.Random) -> MadeUp:
    parts: list[str] = []
    phrases: list[str] = []
    for _ in range(chance.randint(2, 14)):
        bit = chance.choice(_BITS)
        if "@" in bit:
            phrases.append(f"evil{len(phrases)}x deed{len(phrases)}x")
            bit = bit.replace("@", phrases[-1])
        parts.append(bit.replace("©", "@"))
    return MadeUp("".join(parts), tuple(phrases))


def is_read_as_shown(made: MadeUp) -> bool:
    """Returns True if an agent reads only text that a person sees, also after reading it twice."""
    once = read.__wrapped__(made.text).text
    told = [phrase for phrase in made.phrases if phrase in once]
    before, after = (shown_on_github(one) if told else "" for one in (made.text, once))
    return all(phrase in before and phrase in after for phrase in told)

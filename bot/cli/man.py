"""The manual page, out of the same parser that reads what people type. Rule: pure; roff in man(7)'s own macros."""

import argparse
from collections.abc import Iterator

_EXITS = (
    ("0", "fine"),
    ("1", "it could not be done, and the reason is printed"),
    ("2", "a mistake in the settings, or in what was typed"),
    ("3", "a bug"),
    ("130", "interrupted by Ctrl-C"),
)
_VARIABLES = (
    ("TREEHAND_CONFIG", "The settings file, when --config names none."),
    ("TREEHAND_SECTION__KEY", "Any setting: it goes before the settings file."),
    ("GITHUB_TOKEN, LINEAR_API_KEY", "How Treehand signs in. Secrets are never read from the settings file."),
    ("ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN", "How the agent signs in to its model."),
)
_FILES = (
    ("treehand.toml", "The settings, in the folder that commands are typed in. `treehand init` writes them."),
    ("~/.local/state/treehand", "Database, mirrors, worktrees and transcripts, unless state_dir says otherwise."),
)


def manual(top: argparse.ArgumentParser, version: str) -> str:
    return "\n".join([*_head(top, version), *_commands(top, top.prog), *_tail(top)]) + "\n"


def _head(top: argparse.ArgumentParser, version: str) -> Iterator[str]:
    yield f'.TH {top.prog.upper()} 1 "" "{top.prog} {version}" "User Commands"'
    yield ".SH NAME"
    yield f"{top.prog} \\- {_plain('from a labelled issue to a draft pull request')}"
    yield ".SH SYNOPSIS"
    yield f".B {top.prog}"
    yield r"[\fIOPTION\fR] \fICOMMAND\fR [\fIARGUMENT\fR ...]"
    yield ".SH DESCRIPTION"
    yield _plain(top.description or "")
    yield ".SH OPTIONS"
    yield from _arguments(top)
    yield ".SH COMMANDS"


def _commands(made: argparse.ArgumentParser, name: str) -> Iterator[str]:
    """Those that do something, in the order in which they were added."""
    groups = [action for action in made._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    for group in groups:
        for word, inner in group.choices.items():
            yield from _commands(inner, f"{name} {word}")
    if not groups:
        operands = [_operand(action) for action in made._actions if not action.option_strings]  # noqa: SLF001
        yield f".SS {' '.join([_plain(name), *operands])}"
        yield f"{_plain(made.description or '')}."
        yield from _arguments(made, helped=True)


def _operand(action: argparse.Action) -> str:
    shown = f"\\fI{_plain(str(action.metavar or action.dest))}\\fR"
    return f"[{shown}]" if action.nargs == argparse.OPTIONAL else shown


def _arguments(made: argparse.ArgumentParser, *, helped: bool = False) -> Iterator[str]:
    """`helped`: that there is `--help` has been said."""
    for action in made._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction) or (helped and action.dest == "help"):  # noqa: SLF001
            continue
        if action.option_strings or action.help:
            yield ".TP"
            yield _names(action) if action.option_strings else _operand(action)
            yield _plain(action.help or "")


def _names(action: argparse.Action) -> str:
    names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in action.option_strings)
    if action.nargs == 0:
        return names
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    return f"{names} \\fI{_plain(str(value))}\\fR"


def _tail(top: argparse.ArgumentParser) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    yield from _list(_EXITS)
    yield ".SH ENVIRONMENT"
    yield from _list(_VARIABLES)
    yield ".SH FILES"
    yield from _list(_FILES)
    yield ".SH SEE ALSO"
    yield ".BR git (1),"
    yield ".BR bwrap (1)"
    yield ".PP"
    yield f".B {_plain(f'{top.prog} COMMAND --help')}"
    yield "tells the same about one command."


def _list(rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, meaning in rows:
        yield ".TP"
        yield f"\\fB{_plain(name)}\\fR"
        yield _plain(meaning)


def _plain(text: str) -> str:
    """Words that roff takes for words: no escapes, no macros; a hyphen that can be copied."""
    shown = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("%%", "%")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown

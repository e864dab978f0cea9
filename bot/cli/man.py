"""`treehand man`: prints the manual page, made from the argument parser, in roff with the macros of man(7)."""

import argparse
from collections.abc import Iterator

from bot import __version__
from bot.cli.main import parser

_EXIT_CODES = (
    ("0", "success"),
    ("1", "failure; the reason is printed"),
    ("2", "an error in the settings or in the arguments"),
    ("3", "a bug"),
    ("130", "interrupted by Ctrl-C"),
)
_VARIABLES = (
    ("TREEHAND_CONFIG", "The settings file, unless --config names one."),
    ("TREEHAND_SECTION__KEY", "Any setting; a variable overrides the settings file."),
    ("GITHUB_TOKEN, LINEAR_API_KEY", "Credentials of Treehand. Secrets are never read from the settings file."),
    ("ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN", "Credentials of the agent for its model."),
)
_FILES = (
    ("treehand.toml", "The settings, in the current folder or in one above. `treehand init` writes this file."),
    ("~/.config/treehand/treehand.toml", "The settings in all other folders, often a link to such a file."),
    ("~/treehand-state", "Database, mirrors, worktrees and transcripts, unless state_dir names another folder."),
)


def man(_options: argparse.Namespace) -> None:
    print(render_manual(parser(), __version__), end="")


def render_manual(top: argparse.ArgumentParser, version: str) -> str:
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


def _commands(command: argparse.ArgumentParser, name: str) -> Iterator[str]:
    """Descends into groups such as `issue`; keeps the order of the parser."""
    groups = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    for group in groups:
        for word, inner in group.choices.items():
            yield from _commands(inner, f"{name} {word}")
    if not groups:
        operands = [_operand(action) for action in command._actions if not action.option_strings]  # noqa: SLF001
        yield f".SS {' '.join([_plain(name), *operands])}"
        yield f"{_plain(command.description or '')}."
        yield from _arguments(command, skip_help=True)


def _operand(action: argparse.Action) -> str:
    shown = f"\\fI{_plain(str(action.metavar or action.dest))}\\fR"
    return f"[{shown}]" if action.nargs == argparse.OPTIONAL else shown


def _arguments(command: argparse.ArgumentParser, *, skip_help: bool = False) -> Iterator[str]:
    for action in command._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction) or (skip_help and action.dest in {"help", "config"}):  # noqa: SLF001
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
    yield from _list(_EXIT_CODES)
    yield ".SH ENVIRONMENT"
    yield from _list(_VARIABLES)
    yield ".SH FILES"
    yield from _list(_FILES)
    yield ".SH SEE ALSO"
    yield ".BR git (1),"
    yield ".BR bwrap (1)"
    yield ".PP"
    yield f".B {_plain(f'{top.prog} COMMAND --help')}"
    yield "prints the same for one command."


def _list(rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for name, meaning in rows:
        yield ".TP"
        yield f"\\fB{_plain(name)}\\fR"
        yield _plain(meaning)


def _plain(text: str) -> str:
    """Escapes roff: no macros, and hyphens that can be copied."""
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("%%", "%")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped

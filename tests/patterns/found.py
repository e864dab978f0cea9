"""Finds every regular expression of the program by the calls that take one, with how it is used.

Rule: `re` is imported by that name and its functions are called by theirs, so that no call is missed.
"""

import ast
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.patterns.ambiguity import Slow, slowness_of

ROOT = Path(__file__).parents[2]
_CALLS = frozenset({"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"})
_NO_CALLS = frozenset({"escape", "Pattern", "Match", "error"})
_ANCHORED = frozenset({"match", "fullmatch"})


@dataclass(frozen=True, slots=True)
class Place:
    """A call in the source, by the name that its expression gets or by the expression itself."""

    file: str
    line: int
    name: str

    @property
    def key(self) -> str:
        """Survives a change of lines."""
        return f"{self.file}: {self.name}"


@dataclass(frozen=True, slots=True)
class Found:
    place: Place
    pattern: str | bytes
    flags: int
    uses: frozenset[str]
    """Methods called with it; all of them if that cannot be known."""

    def slowness(self) -> Slow | None:
        ways = {(use not in _ANCHORED, use == "fullmatch") for use in self.uses}
        made = (slowness_of(self.pattern, self.flags, is_searched=one, is_whole=other) for one, other in sorted(ways))
        return next(filter(None, made), None)


@dataclass(frozen=True, slots=True)
class Everything:
    found: list[Found]
    unknown: list[Place]
    """Calls whose expression is made while the program runs."""
    odd: list[Place]
    """Uses of `re` that are no calls, and imports under another name."""


def patterns_in(folder: Path) -> Everything:
    everything = Everything([], [], [])
    for file in sorted(folder.rglob("*.py")):
        module = _Module.read(file)
        everything.odd.extend(module.odd())
        for call in module.calls():
            if made := module.evaluate(call):
                everything.found.append(Found(module.place(call), *made, module.uses(call)))
            else:
                everything.unknown.append(module.place(call))
    return everything


@dataclass(frozen=True, slots=True)
class _Module:
    file: str
    tree: ast.Module
    values: Mapping[str, object]
    names: Mapping[ast.expr, str]
    """The name that the value of an expression gets."""

    @classmethod
    def read(cls, file: Path) -> "_Module":
        inside = file.relative_to(ROOT)
        tree = ast.parse(file.read_text())
        name = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
        names = {value: name for node in ast.walk(tree) for value, name in _named(node)}
        is_user = any(isinstance(node, ast.Name) and node.id == "re" for node in ast.walk(tree))
        return cls(str(inside), tree, vars(importlib.import_module(name)) if is_user else {}, names)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        name = ast.unparse(node.args[0]) if isinstance(node, ast.Call) else ast.unparse(node)
        return Place(self.file, node.lineno, self.names.get(node, name) if isinstance(node, ast.expr) else name)

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and _function(node) in _CALLS)

    def evaluate(self, call: ast.Call) -> tuple[str | bytes, int] | None:
        """The expression and its flags; None if it is made of what only the running program has."""
        function = _function(call)
        flags = [word.value for word in call.keywords if word.arg == "flags"]
        if function not in {"split", "sub", "subn"}:
            flags += call.args[1 if function == "compile" else 2 :]
        try:
            pattern = self._value(call.args[0])
            return pattern, sum(int(self._value(one)) for one in flags)
        except NameError:
            return None

    def _value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), self.file, "eval"), dict(self.values))

    def uses(self, call: ast.Call) -> frozenset[str]:
        if (function := _function(call)) != "compile":
            return frozenset({function})
        name = self.names.get(call, "")
        if not name.startswith("_"):
            return _CALLS
        users = {id(node.value): node.attr for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        loads = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == name)
        found = {users.get(id(node), "") for node in loads if isinstance(node.ctx, ast.Load)}
        return frozenset(found) if found and found <= _CALLS else _CALLS

    def odd(self) -> Iterator[Place]:
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        for node in ast.walk(self.tree):
            match node:
                case ast.ImportFrom(module="re") | ast.Import(names=[ast.alias(name="re", asname=str())]):
                    yield self.place(node)
                case ast.Attribute(value=ast.Name(id="re"), attr=name):
                    if not (name.isupper() or name in _NO_CALLS or (name in _CALLS and id(node) in called)):
                        yield self.place(node)


def _function(call: ast.Call) -> str:
    """The function of `re` that it calls; empty for others."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="re"), attr=name):
            return name
        case _:
            return ""


def _named(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            if value:
                yield value, name
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=True):
                yield value, ast.unparse(target)
        case _:
            return

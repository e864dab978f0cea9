"""Reads the attack marks of all tests from their source, without importing them."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]


def attack_marks() -> set[tuple[str, str]]:
    """Returns threats and attempts."""
    return {mark for file in TESTS.rglob("*.py") for mark in _marks_of(ast.parse(file.read_text()))}


def _marks_of(module: ast.Module) -> Iterator[tuple[str, str]]:
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.attack":
            threat, attempt = (_text_of(word, constants) for word in node.args)
            yield threat, attempt


def _text_of(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    """Returns the text of a constant, a name or a sum of them."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return _text_of(constants[name], constants)
        case ast.BinOp(left=left, right=right):
            return _text_of(left, constants) + _text_of(right, constants)
    raise ValueError(ast.unparse(node))

"""Restores what a test changed of its process: no later test of the same worker may depend on it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def restored() -> Iterator[None]:
    """Restores the umask, the folder and the environment."""
    umask, folder, environment = os.umask(0o022), os.open(".", os.O_RDONLY), dict(os.environ)
    os.umask(umask)
    try:
        yield
    finally:
        os.umask(umask)
        os.fchdir(folder)
        os.close(folder)
        _restore(environment)


def _restore(environment: dict[str, str]) -> None:
    changed = {name for name, _ in {*environment.items()} ^ {*os.environ.items()}}
    for name in changed - {"PYTEST_CURRENT_TEST"}:
        if name in environment:
            os.environ[name] = environment[name]
        else:
            del os.environ[name]

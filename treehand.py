"""`treehand`: starts the command. Rule: it imports the package `bot` beside this file, and no other of that name."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_PACKAGE = Path(__file__).with_name("bot")


def main() -> int:
    _import_own_package()
    from bot.cli.main import main as call_command

    return call_command()


def _import_own_package() -> None:
    """Another `bot` may come first on PYTHONPATH, or may have overwritten files of ours in a shared environment."""
    spec = spec_from_file_location("bot", _PACKAGE / "__init__.py")
    if spec is None or spec.loader is None or not _is_ours(_PACKAGE / "__init__.py"):
        raise SystemExit(
            f"treehand: {_PACKAGE} is missing, or belongs to another Python package that is also called `bot`.\n"
            "Install Treehand into an environment of its own: `uv tool install treehand` or `pipx install treehand`."
        )
    package = module_from_spec(spec)
    sys.modules["bot"] = package
    spec.loader.exec_module(package)


def _is_ours(file: Path) -> bool:
    return file.is_file() and 'DISTRIBUTION = "treehand"' in file.read_text(encoding="utf-8", errors="replace")

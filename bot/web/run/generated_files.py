"""Generated files: names of files that a program writes; the run page keeps their diffs closed. Pure."""

_LOCK_FILES = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "go.sum"}
    | {"Pipfile.lock", "Cargo.lock", "composer.lock", "Gemfile.lock", "flake.lock", "requirements.lock"}
)
_SUFFIXES = (".min.js", ".min.css", ".map", ".snap", ".pb.go", "_pb2.py", ".g.dart", ".svg")
_FOLDERS = ("dist", "vendor", "node_modules", "__snapshots__", "generated")


def is_generated(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _LOCK_FILES or name.endswith(_SUFFIXES) or any(f"/{folder}/" in f"/{path}" for folder in _FOLDERS)

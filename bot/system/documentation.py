"""Documentation: finds the pages that messages name. The wheel installs them; a clone has them beside the package."""

import sysconfig
from collections.abc import Mapping
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[2]
_INSTALLED = Path("share", "doc", "treehand")
_OUTSIDE = {"readme": "README.md", "changes": "CHANGELOG.md", "deploy": "deploy/README.md"}


def documentation_folder() -> Path | None:
    """Returns None if the package was installed without its pages."""
    for folder in (_CLONE, Path(sysconfig.get_path("data")) / _INSTALLED):
        if (folder / "docs" / "security.md").is_file():
            return folder
    return None


def find_pages(folder: Path) -> Mapping[str, Path]:
    """Returns the file of each page under the name that `treehand docs` takes."""
    pages = {page.stem: page for page in (folder / "docs").glob("*.md") if page.name != "README.md"}
    others = {name: folder / path for name, path in _OUTSIDE.items()}
    return dict(sorted((pages | others).items()))

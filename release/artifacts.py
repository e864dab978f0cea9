"""Builds the wheel and the source archive in dist/. Rule: the same commit gives the same bytes, wherever and whenever.

Everything that differs between machines is replaced: times by that of the commit (or by SOURCE_DATE_EPOCH), modes by
0644 and 0755, owners by root. The wheel is built from the source archive, so that the archive is known to be complete.
`--repository URL` names the repository that publishes them: its address gets into the metadata, and relative links of
README.md, which lead nowhere on a page of PyPI, get absolute.
"""

import argparse
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NEEDED = ("bot", "deploy", "docs", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "requirements.lock")
_SECONDS = 300


def main(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="release.artifacts", description="Build the wheel and the source archive.")
    parser.add_argument("--repository", default="", metavar="URL", help="address of the repository that publishes them")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist", metavar="FOLDER")
    options = parser.parse_args(words)
    for built in build(ROOT, options.outdir, epoch=_epoch(), repository=options.repository.rstrip("/")):
        print(f"{built.stat().st_size // 1024:6,} KB  {built}")
    return 0


def build(source: Path, outdir: Path, *, epoch: int, repository: str) -> tuple[Path, Path]:
    """Returns the wheel and the source archive."""
    outdir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="treehand-build-") as place:
        staged = _stage(source, Path(place, "staged"))
        if repository:
            _name_repository(staged, repository)
        archive = _normalise(_run_build("--sdist", staged, epoch), outdir, epoch)
        unpacked = _unpack(archive, Path(place, "unpacked"))
        wheel = _run_build("--wheel", unpacked, epoch)
        return Path(shutil.copy(wheel, outdir)), archive


def _unpack(archive: Path, folder: Path) -> Path:
    """Returns the one folder in it."""
    folder.mkdir()
    subprocess.run(
        ["tar", "--extract", "-p", "--no-same-owner", "--file", str(archive), "--directory", str(folder)],
        check=True,
        timeout=_SECONDS,
    )
    (unpacked,) = folder.iterdir()
    return unpacked


def _epoch() -> int:
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    words = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(words, cwd=ROOT, capture_output=True, check=True, timeout=_SECONDS).stdout)


def _stage(source: Path, folder: Path) -> Path:
    """Copies what the release is built from: the files that git knows, so that nobody's secrets get into a release."""
    words = ["git", "ls-files", "-z", "--", *_NEEDED, "treehand.py"]
    listed = subprocess.run(words, cwd=source, capture_output=True, text=True, check=True, timeout=_SECONDS).stdout
    for name in filter(None, listed.split("\0")):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, copy)
    return folder


def _name_repository(staged: Path, repository: str) -> None:
    project, readme = staged / "pyproject.toml", staged / "README.md"
    version = re.findall(r'(?m)^__version__ = "(.+)"$', (staged / "bot" / "__init__.py").read_text())[0]
    urls = {
        "Repository": repository,
        "Documentation": f"{repository}/blob/v{version}/docs/README.md",
        "Changes": f"{repository}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Security": f"{repository}/security/policy",
    }
    lines = ["\n[project.urls]", *(f'{name} = "{url}"' for name, url in urls.items()), ""]
    project.write_text(project.read_text() + "\n".join(lines))
    readme.write_text(absolute_links(readme.read_text(), repository, f"v{version}"))


def absolute_links(markdown: str, repository: str, ref: str) -> str:
    """Pictures get the address of the file itself, and all other links that of its page."""
    raw, page = rf"\g<1>{repository}/raw/{ref}/", rf"\g<1>{repository}/blob/{ref}/"
    relative = r"(?![a-z]+:|//|/|#)(?:\./)?"
    linked = re.sub(rf'(\b(?:src|srcset)="|!\[[^\]]*\]\(){relative}', raw, markdown)
    return re.sub(rf'((?<!!)\[[^\]]*\]\(|\bhref="){relative}', page, linked)


def _run_build(kind: str, folder: Path, epoch: int) -> Path:
    outdir = folder.parent / kind.strip("-")
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8"}
    words = [sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", str(outdir), str(folder)]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS, umask=0o022
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    (built,) = outdir.iterdir()
    return built


def _normalise(archive: Path, outdir: Path, epoch: int) -> Path:
    """Writes the archive again, sorted, with one time, one owner and two modes."""
    content = io.BytesIO()
    with tarfile.open(archive) as made, tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as written:
        for member in sorted(made.getmembers(), key=lambda one: one.name):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mtime = member.type, member.size, epoch
            plain.mode = 0o755 if member.isdir() else 0o644
            plain.uname = plain.gname = "root"
            written.addfile(plain, made.extractfile(member))
    result = outdir / archive.name
    with result.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as compressed:
        compressed.write(content.getvalue())
    return result


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

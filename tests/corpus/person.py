"""A person with a clone of a real repository and the installed command; the model is scripted."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.demo.scripted_model import SayText, ScriptedModel, ScriptedReply, UseTool

_PROGRAM = Path(__file__).with_name("program.py")
_GIT = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
_HOSTS_LINE = re.compile(r"`setup_hosts = (\[[^\]`]*\])`")
_SECONDS = 2400.0


@dataclass(slots=True)
class Person:
    home: Path
    repository: Path
    tools: Sequence[str]
    hosts: Sequence[str] = ()

    @property
    def state_dir(self) -> Path:
        return self.home / "treehand-state" / self.repository.name

    def environment(self) -> dict[str, str]:
        kept = ("PATH", "LANG", "CORPUS_PRIVATE_REGISTRIES", *_certificates())
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.home),
            "PYTHONPATH": str(_PROGRAM.parents[2]),
            "TREEHAND_WEB__BIND": "",
            "TREEHAND_WEB__LOGIN": "never",
            "TREEHAND_LIMITS__FREE_DISK_GB": "0",
            "TREEHAND_LIMITS__VERIFY_ROUNDS": "0",
            **({"TREEHAND_SANDBOX__TOOLS": json.dumps(self.tools)} if self.tools else {}),
            **({"TREEHAND_SANDBOX__SETUP_HOSTS": json.dumps(self.hosts)} if self.hosts else {}),
        }

    async def treehand(self, *words: str, model: str = "", seconds: float = _SECONDS) -> str:
        """Returns everything that it prints."""
        reaching = {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "stand-in"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(_PROGRAM), *words, cwd=self.repository, env={**self.environment(), **reaching},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            out, _ = await asyncio.wait_for(process.communicate(), seconds)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                await process.wait()
        return out.decode(errors="replace")

    async def json(self, *words: str) -> dict[str, Any]:
        text = await self.treehand(*words, "--json")
        found: dict[str, Any] = json.loads(text[text.find("{") :] or "{}") if "{" in text else {}
        return found

    async def ask(self, title: str, files: Mapping[str, str]) -> tuple[str, float]:
        """Opens an issue and runs it. The agent writes these files. Returns its key and the seconds to its start."""
        said = await self.treehand("issue", "new", title, "--label", "ai")
        found = re.search(r"#(\d+)", said)
        return found[1] if found else "", await self.run(files)

    async def run(self, files: Mapping[str, str]) -> float:
        """Returns the seconds to the first request to the model; 0: there was none."""
        began, first = time.monotonic(), 0.0
        async with ScriptedModel(lambda request: _play(files, request.answers_since_user_text)) as model:
            running = asyncio.ensure_future(self.treehand("once", model=model.url))
            while not running.done():
                await asyncio.sleep(0.1)
                if model.requests and not first:
                    first = time.monotonic() - began
            await running
        return first


def _play(files: Mapping[str, str], answers: int) -> ScriptedReply:
    """Writes one file after the other. Their text travels in the command."""
    steps = [_write(path, text) for path, text in files.items()]
    return [steps[answers]] if answers < len(steps) else [SayText("Done.")]


def _write(path: str, text: str) -> UseTool:
    mark = "END-OF-FILE-OF-THE-CORPUS"
    return UseTool("Bash", {"command": f"cat > '{path}' <<'{mark}'\n{text.removesuffix(chr(10))}\n{mark}\n",
                            "description": f"Write {path}"})  # fmt: skip


def _certificates() -> Sequence[str]:
    return ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE")


def named_hosts(text: str) -> tuple[str, ...]:
    """The hosts in the line that the program tells people to add."""
    found = _HOSTS_LINE.findall(text)
    return tuple(json.loads(found[-1])) if found else ()


def clone(source: Path | str, folder: Path, commit: str) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "-q", str(source), str(folder)], check=True, capture_output=True)
    git(folder, "checkout", "-q", "-B", "main", commit or "HEAD")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *_GIT, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode(errors="replace")

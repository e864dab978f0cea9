"""Evidence of an agent is kept with its run, with the installed command and the real sandbox."""

import json

import pytest

from tests.program.conftest import Person, write
from tests.program.test_setup import commit, runs, works

PICTURE = "printf '\\211PNG\\r\\n\\032\\n0' > .treehand/evidence/login.html"
LEAVES = runs(
    f"mkdir -p .treehand/evidence/run && {PICTURE} && echo seen > .treehand/evidence/run/app.log; "
    "ln -s /etc/passwd .treehand/evidence/users.txt; printf '\\177ELF\\0' > .treehand/evidence/tool.png; "
    "cat .env > .treehand/evidence/env.txt; echo '!.treehand' > .gitignore; git add -f .; echo 'answer = 42' > app.py"
)


@pytest.fixture
async def labelled(ready: Person) -> Person:
    commit(ready, {".gitignore": ".env\n"})
    (ready.repository / ".env").write_text("API_TOKEN=s3cret-value-of-mine\n")
    await ready.does("issue", "new", "Look", "--label", "ai")
    return ready


async def test_evidence_is_kept_and_listed_and_is_in_no_commit(labelled):
    await works(labelled, LEAVES)
    told = await labelled.does("pr", "show", "2")
    assert "**Evidence:** left by the agent and not reviewed" in told
    assert "- `login.html` (image/png, 1 kB)" in told
    assert "- `run/app.log` (text/plain, 1 kB)" in told
    assert "users.txt`: not a file" in told
    assert "tool.png`: neither a known image format nor plain text" in told
    assert "env.txt`: contains `API_TOKEN` of `.env`" in told
    assert "s3cret-value-of-mine" not in told
    assert "b/.treehand" not in told, "it is in no commit"
    found = json.loads(await labelled.does("show", "1", "--json"))["evidence"]
    assert [(one["name"], one["media_type"], one["turn"]) for one in found] == [
        ("login.html", "image/png", "turn-1"),
        ("run/app.log", "text/plain; charset=utf-8", "turn-1"),
    ]
    shown = await labelled.does("show", "1")
    assert f"run/app.log (text/plain, 5 bytes) {found[1]['path']}" in shown


async def test_evidence_stays_after_the_worktree_is_removed_and_the_next_turn_adds_to_it(labelled):
    await works(labelled, LEAVES)
    await labelled.does("pr", "comment", "2", "again")
    again = "rm .treehand/evidence/login.html; echo more >> .treehand/evidence/run/app.log; echo 'answer = 43' > app.py"
    await works(labelled, runs(again))
    told = await labelled.does("pr", "show", "2")
    assert "- `run/app.log` (text/plain, 1 kB)" in told
    await labelled.does("pr", "merge", "2")
    await works(labelled, write("x"))
    found = json.loads(await labelled.does("show", "1", "--json"))["evidence"]
    assert [(one["name"], one["turn"]) for one in found] == [("login.html", "turn-1"), ("run/app.log", "turn-2")]

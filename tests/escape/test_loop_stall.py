"""T16: text of untrusted people, and text made to be slow to parse, does not stall the event loop."""

import pytest

from bot.domain.comment import Comment, CommentPlace, Remark
from bot.domain.issue import Person
from bot.engine.observe import read_texts
from bot.ports import ForgeView, TrackerView
from bot.services.github.comment_markers import without_marker
from tests.escape.github_scene import scene_at
from tests.escape.loop_stall import measured_stall
from tests.fakes.github import GitHubWorld, served
from tests.services.github.github_bot import REPO
from tests.text.hidden import LONG

MOST_SECONDS = 0.1
SIZE = 65_000
HOSTILE = (
    *list(LONG.values())[::3],
    f"a{' ' * SIZE}b",
    "\n" * SIZE,
    "<!-- treehand" * (SIZE // 13),
    f"/ai {'x ' * (SIZE // 2)}",
)


@pytest.fixture
async def scene(tmp_path):
    world = GitHubWorld(tmp_path / "github")
    world.add_repository(REPO, ana="write", **{"treehand-bot": "write"})
    world.user("eve")
    with served(world, validate=False) as github:
        async with scene_at(github, tmp_path) as scene:
            yield scene


@pytest.mark.attack(
    "T16", "Comments of a person without permission, each made to be slow to read, against the daemon's loop"
)
@pytest.mark.parametrize("author", ["eve", "ana"], ids=["a stranger", "a person who may push"])
async def test_t16_text_made_to_be_slow_to_parse_does_not_stall_the_loop(scene, author):
    scene.ask(body=HOSTILE[0][:SIZE])
    await scene.tick()
    assert scene.run, "the issue was read"
    for number, text in enumerate(HOSTILE):
        scene.world.comment(REPO, scene.number, f"{text[: SIZE - 9]} {number}", by=author)
    async with measured_stall() as stall:
        await scene.tick()
    assert stall.longest < MOST_SECONDS


@pytest.mark.attack("T16", "A comment of a person without permission, with hidden text and a command")
def test_t16_text_of_an_untrusted_person_is_not_parsed():
    remark = Remark("a.py", 1, "evil", hunk="evil", id="i1")
    said = Comment("c1", CommentPlace.ISSUE, Person("eve"), f"  /ai stop now\n{'evil ' * 9000}", 1.0, (remark,))
    [(seen, hidden)] = read_texts(TrackerView(comments={"k": (said,)}), ForgeView()).comments["k"]
    assert (seen.text, hidden) == ("/ai stop now", 0)
    assert seen.remarks == (Remark("", 1, "", id="i1"),)


def test_t16_removing_a_marker_removes_the_space_before_it():
    mark = f"<!-- treehand:a {'0' * 64} -->"
    assert without_marker(f"one \n\n{mark} two {mark}") == "one two"

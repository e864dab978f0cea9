"""A failed setup of a worktree counts as no failure of the run and is asked about at once."""

import json
from dataclasses import replace

from bot.domain.change import Objection
from bot.domain.run import Phase, WaitReason
from bot.domain.serialize import as_record, from_record
from bot.domain.setup_plan import SetupObstacle
from bot.domain.turn import Failure, TurnReport, TurnState
from bot.engine.actions import PostComment
from bot.engine.circuit_breaker import find_breaker
from bot.engine.withhold_secrets import SecretScreen
from tests.engine.test_circuit_breaker import endings
from tests.engine.test_decide import after, working

OBSTACLE = SetupObstacle(
    "ended with exit code 1",
    "npm ci",
    "frontend",
    "@ana fixes ＃7\n```\nnpm ERR! `x`",
    ("It tried to reach `packages.example.com:443`. `sandbox.setup_hosts` lists the hosts that setup may reach.",),
)
UNREADY = TurnReport(TurnState.FAILED, failure=Failure.UNREADY, detail=OBSTACLE.sentence, obstacle=OBSTACLE)


def test_a_failed_setup_is_asked_about_at_once_and_counts_as_no_failure():
    asked = after(working(turns_failures=1), turn=UNREADY)
    assert (asked.run.phase, asked.run.wait_reason, asked.run.turns.failures) == (Phase.ASKING, WaitReason.FAILED, 1)
    assert asked.run.reason.startswith("Setup of the worktree failed: `npm ci` in `frontend` ended with exit")
    assert asked.spend is None, "no agent has been there"


def test_the_question_shows_command_output_and_advice_with_all_markdown_disabled():
    said = [one for one in after(working(), turn=UNREADY).actions if isinstance(one, PostComment)]
    (text,) = (one.text for one in said if one.slug.startswith("ask-"))
    assert "````\n@ana fixes ＃7\n```\nnpm ERR! `x`\n````" in text
    assert (
        "- It tried to reach `packages.example.com:443`. `sandbox.setup_hosts` lists the hosts that setup may reach."
        in text
    )
    assert "`/ai retry` tries again." in text


def test_an_obstacle_without_a_command_is_shown_as_it_is():
    obstacle = SetupObstacle("copy: secrets in shop is a directory.")
    turn = TurnReport(TurnState.FAILED, failure=Failure.UNREADY, detail=obstacle.sentence, obstacle=obstacle)
    asked = after(working(), turn=turn)
    assert asked.run.reason == "Setup of the worktree failed: copy: secrets in shop is a directory."


def test_repeated_setup_failures_pause_no_project():
    assert find_breaker(endings(*[Failure.UNREADY] * 9)) is None


def test_a_setup_obstacle_is_screened_for_secrets_and_survives_a_restart():
    screening = SecretScreen(lambda text: ("A token",) if "ERR" in text else ())
    seen = screening.report(UNREADY).obstacle
    assert seen.output == "(withheld: it contains what looks like A token)"
    assert (seen.command, seen.folder, seen.problem, seen.advice) == (
        OBSTACLE.command,
        OBSTACLE.folder,
        OBSTACLE.problem,
        OBSTACLE.advice,
    )
    assert from_record(TurnReport, json.loads(json.dumps(as_record(UNREADY)))) == UNREADY


def test_setup_that_needs_network_for_an_agents_change_waits_for_its_own_approval():
    objection = Objection("setup", "package-lock.json", "an agent changed files that setup reads", "tree")
    turn = replace(UNREADY, obstacle=replace(OBSTACLE, objection=objection))
    asked = after(working(), turn=turn)
    assert (asked.run.phase, asked.run.wait_reason) == (Phase.ASKING, WaitReason.BLOCKED)
    assert asked.run.hold.objections == (objection,)
    (text,) = (one.text for one in asked.actions if isinstance(one, PostComment) and one.slug.startswith("ask-"))
    assert "- setup `package-lock.json`: an agent changed files that setup reads" in text
    assert f"If somebody with push access comments `/ai approve {asked.run.question}`, setup runs with network" in text
    assert from_record(TurnReport, json.loads(json.dumps(as_record(turn)))) == turn
    assert SecretScreen(lambda _: ()).report(turn).obstacle == turn.obstacle

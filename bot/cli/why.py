"""`treehand why`: explains why a run is not progressing."""

import json
from argparse import Namespace

from bot.cli.output import print_text
from bot.cli.settings import load_settings
from bot.control.issue_keys import find_run
from bot.domain.issue import Issue
from bot.domain.run import Phase
from bot.domain.turn import Progress, TurnReport, TurnState
from bot.engine.messages import command_replies
from bot.engine.observation import Observation
from bot.store.build import open_transcripts
from bot.system.clock import now
from bot.system.locks import daemon_pid, is_suspended


def why(options: Namespace) -> None:
    settings = load_settings(options)
    run = find_run(settings, options.key)
    action = open_transcripts(settings).last_action(run.id)
    pid = daemon_pid(settings.state_dir)
    suspended = pid if pid and is_suspended(pid) else ""
    if run.phase in {Phase.QUEUED, Phase.WORKING} and (suspended or not pid):
        text = command_replies.why_without_daemon(run, action, suspended)
    else:
        turn = TurnReport(TurnState.RUNNING, Progress(action=action))
        text = command_replies.why(run, Observation(now(), Issue(run.key, "", "", frozenset(), open=True), turn=turn))
    if options.json:
        print(json.dumps({"key": run.key, "phase": run.phase.value, "why": text}))
    else:
        print_text(text)

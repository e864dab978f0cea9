"""What the bot says about checks, conflicts, the base, and what it has tried itself. Pure text in, text out.

Names of checks and what they print come from outside: they are shown as such, and cut.
"""

import re
from collections.abc import Sequence

from bot.domain.policy import Policy
from bot.domain.pull_request import CheckState, FailedCheck, PullRequest
from bot.domain.run import Phase, Run
from bot.domain.turn import TurnReport
from bot.domain.verification import Counts, Standing, Trial, Verification
from bot.text.quote_untrusted import code, inline, line, quote

CHECKS = "**Checks:**"
"""How the paragraph of a pull request's text begins that is kept up to date."""
VERIFICATION = "**Verification:**"
"""The same, of what the host tried itself."""
EVIDENCE = "**Evidence:**"
"""The same, of what the agent left for people to see."""
_LISTED = 20
_MEGABYTE = 1_000_000
_URL = re.compile(r"https?://[^\s()<>\[\]\"'`]+")


def of_pull_request(pull: PullRequest) -> str:
    """Empty: there is nothing to say."""
    told = " ".join(part for part in (_checks(pull), _conflict(pull)) if part)
    failed = [_line(check) for check in pull.checks.failed[:_LISTED]] if pull.checks.state is CheckState.RED else []
    more = len(pull.checks.failed) - len(failed) if failed else 0
    return "\n".join([f"{CHECKS} {told}", *failed, *([f"- and {more} more"] if more else [])]) if told else ""


def of_verification(run: Run) -> str:
    """Empty: nothing was run."""
    found = run.verification
    if found is None:
        return ""
    lines = [_trial(trial, found) for trial in found.trials[:_LISTED]]
    more = len(found.trials) - len(lines)
    told = f"- {run.rounds} turn{'s' if run.rounds != 1 else ''} spent on what it found broken" if run.rounds else ""
    trouble = f"- not everything is known: {line(found.trouble)}" if found.trouble else ""
    done = "run by Treehand where the agent worked" if found.is_done else "not done"
    heading = f"{VERIFICATION} {done}, on `{found.commit[:10]}`."
    return "\n".join([heading, *lines, *([f"- and {more} more"] if more else []), *filter(None, (trouble, told))])


def of_evidence(run: Run, turn: TurnReport) -> str:
    """What it proves is for people to judge; empty: there is none."""
    if not turn.evidence:
        return ""
    lines = [f"- {code(one.name)} ({one.media_type.partition(';')[0]}, {_size(one.size)})" for one in turn.evidence]
    where = f"kept beside the repository, where `treehand show {run.key}` says"
    return "\n".join([f"{EVIDENCE} by the agent, not looked at by anybody; {where}.", *lines])


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= _MEGABYTE else f"{-(-count // 1000)} kB"


def broken(found: Verification) -> str:
    names = ", ".join(f"`{inline(str(trial))}`" for trial in found.broken[:_LISTED])
    return f"red, and not on the base: {names}; the agent is to mend it"


def _trial(trial: Trial, found: Verification) -> str:
    sign = "⚠️" if trial.counts and trial.counts.is_nothing else "✅"
    match trial.standing:
        case Standing.GREEN:
            return f"- {sign} {_result(trial)}"
        case Standing.RED:
            return f"- ❌ {_result(trial)}; {_as_before(found.find_before(trial), found.base)}"
        case Standing.UNKNOWN:
            return f"- ❔ `{inline(str(trial))}`: {line(trial.problem) or 'nothing is known'}"


def _result(trial: Trial) -> str:
    ended = "took too long, and was ended" if trial.is_late else f"exit code {trial.code}"
    parts = (ended, _counted(trial.counts), f"{trial.seconds:g} s")
    return f"`{inline(str(trial))}`: {', '.join(part for part in parts if part)}"


def _counted(counts: Counts | None) -> str:
    if counts is None:
        return ""
    if counts.is_nothing:
        return f"**0 tests ran**{f' ({counts.skipped} skipped)' if counts.skipped else ''}"
    told = ((counts.failed, "failed"), (counts.passed, "passed"), (counts.skipped, "skipped"))
    return ", ".join(f"{number} {word}" for number, word in told if number)


def _as_before(before: Trial | None, base: str) -> str:
    on = f"on the base `{base[:10]}`"
    match before.standing if before else Standing.UNKNOWN:
        case Standing.GREEN:
            return f"**broken by this change**: green {on}"
        case Standing.RED:
            return f"red {on} as well"
        case Standing.UNKNOWN:
            return f"how it is {on} is not known"


def checks_stay_red(broken: Sequence[FailedCheck], fixes: int, policy: Policy) -> str:
    names = ", ".join(f"`{inline(check.name)}`" for check in broken[:_LISTED])
    tried = f"{fixes} turn{'s' if fixes != 1 else ''} spent on that did not help, and more I am not to spend"
    why = tried if policy.ci_fixes else "I am not to mend checks by myself"
    return f"Red on the newest commit, and not on the base: {names}. {why[0].upper()}{why[1:]} (`ci_fixes`)."


def nothing_mended(names: Sequence[str], words: str) -> str:
    listed = ", ".join(f"`{inline(name)}`" for name in names[:_LISTED])
    said = f"\n\nThe agent says:\n\n{quote(words)}" if words.strip() else ""
    return f"A turn was spent on the red checks{f' ({listed})' if listed else ''}. No file was changed.{said}"


def will_rebase(base: str) -> str:
    return f"Taking the newest `{inline(base)}` in. That is a merge: nobody's commits are rewritten."


def nothing_to_rebase() -> str:
    return "There is no open pull request to take the base into."


def no_rebase_before_the_plan() -> str:
    return "Not now: a plan comes first."


def no_rebase_now(run: Run) -> str:
    if run.phase is Phase.WORKING:
        return "An agent is at work in there. Say it again when the turn has ended."
    return f"Not now: {run.reason}."


def _checks(pull: PullRequest) -> str:
    checks, on = pull.checks, f"on `{pull.head[:10]}`"
    match checks.state:
        case CheckState.NONE:
            return ""
        case CheckState.PENDING:
            return f"⏳ running {on}."
        case CheckState.GREEN:
            return f"✅ {_count(checks.passed)} {on}."
        case CheckState.RED:
            return f"❌ {len(checks.failed)} failed, {checks.passed} passed {on}."


def _count(passed: int) -> str:
    return f"{passed} passed" if passed else "passed"


def _conflict(pull: PullRequest) -> str:
    return f"⚠️ Conflicts with `{inline(pull.base) or 'its base'}`." if pull.conflicts else ""


def _line(check: FailedCheck) -> str:
    link = f" ([details]({check.url}))" if _URL.fullmatch(check.url) else ""
    base = ", red on the base as well" if check.on_base else ""
    return f"- `{inline(check.name)}`{link}{base}"

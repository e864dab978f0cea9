"""Random people: each deed is one that somebody could do next, on the issues, the pull requests or the repository."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.chaos.history import History
from tests.chaos.trackers import LABEL, GitHubIssues, LinearIssues, Said
from tests.fakes.github import gits
from tests.fakes.github.model import Issue as Pull
from tests.fakes.github.pull_request_actions import NotMergeable
from tests.fakes.github.repository_actions import GitHubWorld
from tests.fakes.github.state import Impossible

BOT = "treehand-bot"
PUSHERS, STRANGERS = ("ana", "olga"), ("eve",)
COMMANDS = (
    "status", "why", "plan", "approve", "stop", "pause", "resume", "retry", "budget 5", "model sonnet", "rebase",
    "take", "give", "help", "dance",
)  # fmt: skip
BEGINNING = "treehand/"


@dataclass
class People:
    world: GitHubWorld
    issues: GitHubIssues | LinearIssues
    random: Random
    log: History
    repo: str
    said: list[Said] = field(default_factory=list)
    """Every comment that somebody wrote."""
    done: list[str] = field(default_factory=list)
    """Their deeds, in words."""
    foreign: dict[str, str] = field(default_factory=dict)
    """Permissions that were taken away, by login."""

    def act(self, deeds: Sequence[tuple[str, int]]) -> None:
        """Does something that is possible now."""
        names, weights = zip(*deeds, strict=True)
        for _ in range(20):
            name = self.random.choices(names, weights)[0]
            with self.world.lock, contextlib.suppress(Impossible, NotMergeable, StopIteration, gits.Conflict):
                told = getattr(self, f"_{name}")()
                self.done.append(f"{name}: {told or ''}")
                self.log.note("deed", name=name, told=told)
                return

    # What there is

    def pulls(self, state: str = "open") -> list[Pull]:
        home = self.world.repository(self.repo)
        ours = (one for one in home.issues.values() if one.pull and one.pull.head_ref.startswith(BEGINNING))
        return [one for one in ours if one.state == state]

    def _pull(self) -> Pull:
        return self._one(self.pulls())

    def _one(self, of: Sequence):
        if not of:
            raise StopIteration
        return self.random.choice(of)

    def _who(self) -> str:
        return self.random.choice((*PUSHERS, *PUSHERS, *STRANGERS))

    def _words(self) -> str:
        return f"Please change it, number {len(self.said)}."

    def _note(self, key: str, comment: str, by: str, text: str) -> str:
        self.said.append(Said(key, comment, by, text, self.log.clock(), self.repo))
        return f"{key} {comment} by {by}: {text}"

    # Issues

    def _open_issue(self) -> str:
        by = self.random.choice((*PUSHERS, *PUSHERS, *PUSHERS, *STRANGERS))
        return self.issues.open(f"Thing {len(self.done)}", by=by)

    def _label(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.label(key, LABEL, by=self._who())
        return key

    def _unlabel(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.unlabel(key, LABEL)
        return key

    def _off_and_on(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.unlabel(key, LABEL)
        self.issues.label(key, LABEL, by="ana")
        return key

    def _on_and_off(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.label(key, LABEL, by="ana")
        self.issues.unlabel(key, LABEL)
        return key

    def _touch_phase_label(self) -> str:
        """Somebody removes our label, or adds a wrong one."""
        key, name = self._one(sorted(self.issues.keys())), self.random.choice(("queued", "working", "review", "asking"))
        act = self.random.choice((self.issues.label, self.issues.unlabel))
        act(key, f"{LABEL}:{name}", by="ana")
        return f"{key} {name}"

    def _plan_label(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.label(key, f"{LABEL}:plan", by="ana")
        return key

    def _close_issue(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.close(key)
        return key

    def _reopen_issue(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        self.issues.reopen(key)
        return key

    def _edit_issue(self) -> str:
        key, by = self._one(sorted(self.issues.keys())), self._who()
        self.issues.edit(key, f"Write this instead, {len(self.done)}.", by=by)
        return f"{key} by {by}"

    def _remove_issue(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        return self.issues.remove(key, self.random)

    def _move_issue(self) -> str:
        return self.issues.move(self._one(sorted(self.issues.keys())), self.random)

    # Comments

    def _comment(self) -> str:
        key, by, text = self._one(sorted(self.issues.keys())), self._who(), self._words()
        return self._note(key, self.issues.comment(key, text, by=by), by, text)

    def _reply_in_thread(self) -> str:
        key, by, text = self._one(sorted(self.issues.keys())), self._who(), self._words()
        return self._note(key, self.issues.reply(key, text, by=by, random=self.random), by, text)

    def _burst(self) -> str:
        key = self._one(sorted(self.issues.keys()))
        for _ in range(5):
            text = self._words()
            self._note(key, self.issues.comment(key, text, by="ana"), "ana", text)
        return key

    def _command(self) -> str:
        key, by, text = self._one(sorted(self.issues.keys())), self._who(), f"/{LABEL} {self.random.choice(COMMANDS)}"
        return self._note(key, self.issues.comment(key, text, by=by), by, text)

    def _edit_comment(self) -> str:
        said, by = self._one([one for one in self.said if not one.gone and not one.place]), self._who()
        self.issues.edit_comment(said.comment, f"{said.text} Rather otherwise.", by=by)
        said.changed = True
        return f"{said.comment} by {by}"

    def _delete_comment(self) -> str:
        said = self._one([one for one in self.said if not one.gone and not one.place])
        self.issues.delete_comment(said.comment)
        said.gone = True
        return said.comment

    # Pull requests

    def _comment_on_pull(self) -> str:
        pull, by = self._pull(), self._who()
        text = self.random.choice((self._words(), f"/{LABEL} {self.random.choice(COMMANDS)}"))
        made = self.world.comment_on_pull(self.repo, pull.number, text, by=by)
        return self._on_pull(pull, f"issue-{made.id}", by, text)

    def _on_pull(self, pull: Pull, comment: str, by: str, text: str) -> str:
        told = self._note(pull.pull.head_ref, comment, by, text)
        self.said[-1].place = f"pull {pull.number}"
        return told

    def _file_of(self, pull: Pull) -> str:
        home = self.world.repository(self.repo)
        return self._one(
            [name for kind, name in gits.files_between(home.path, pull.pull.base, pull.pull.head) if kind != "D"]
        )

    def _remark(self) -> str:
        pull, by, text = self._pull(), self._who(), self._words()
        made = self.world.remark(self.repo, pull.number, self._file_of(pull), 1, text, by=by)
        return self._on_pull(pull, f"inline-{made.id}", by, text)

    def _reply_to_remark(self) -> str:
        home = self.world.repository(self.repo)
        inline = self._one([one for one in home.inlines.values() if home.issues[one.number].state == "open"])
        by, text = self._who(), self._words()
        made = self.world.reply(self.repo, inline.id, text, by=by)
        return self._on_pull(home.issues[inline.number], f"inline-{made.id}", by, text)

    def _review(self) -> str:
        pull, by, text = self._pull(), self._who(), self._words()
        state = self.random.choice(("COMMENTED", "APPROVED", "CHANGES_REQUESTED"))
        words = self.random.choice((text, ""))
        remarks = [(self._file_of(pull), 1, f"{text} Here.")] * self.random.choice((0, 1, 2))
        made = self.world.review(self.repo, pull.number, by=by, state=state, body=words, remarks=remarks)
        if words:
            self._on_pull(pull, f"review-{made.id}", by, words)
        return f"{pull.number} {state} {len(remarks)} by {by}"

    def _merge(self) -> str:
        pull, how = self._pull(), self.random.choice(("merge", "squash", "rebase"))
        self.world.merge(self.repo, pull.number, how)
        if self.random.random() < 0.3:  # the repository deletes branches itself
            self.world.delete_branch(self.repo, pull.pull.head_ref)
        return f"{pull.number} {how}"

    def _close_pull(self) -> str:
        pull = self._pull()
        self.world.close(self.repo, pull.number)
        return str(pull.number)

    def _reopen_pull(self) -> str:
        pull = self._one([one for one in self.pulls("closed") if not one.pull.merged_at])
        if not self.world.tip(self.repo, pull.pull.head_ref):
            raise StopIteration
        if any(one.pull.head_ref == pull.pull.head_ref for one in self.pulls()):
            raise StopIteration
        self.world.reopen(self.repo, pull.number)
        return str(pull.number)

    def _draft(self) -> str:
        pull = self._pull()
        self.world.ready(self.repo, pull.number, draft=self.random.random() < 0.5)
        return str(pull.number)

    def _push(self) -> str:
        pull = self._pull()
        self.world.push(self.repo, pull.pull.head_ref, {"hand.txt": f"{len(self.done)}\n"})
        return pull.pull.head_ref

    def _force_push(self) -> str:
        pull = self._pull()
        parents = gits.parents_of(self.world.repository(self.repo).path, pull.pull.head)
        self.world.force_push(self.repo, pull.pull.head_ref, self._one(parents))
        return pull.pull.head_ref

    def _delete_branch(self) -> str:
        pull = self._pull()
        self.world.delete_branch(self.repo, pull.pull.head_ref)
        return pull.pull.head_ref

    def _check(self) -> str:
        pull = self._pull()
        self.world.add_check(self.repo, pull.pull.head, "ci", self.random.choice(("success", "failure")))
        return str(pull.number)

    # The repository

    def _push_base(self) -> str:
        home = self.world.repository(self.repo)
        name = self.random.choice(["app.py", *[self._file_of(pull) for pull in self.pulls()][:1]])
        self.world.push(self.repo, home.default_branch, {name: f"other {len(self.done)}\n"})
        return name

    def _rename_repository(self) -> str:
        to = f"acme/shop{len(self.done)}"
        self.world.rename(self.repo, to)
        self.repo = self.issues.repo = to
        return to

    def _rename_default_branch(self) -> str:
        home, name = self.world.repository(self.repo), f"trunk{len(self.done)}"
        old = home.default_branch
        before = gits.refs(home.path)
        gits.git(home.path, "update-ref", f"refs/heads/{name}", before[f"refs/heads/{old}"])
        self.world.set_default_branch(self.repo, name)
        for pull in self.pulls():  # GitHub retargets them
            if pull.pull.base_ref == old:
                self.world.retarget(self.repo, pull.number, name)
        gits.git(home.path, "update-ref", "-d", f"refs/heads/{old}")
        self.world.refs_moved(
            home, {**gits.refs(home.path), f"refs/heads/{old}": before[f"refs/heads/{old}"]}, by="ana"
        )
        return name

    def _lock(self) -> str:
        home = self.world.repository(self.repo)
        number = self._one([one.number for one in home.issues.values()])
        self.world.lock_issue(self.repo, number)
        return str(number)

    def _archive(self) -> None:
        self.world.archive(self.repo)

    def _restore(self) -> None:
        """Everything that was forbidden is allowed again."""
        self.world.archive(self.repo, archived=False)
        for login in (*PUSHERS, BOT):
            self.world.set_permission(self.repo, login, "write")
        for issue in self.world.repository(self.repo).issues.values():
            if issue.locked:
                self.world.lock_issue(self.repo, issue.number, locked=False)

    def _lose_rights(self) -> str:
        login = self.random.choice(PUSHERS)
        self.world.set_permission(self.repo, login, "read")
        self.foreign[login] = "read"
        return login

    def _bot_loses_rights(self) -> str:
        level = self.random.choice(("read", "triage"))
        self.world.set_permission(self.repo, BOT, level)
        return level

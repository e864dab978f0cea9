"""Sets up a workspace: people, teams, labels, projects, keys."""

import secrets
from collections.abc import Iterable, Mapping

from tests.fakes.linear.model import Automation, Integration, Label, LinearProject, State, Team, Token, User
from tests.fakes.linear.state import Known, deed

STATES = {
    "Triage": "triage",
    "Backlog": "backlog",
    "Todo": "unstarted",
    "In Progress": "started",
    "In Review": "started",
    "Done": "completed",
    "Canceled": "canceled",
    "Duplicate": "duplicate",
}


class SettingUp(Known):
    @deed
    def add_user(
        self,
        name: str,
        email: str,
        *,
        guest: bool = False,
        app: bool = False,
        active: bool = True,
        admin: bool = False,
    ) -> User:
        display = email.partition("@")[0]
        made = User(
            **self.birth(),
            name=name,
            display_name=display,
            email=email,
            guest=guest,
            app=app,
            active=active,
            admin=admin,
        )
        self.users.append(made)
        return made

    @deed
    def add_team(
        self,
        key: str,
        name: str = "",
        *,
        private: bool = False,
        members: Iterable[User | str] = (),
        states: Mapping[str, str] | None = None,
    ) -> Team:
        """Adds a team; states by name, each with its type, in their order."""
        people = [self.user(one) for one in members]
        made = Team(**self.birth(), key=key, name=name or key, private=private, members=people)
        self.teams.append(made)
        for position, (state, kind) in enumerate((states or STATES).items()):
            self.states.append(State(**self.birth(), team=made, name=state, type=kind, position=float(position)))
        return made

    @deed
    def add_label(self, name: str, *, team: Team | str | None = None, group: str | None = None) -> Label:
        home = self.team(team) if team is not None else None
        parent = self._group(group, home) if group else None
        return self.new_label(name, home, parent=parent)

    def _group(self, name: str, home: Team | None) -> Label:
        found = self.find_label(name, home)
        return found or self.new_label(name, home, is_group=True)

    def new_label(self, name: str, home: Team | None, *, wanted: str | None = None, **more) -> Label:
        made = Label(**self.birth(wanted), name=name, team=home, **more)
        self.all_labels.append(made)
        return made

    def find_label(self, name: str, home: Team | None) -> Label | None:
        """Finds a label in exactly that scope, ignoring case."""
        return next(
            (one for one in self.all_labels if one.team is home and one.name.lower() == name.lower()),
            None,
        )

    def label_for(self, name: str, team: Team) -> Label:
        """Chooses a label like people: the team's, otherwise the workspace's, otherwise a new one of the workspace."""
        return self.find_label(name, team) or self.find_label(name, None) or self.new_label(name, None)

    @deed
    def add_project(self, name: str, *teams: Team | str) -> LinearProject:
        made = LinearProject(
            **self.birth(), name=name, teams=[self.team(one) for one in teams], slug_id=secrets.token_hex(6)
        )
        self.projects.append(made)
        return made

    @deed
    def automate(self, team: Team | str, event: str, state: str | None) -> None:
        """Sets the state of an issue for an event of its pull request; `None`: no change."""
        home = self.team(team)
        moved_to = self.state_named(home, state) if state else None
        self.automations.append(Automation(**self.birth(), team=home, event=event, state=moved_to))
        self.connect("github")

    @deed
    def connect(self, service: str) -> None:
        """Adds an integration to the workspace, once."""
        if not any(one.service == service for one in self.integrations):
            self.integrations.append(Integration(**self.birth(), service=service, creator=self.users[0]))

    @deed
    def token_for(self, user: User | str, *, oauth: bool = False, scopes: tuple[str, ...] = ("read", "write")) -> str:
        text = f"lin_{'oauth' if oauth else 'api'}_{secrets.token_hex(20)}"
        self.tokens[text] = Token(text, self.user(user), oauth, scopes)
        return text

    @deed
    def revoke(self, token: str) -> None:
        del self.tokens[token]

"""Actions of people on repositories: permissions, checks, names, archiving, Apps."""

from tests.fakes.github import gits
from tests.fakes.github.model import LEVELS, App, Check, Installation, Repository, Status, Token
from tests.fakes.github.pull_request_actions import OnPulls
from tests.fakes.github.state import deed


class OnRepositories(OnPulls):
    @deed
    def set_permission(self, repo: str, login: str, level: str) -> None:
        assert level in LEVELS
        self.user(login)
        levels = self.repository(repo).levels
        levels.pop(login.lower(), None)
        if level != "none":
            levels[login.lower()] = level

    @deed
    def archive(self, repo: str, *, archived: bool = True) -> None:
        self._touched(repo).archived = archived

    @deed
    def make_private(self, repo: str, *, private: bool = True) -> None:
        self._touched(repo).private = private

    @deed
    def remove_bot(self, repo: str, login: str) -> None:
        """Removes a collaborator; an App loses the repository."""
        home = self.repository(repo)
        home.levels.pop(login.lower(), None)
        for installation in self.installations.values():
            if installation.app.bot.login.lower() == login.lower():
                installation.repositories = [kept for kept in installation.repositories if kept is not home]

    @deed
    def rename(self, repo: str, to: str) -> None:
        """Renames it, or moves it to another owner: `acme/store`. The former name redirects."""
        home = self._touched(repo)
        del self.repositories[repo.lower()]
        owner, _, name = to.partition("/")
        self.redirects[repo.lower()] = home
        self.redirects.pop(to.lower(), None)
        home.owner, home.name = self.user(owner), name
        self.repositories[to.lower()] = home

    @deed
    def delete_repository(self, repo: str) -> None:
        del self.repositories[repo.lower()]

    @deed
    def set_default_branch(self, repo: str, branch: str) -> None:
        home = self._touched(repo)
        home.default_branch = branch
        gits.git(home.path, "symbolic-ref", "HEAD", f"refs/heads/{branch}")

    @deed
    def rename_branch(self, repo: str, branch: str, to: str) -> None:
        """As on GitHub's page: pull requests follow, and the former name redirects."""
        home = self._touched(repo)
        gits.git(home.path, "branch", "-m", branch, to)
        home.renamed_branches[branch] = to
        if home.default_branch == branch:
            self.set_default_branch(repo, to)

    @deed
    def protect(self, repo: str, pattern: str) -> None:
        """Forbids pushing to such branches; `*` matches anything."""
        home = self._touched(repo)
        home.protected.append(pattern)
        (home.path / "protected").write_text("".join(f"{one}\n" for one in home.protected))

    def _touched(self, repo: str) -> Repository:
        home = self.repository(repo)
        home.updated_at = self.now
        self.version += 1
        return home

    # Checks. They move no time of a pull request.

    @deed
    def add_check(
        self, repo: str, sha: str, name: str, conclusion: str | None = None, *, title: str = "", summary: str = "",
        annotations: tuple[tuple[str, int, str], ...] = (), log: str | None = None,
    ) -> Check:  # fmt: skip
        """Adds a check run: still running without a conclusion, and a job of GitHub Actions if it has a log."""
        now = self.now
        made = Check(
            id=self.new_id(), sha=sha, name=name, status="completed" if conclusion else "in_progress",
            conclusion=conclusion, started_at=now, completed_at=now if conclusion else None, title=title,
            summary=summary, annotations=annotations, log=log, suite=self.new_id(),
        )  # fmt: skip
        self.repository(repo).checks[made.id] = made
        return made

    @deed
    def end_check(self, repo: str, check: int, conclusion: str) -> None:
        made = self.repository(repo).checks[check]
        made.status, made.conclusion, made.completed_at = "completed", conclusion, self.now
        self.version += 1

    @deed
    def add_status(
        self, repo: str, sha: str, context: str, state: str, *, description: str = "", url: str = "", by: str = "ci"
    ) -> Status:
        made = Status(
            id=self.new_id(), sha=sha, context=context, state=state, description=description or None,
            target_url=url or None, at=self.now, by=self.user(by),
        )  # fmt: skip
        self.repository(repo).statuses.append(made)
        return made

    # Apps.

    @deed
    def create_app(self, slug: str, **permissions: str) -> App:
        from cryptography.hazmat.primitives import serialization as form
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.TraditionalOpenSSL, form.NoEncryption())
        public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        bot = self.user(f"{slug}[bot]")
        made = App(self.new_id(), slug, bot, public.decode(), private.decode(), permissions)
        self.apps[made.id] = made
        return made

    @deed
    def install_app(self, app: App, *repos: str, **permissions: str) -> Installation:
        homes = [self.repository(repo) for repo in repos]
        made = Installation(self.new_id(), app, homes[0].owner, homes, permissions or app.permissions)
        self.installations[made.id] = made
        return made

    @deed
    def mint(self, installation: Installation, homes: list[Repository], permissions: dict[str, str]) -> Token:
        token = Token(
            f"ghs_{self.new_id():036d}", installation.app.bot, (), installation, homes, permissions, self.now + 3600
        )
        self.tokens[token.text] = token
        return token

    @deed
    def revoke(self, token: str) -> None:
        self.tokens.pop(token, None)


class GitHubWorld(OnRepositories):
    """A GitHub in memory. Tests change it like people, and check it afterwards."""

"""Which services a repository's files ask for, and what hostile files cannot do."""

import pytest

from bot.domain.service import ServiceAccount, WantedService
from bot.errors import NeedsHuman
from bot.setup.plan import SetupOverrides, plan_setup
from bot.setup.repository_files import RepositoryFiles
from bot.setup.services.choose import choose
from bot.setup.services.images import service_of
from bot.setup.services.programs import InstalledServers
from bot.setup.services.read_yaml import read_yaml

WORKFLOW = """\
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    services:
      postgres:
        image: postgres:${{ matrix.postgres }}
        env: {POSTGRES_PASSWORD: ci, POSTGRES_DB: shop_test}
        ports: [5432:5432]
      queue: {image: "rabbitmq:3"}
"""


def services_of(overrides: SetupOverrides | None = None, **files: str) -> tuple[WantedService, ...]:
    named = {name.replace("__", "/").replace("_yml", ".yml"): text for name, text in files.items()}
    return plan_setup(RepositoryFiles.of(named), overrides or SetupOverrides()).services


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("postgres", ("postgres", "", "")),
        ("postgres:16.2-alpine", ("postgres", "16.2", "")),
        ("docker.io/library/postgres:15@sha256:00", ("postgres", "15", "")),
        ("pgvector/pgvector:pg16", ("postgres", "16", "vector")),
        ("registry.example.com:5000/tools/redis", ("redis", "", "")),
        ("valkey/valkey:8", ("redis", "8", "")),
        ("mcr.microsoft.com/mssql/server:2022-latest", ("SQL Server", "2022", "")),
        ("rabbitmq:3-management", ("RabbitMQ", "3", "")),
        ("acme/postgres-exporter:1", ("", "1", "")),
        ("acme/server:1", ("", "1", "")),
        ("", ("", "", "")),
    ],
)
def test_images_are_known_by_their_name(image, found):
    assert service_of(image) == found


def test_a_compose_file_names_services_users_databases_and_ports():
    (found,) = services_of(
        compose_yml="""
x-all: &all {restart: always, environment: {POSTGRES_USER: app}}
services:
  web: {build: .}
  db:
    <<: *all
    image: postgres:16
    ports: ["127.0.0.1:${DB_PORT:-5433}:5432", {published: 5434, target: 5432}, "5432"]
"""
    )
    account = ServiceAccount("app", "", "app")
    assert found == WantedService("postgres", "16", "compose.yml", (5433, 5434), (account,), ("db",))


def test_all_files_together_ask_for_one_of_each_service():
    files = {"docker-compose_yml": "services: {pg: {image: 'postgres:15'}}", ".github__workflows__ci_yml": WORKFLOW}
    first, second = services_of(**files)
    assert (first.name, first.version, first.why, first.hosts) == (
        "postgres", "15", "docker-compose.yml, ci.yml", ("pg", "postgres"),
    )  # fmt: skip
    assert [account.database for account in first.accounts] == ["postgres", "shop_test"]
    assert (second.name, second.why) == ("RabbitMQ", "ci.yml")


def test_an_example_of_env_names_a_local_database_and_its_variable():
    text = "export DATABASE_URL='postgresql+psycopg://me:pw@localhost:5433/shop'\nREDIS_URL=redis://cache.example.com\n"
    plan = plan_setup(RepositoryFiles.of({".env.example": text}), SetupOverrides())
    account = ServiceAccount("me", "pw", "shop")
    assert plan.services == (WantedService("postgres", "", ".env.example", (5433,), (account,)),)
    assert plan.addresses == {"DATABASE_URL": "postgresql+psycopg://me:pw@localhost:5433/shop"}


def test_the_operator_decides_before_the_repository_and_both_before_detection():
    files = {"compose_yml": "services: {a: {image: redis}, b: {image: mongo}}"}
    own = {**files, ".github__treehand.toml": 'services = ["postgres"]'}
    assert [one.name for one in services_of(**files)] == ["redis", "MongoDB"]
    assert [(one.name, one.is_required) for one in services_of(**own)] == [("postgres", True)]
    (named,) = services_of(SetupOverrides(services=("redis",)), **own)
    assert (named.name, named.is_required, named.why) == ("redis", True, "compose.yml")
    assert services_of(SetupOverrides(services=None), **own) == ()


def test_an_unknown_name_in_the_repositorys_file_is_an_error():
    with pytest.raises(NeedsHuman, match="'mongo' in `services` is no service that Treehand can start"):
        services_of(**{".github__treehand.toml": 'services = ["mongo"]'})


def test_what_cannot_be_started_is_said():
    files = RepositoryFiles.of({"compose.yml": "services: {a: {image: 'redis:7'}, b: {image: mongo}}"})
    plan, fail = plan_setup(files, SetupOverrides()), "tests that need it will fail"
    package = "Debian, Ubuntu: `apt-get install redis-server`"
    assert choose(InstalledServers(lambda: "/nonexistent"), plan).lines == (
        f"needs Redis 7 (compose.yml), which is not installed ({package}); {fail}",
        f"needs MongoDB (compose.yml): Treehand cannot start it; {fail}",
    )
    first, _ = choose(InstalledServers(), plan).lines
    assert first == f"needs Redis 7 (compose.yml), which is started only in the sandbox; {fail}"


def test_a_linked_postgresql_is_used_with_the_programs_beside_it_and_never_without(tmp_path):
    for name in ("postgres", "initdb", "pg_isready"):
        (tmp_path / "real").mkdir(exist_ok=True)
        (tmp_path / "real" / name).write_text("#!/bin/sh\n")
        (tmp_path / "real" / name).chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/postgres").symlink_to(tmp_path / "real/postgres")
    here = InstalledServers(lambda: str(tmp_path / "bin"), lambda _: "postgres (PostgreSQL) 99.1")
    assert here.find(WantedService("postgres")).program == tmp_path / "real/postgres"
    (tmp_path / "real/pg_isready").unlink()
    found = here.find(WantedService("postgres"))
    assert found is None or tmp_path not in found.program.parents


def test_an_extension_that_is_not_installed_is_said(tmp_path):
    for name in ("postgres", "initdb", "pg_isready"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    here = InstalledServers(lambda: str(tmp_path / "bin"), lambda _: "postgres (PostgreSQL) 99.1")
    plan = plan_setup(
        RepositoryFiles.of({"compose.yml": "services: {a: {image: 'postgis/postgis:99-3.4'}}"}), SetupOverrides()
    )
    started, lacking = choose(here, plan).lines
    assert started == "needs PostgreSQL 99 (compose.yml): PostgreSQL 99.1 is started for each worktree"
    assert lacking == "PostgreSQL 99.1 has no extension postgis here; tests that need it will fail"
    (tmp_path / "share/extension").mkdir(parents=True)
    (tmp_path / "share/extension/postgis.control").touch()
    assert choose(here, plan).lines == (started,)


LAUGHS = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12)
)


@pytest.mark.attack("T16", "A compose file is built to take all memory or time")
@pytest.mark.parametrize(
    "text",
    [LAUGHS, LAUGHS.replace("<<", "k"), "[" * 30_000, "a: " * 20_000, "services: !!python/object/apply:os.abort []",
     "services: {a: " * 3000, "&a [*a]", "x" * 70_000, "\t- :\n", "services: [redis]", "&a {a: *a}"],
)  # fmt: skip
def test_t16_a_hostile_file_asks_for_nothing(text):
    assert services_of(compose_yml=text) == ()
    assert not read_yaml(text).get("a")


def test_t16_what_an_alias_names_counts_wherever_it_is_used():
    """A short file with few aliases, and 65,536 values."""
    lists = (f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 9))
    assert read_yaml(f"a0: &a0 [x]\n{''.join(lists)}") == {}


def test_t16_long_texts_in_a_compose_file_are_not_filled():
    """Each variable in one can make it longer."""
    for text, found in (("${A:-}" * 20 + "shop", ["shop"]), ("${A:-}" * 500 + "shop", ["postgres"])):
        compose = f"services: {{db: {{image: postgres, environment: {{POSTGRES_DB: '{text}'}}}}}}"
        assert [account.database for one in services_of(compose_yml=compose) for account in one.accounts] == found


@pytest.mark.attack("T20", "Names in a compose file are read as commands, as SQL, or as host names of others")
def test_t20_only_usual_names_are_taken_over():
    (found,) = services_of(
        compose_yml="""
services:
  api.example.com:
    image: postgres:15
    entrypoint: /bin/sh
    ports: ["80:5432", "99999:5432", "0x10:5432", "5433:5432;reboot"]
    environment:
      POSTGRES_USER: "app; touch /tmp/x"
      POSTGRES_DB: 'a" b'
      POSTGRES_PASSWORD: "a\\nb"
"""
    )
    assert found == WantedService("postgres", "15", "compose.yml", accounts=(ServiceAccount(),))

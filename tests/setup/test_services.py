"""Services in the real sandbox: databases of this machine's programs, for one worktree each."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bot.sandbox.bubblewrap import Bubblewrap, SandboxRules
from bot.sandbox.none import NoSandbox
from bot.setup.build import _run_program
from bot.setup.run_command import SetupCommand, run_command
from bot.setup.services.programs import InstalledServers
from tests.setup.conftest import BRANCH, MARKER_PREFIX, Shop

OTHER = "treehand/shop-2"
COMPOSE = "compose.yml"
REDIS = "services:\n  cache:\n    image: redis:7-alpine\n    ports: ['6380:6379']\n"
POSTGRES = """\
services:
  db:
    image: postgres:16
    command: touch /tmp/of-the-file
    volumes: ["/etc:/var/lib/postgresql/data"]
    ports: ["5433:5432"]
    environment:
      POSTGRES_USER: app
      POSTGRES_PASSWORD: ${DB_PASSWORD:-geheim}
      POSTGRES_DB: shop
"""
MYSQL = """\
services:
  db: {image: "mysql:8.4", environment: {MYSQL_USER: app, MYSQL_PASSWORD: "it's", MYSQL_DATABASE: shop}}
"""
SETS = "redis-cli -p {port} set {key} {value} | grep -q OK"
needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
needs_postgres = pytest.mark.skipif(
    not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")), reason="PostgreSQL is not installed"
)
needs_mysql = pytest.mark.skipif(not Path("/usr/sbin/mariadbd").exists(), reason="MariaDB is not installed")


@pytest.fixture
def serving(shop) -> Shop:
    shop.servers = InstalledServers(lambda: "/usr/local/bin:/usr/bin:/bin", _run_program)
    return shop


def asks_for(shop: Shop, compose: str, **files: str) -> None:
    shop.origin.commit({COMPOSE: compose, **files})


def seen(shop: Shop, branch: str = BRANCH) -> str:
    return (shop.folder(branch) / "seen.txt").read_text()


@needs_postgres
async def test_postgresql_has_the_users_the_database_and_the_ports_of_the_compose_file(serving):
    asks_for(serving, POSTGRES, **{".env.example": "DATABASE_URL=postgres://app:geheim@localhost:5433/shop\n"})
    query = "-Atc 'select current_user, current_database()' >> seen.txt"
    ready = await serving.told(
        f"psql {query}; psql postgres://app@db/shop {query}; psql $DATABASE_URL {query}; psql -h '' -U postgres {query}"
    ).ready()
    assert ready.obstacle is None
    assert seen(serving) == "app|shop\n" * 3 + "postgres|shop\n"
    assert ready.environment["PGPASSWORD"] == "geheim"
    assert not Path("/tmp/of-the-file").exists()


@needs_mysql
async def test_mysql_has_the_users_and_the_database_of_the_compose_file(serving):
    asks_for(serving, MYSQL)
    query = "-e 'select current_user(), database()' shop -N >> seen.txt"
    ready = await serving.told(f'mariadb -u app -p"it\'s" {query}; mariadb -h db -u root {query}').ready()
    assert ready.obstacle is None
    assert seen(serving) == "app@127.0.0.1\tshop\nroot@127.0.0.1\tshop\n"


@needs_redis
async def test_what_setup_has_written_is_there_for_each_command_of_verification_and_nothing_of_another(serving):
    asks_for(serving, REDIS)
    reads = "test $(redis-cli get stock) = 7 && ! redis-cli get sold | grep -q 1 && " + SETS.format(
        port=6379, key="sold", value=1
    )
    serving.told(SETS.format(port=6380, key="stock", value=7), verify=(reads, reads, reads))
    assert (await serving.ready()).obstacle is None
    (serving.folder() / "README.md").write_text("bye\n")
    change = await serving.captured()
    found = await serving.project_setup.verify(await serving.worktree(), change, "run/turn-1", serving.events.append)
    assert [(one.exit_code, one.output) for one in found.commands] == [(0, ""), (0, ""), (0, "")]
    assert [one.name for one in (serving.root / "caches/shop/services").iterdir()] == ["shop-1"]
    assert not list((serving.root / "caches/shop/trials").iterdir())


@needs_redis
async def test_services_end_with_the_command_and_their_data_with_the_worktree(serving):
    asks_for(serving, REDIS)
    assert (await serving.told("true").ready()).obstacle is None
    assert programs_alive("redis-server") == []
    data = serving.resources.service_data(serving.folder())
    assert (data / "redis" / "data").is_dir()
    assert data.stat().st_mode & 0o777 == 0o700
    await serving.project_setup.tear_down(BRANCH)
    assert not data.exists()


def programs_alive(name: str) -> list[str]:
    """Processes of this user's tests that are still alive."""
    marker = f"TREEHAND_TURN={MARKER_PREFIX}:".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if name.encode() in (folder / "cmdline").read_bytes() and marker in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


async def in_sandbox(shop: Shop, branch: str, command: str) -> str:
    """Runs a command as a server or a test of this run would be; returns its output."""
    ready = await shop.ready(branch)
    assert ready.obstacle is None
    mounts = replace((await shop.worktree(branch)).mounts, services=ready.services)
    home, marker = shop.root / "homes" / mounts.folder.name, f"{MARKER_PREFIX}:{branch}/look"
    home.mkdir(parents=True, exist_ok=True)
    async with shop.sandbox.open_test(mounts, home, None, marker) as sandbox:
        ran = await run_command(SetupCommand(command, mounts.folder, ready.environment, marker), sandbox, seconds=60)
    assert ran.code == 0, ran.output
    return ran.output


@needs_redis
@pytest.mark.attack("T17", "An agent reads the database of another run while both are at work")
async def test_t17_another_run_has_another_database_at_the_same_port(serving):
    asks_for(serving, REDIS)
    waits = "until test -e stop; do sleep 0.1; done"
    says = f"redis-cli set owner $PORT > up; {waits}; redis-cli get owner; ls /var/lib/services"
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        running = [group.create_task(in_sandbox(serving, branch, says)) for branch in (BRANCH, OTHER)]
        while not all((serving.folder(branch) / "up").exists() for branch in (BRANCH, OTHER)):
            await asyncio.sleep(0.05)
        for branch in (BRANCH, OTHER):
            (serving.folder(branch) / "stop").touch()
    ports = [serving.resources.port_blocks.allocate(serving.folder(branch))[0] for branch in (BRANCH, OTHER)]
    assert [one.result() for one in running] == [f"{port}\nredis\nredis.log" for port in ports]


@needs_redis
@pytest.mark.attack("T8", "An agent leaves a program in its database, and setup runs it with network")
async def test_t8_setup_with_network_finds_no_data_of_an_agent(serving):
    asks_for(serving, REDIS, **{"package.json": "{}", "package-lock.json": "{}"})
    serving.told("redis-cli dbsize >> seen.txt")
    assert await in_sandbox(serving, BRANCH, "redis-cli set left behind; redis-cli dbsize") == "OK\n1"
    assert await in_sandbox(serving, BRANCH, "redis-cli dbsize") == "1", "it is there in the next turn"
    (serving.folder() / "package-lock.json").write_text('{"changed": 1}')
    assert (await serving.ready()).obstacle is None
    assert seen(serving) == "0\n0\n", "on the base, and then without network on the work"


@needs_postgres
@pytest.mark.attack("T23", "A program that an agent's database starts looks for the processes of the sandbox")
async def test_t23_a_program_that_a_database_starts_sees_no_process_of_the_sandbox(serving):
    asks_for(serving, POSTGRES)
    script = "cat -v /proc/[0-9]*/cmdline > /tmp/names"
    listed = await in_sandbox(serving, BRANCH, f"psql -c \"copy (select 1) to program '{script}'\" && cat /tmp/names")
    assert "postgres" in listed
    assert "init_process" not in listed
    assert "treehand/shell" not in listed


@needs_redis
async def test_a_service_that_does_not_start_stops_setup_with_the_end_of_its_log(serving, tmp_path):
    broken = tmp_path / "tools" / "redis-server"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\ntest $1 = --version && echo v=7.0.1 || { echo no room >&2; exit 4; }\n")
    broken.chmod(0o755)
    serving.servers = InstalledServers(lambda: str(broken.parent), _run_program)
    serving.sandbox = Bubblewrap(serving.root, {}, SandboxRules(tools=(broken.parent,)))
    asks_for(serving, REDIS)
    ready = await serving.ready()
    assert ready.obstacle
    assert ready.obstacle.problem == "a service that the repository asks for did not start (Redis 7.0.1)"
    assert ready.obstacle.output == "Redis 7.0.1 did not start: exit code 4\nno room"
    assert any("`services = false`" in line for line in ready.obstacle.advice)


@needs_redis
async def test_data_with_which_a_service_does_not_start_is_replaced(serving):
    asks_for(serving, REDIS)
    manifest = "/var/lib/services/redis/data/appendonlydir/*.manifest"
    await in_sandbox(serving, BRANCH, f"redis-cli set a b; echo broken > {manifest}")
    assert await in_sandbox(serving, BRANCH, "redis-cli dbsize") == "0"


async def test_a_service_that_settings_name_must_be_installed(shop):
    asks_for(shop, "")
    shop.servers = InstalledServers(lambda: "/nonexistent")
    ready = await shop.told(services=("redis",)).ready()
    assert ready.obstacle
    assert "the project needs Redis (projects.services), which is not installed (" in ready.obstacle.problem
    assert "`apt-get install redis-server`" in ready.obstacle.problem


@needs_redis
async def test_services_can_be_disabled_and_named_in_the_repository(serving):
    asks_for(serving, REDIS, **{".github/treehand.toml": "services = []\n"})
    assert (await serving.ready()).services is None
    serving.origin.commit({".github/treehand.toml": 'services = ["redis"]\n', COMPOSE: ""})
    assert (await serving.ready(OTHER)).services.summary[0].endswith(" at localhost:6379")
    serving.told(services=None)
    assert (await serving.ready("treehand/shop-3")).services is None


async def test_without_a_sandbox_no_service_is_started(shop_with, root):
    shop = shop_with(NoSandbox(root / "cells", {}))
    asks_for(shop, REDIS)
    ready = await shop.ready()
    assert (ready.obstacle, ready.services) == (None, None)

"""Databases beside an agent: the installed command, real servers, the real sandbox."""

import re
import shutil
from pathlib import Path

import pytest

from bot.demo.scripted_model import ScriptedModel
from tests.program.conftest import DONE, model_env, script_of
from tests.program.test_setup import asking, choose, commit, labelled, runs, works  # noqa: F401 - fixtures, too

POSTGRES = """\
services:
  db:
    image: postgres:16
    ports: ["5433:5432"]
    environment: {POSTGRES_USER: app, POSTGRES_PASSWORD: pw, POSTGRES_DB: shop}
  queue: {image: "rabbitmq:3"}
"""
REDIS = "services:\n  cache: {image: 'redis:7', ports: ['6379:6379']}\n"
needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
needs_postgres = pytest.mark.skipif(
    not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")), reason="PostgreSQL is not installed"
)


@needs_postgres
async def test_setup_agent_verification_and_servers_use_the_database_that_the_compose_file_describes(labelled):  # noqa: F811
    choose(
        labelled,
        setup=["psql -qc 'create table teas (name text)'"],
        verify=["psql $DATABASE_URL -Atc 'select count(*) from teas' | grep -qx 0"],
    )
    commit(
        labelled,
        {
            "compose.yml": POSTGRES,
            ".env.example": "DATABASE_URL=postgres://app:pw@localhost:5433/shop\n",
            ".github/treehand.toml": "run = {teas = \"psql -Atc 'select name from teas'\"}\n",
        },
    )
    writes = runs("psql -Atc \"insert into teas values ('green')\" > seen.txt")
    async with ScriptedModel(script_of((writes,), DONE)) as model:
        await labelled.does("once", **model_env(model))
        told = "\n".join(model.requests[0].user_texts)
    assert re.search(r"- `PostgreSQL [0-9.]+ at localhost:5432, user app, database shop`", told)
    shown = await labelled.does("pr", "show", "2")
    assert "+INSERT 0 1" in shown
    assert re.search(r"starting PostgreSQL [0-9.]+ for each command", shown)
    assert "exit code 0" in shown
    assert "\ngreen\n" in f"\n{await labelled.does('show', '1', '--run', 'teas')}\n"
    await labelled.does("pr", "comment", "2", "again")
    await works(labelled, runs("psql -Atc 'select name from teas' > seen.txt"))
    assert "+green" in await labelled.does("pr", "show", "2")
    assert labelled.agents_alive() == []
    data = labelled.state_dir / "caches/shop/services"
    assert [one.name for one in data.iterdir()] == ["shop-1"]
    await labelled.does("pr", "merge", "2")
    await labelled.does("once", ANTHROPIC_API_KEY="k")
    assert list(data.iterdir()) == []


@needs_redis
async def test_check_and_init_say_which_services_are_started(ready):
    commit(ready, {"compose.yml": REDIS + "  queue: {image: 'rabbitmq:3'}\n"})
    answer = await ready.treehand("check", "-v", ANTHROPIC_API_KEY="k")
    (line,) = [line for line in answer.out.splitlines() if "shop/services" in line]
    assert line.startswith("ok")
    assert "needs Redis 7 (compose.yml): Redis" in line
    assert "is started for each worktree" in line
    assert "needs RabbitMQ 3 (compose.yml): Treehand cannot start it; tests that need it will fail" in line
    (ready.repository / "treehand.toml").unlink()
    assert "    needs RabbitMQ 3 (compose.yml): Treehand" in await ready.does("init", "--here", "--yes")

"""Lists the guards against threats T1 to T24 and those of the dashboard, one file for each area."""

from tests.mutants.guards import (
    authorization,
    circuit_breaker,
    dashboard,
    exploration,
    git_as_it_is,
    hidden_text,
    http,
    idempotence,
    lease,
    limits,
    linear,
    notifications,
    program,
    proxy,
    publish_guard,
    quoting,
    refusals,
    registries,
    retention,
    rewritten,
    run_notes,
    sandbox,
    secret_scan,
    services,
    setup,
    state,
    store,
    verification,
    worktree,
    writes,
)
from tests.mutants.guards.guard import Guard, NotApplicable, switched_off

GUARDS: tuple[Guard, ...] = tuple(
    guard
    for room in (
        authorization,
        hidden_text,
        quoting,
        secret_scan,
        proxy,
        registries,
        publish_guard,
        worktree,
        git_as_it_is,
        rewritten,
        http,
        program,
        setup,
        services,
        refusals,
        verification,
        sandbox,
        limits,
        lease,
        dashboard,
        run_notes,
        state,
        store,
        idempotence,
        circuit_breaker,
        retention,
        linear,
        notifications,
        exploration,
        writes,
    )
    for guard in room.GUARDS
)

__all__ = ["GUARDS", "Guard", "NotApplicable", "switched_off"]

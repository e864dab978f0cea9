"""Builds runs for tests: fields of a run's groups are given flat, `turns_number=2`."""

from dataclasses import fields, is_dataclass, replace

from bot.domain.run import Run

_GROUPS = tuple(field.name for field in fields(Run) if is_dataclass(field.default) and field.name != "diff_stat")


def a_run(key: str = "shop#1", project: str = "shop", *args, **flat) -> Run:
    return with_fields(Run(key, project, *args), **flat)


def with_fields(run: Run, **flat) -> Run:
    for name, value in flat.items():
        group = next((group for group in _GROUPS if name.startswith(f"{group}_")), "")
        if group:
            run = replace(run, **{group: replace(getattr(run, group), **{name.removeprefix(f"{group}_"): value})})
        else:
            run = replace(run, **{name: value})
    return run

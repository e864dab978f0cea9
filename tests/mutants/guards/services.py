"""Guards of services: what is taken from a repository's files, whose data they have, and what they see."""

from tests.mutants.guards.guard import Guard

_DETECT = "tests/setup/test_detect_services.py::test"
_SERVICES = "tests/setup/test_services.py::test"
_CONTAINER = "bot/setup/services/container.py"
_YAML = "bot/setup/services/read_yaml.py"

GUARDS = (
    Guard(
        "T16: long texts of a compose file are not filled",
        _CONTAINER,
        " or len(text) > _LONGEST_TEXT:",
        ":",
        (f"{_DETECT}_t16_long_texts_in_a_compose_file_are_not_filled",),
    ),
    Guard(
        "T16: what an alias in YAML names counts wherever it is used",
        _YAML,
        "if self.left < 0:",
        "if False:",
        (f"{_DETECT}_t16_what_an_alias_names_counts_wherever_it_is_used",),
    ),
    Guard(
        "T20: names of users and databases hold no quotes",
        _CONTAINER,
        'database if _NAME.fullmatch(database) else "",',
        "database,",
        (f"{_DETECT}_t20_only_usual_names_are_taken_over",),
    ),
    Guard(
        "T20: a service has no host name with a dot",
        _CONTAINER,
        "hosts = (name,) if _HOST.fullmatch(name) and name not in _TAKEN_HOSTS else ()",
        "hosts = (name,)",
        (f"{_DETECT}_t20_only_usual_names_are_taken_over",),
    ),
    Guard(
        "T8: setup with network finds no data of an agent's database",
        "bot/setup/run_steps.py",
        "is_fresh = scope is not SetupScope.WORK",
        "is_fresh = False",
        (f"{_SERVICES}_t8_setup_with_network_finds_no_data_of_an_agent",),
    ),
    Guard(
        "T17: the data of services is a folder for one worktree",
        "bot/setup/resources.py",
        'return self.cache_folder / "services" / folder.name',
        'return self.cache_folder / "services" / "all"',
        (f"{_SERVICES}_t17_another_run_has_another_database_at_the_same_port",),
    ),
    Guard(
        "T23: a service runs in namespaces of its own",
        "bot/sandbox/mount_plan.py",
        '*_command_sandbox(inside.home if not inside.is_command else None, inside.mounts.shadow), "--",\n',
        "",
        (f"{_SERVICES}_t23_a_program_that_a_database_starts_sees_no_process_of_the_sandbox",),
    ),
    Guard(
        "T23: each test command has the services' data as setup left it",
        "bot/setup/clean_files.py",
        "mounts = replace(mounts, services=replace(mounts.services, data=data))",
        "pass",
        (f"{_SERVICES}_what_setup_has_written_is_there_for_each_command_of_verification_and_nothing_of_another",),
    ),
)

"""Guards of the sandbox: files, permissions and resources of an agent (T6, T8, T10, T11, T15, T16, T17, T20, T22)."""

from tests.mutants.guards.guard import Guard

_SELFTEST = "tests/sandbox/test_selftest.py::test"
_SYSCALLS = "tests/sandbox/test_seccomp.py::test"
_SANDBOX = "tests/escape/test_sandbox.py::test"
_FILES = "tests/escape/test_files.py::test"
_CLAUDE = "tests/agents/test_claude.py::test"
_HOLDS = (f"{_SELFTEST}_a_working_sandbox_passes_every_probe_and_leaves_no_files",)
_CLOSED = (f"{_SYSCALLS}_system_calls_of_builds_are_allowed_and_dangerous_ones_refused",)
_FAMILIES = (f"{_SYSCALLS}_only_sockets_of_namespaced_families_can_be_created",)
_FOREIGN = (f"{_SYSCALLS}_system_call_numbers_of_another_architecture_are_refused",)
_MEMORY = (f"{_FILES}_t16_every_folder_in_memory_is_limited[a command]",)
_PLAN, _ENTER, _INSIDE = "bot/sandbox/mount_plan.py", "bot/sandbox/enter.py", "bot/sandbox/init_process.py"

PLAN = (
    Guard("T15: memory is shared with nobody outside", _PLAN, '"--unshare-ipc", ', "", _HOLDS),
    Guard(
        "T6: processes of the host are not seen",
        _PLAN,
        '"--unshare-ipc", "--unshare-pid",',
        '"--unshare-ipc",',
        _HOLDS,
    ),
    Guard("T8: the network of the host is not there", _PLAN, '"--unshare-net", ', "", _HOLDS),
    Guard("T16: groups of processes are its own", _PLAN, '"--unshare-cgroup-try",', "", _HOLDS),
    Guard(
        "T17: the name of the machine is its own",
        _PLAN,
        '"--unshare-uts", "--unshare-cgroup-try",\n    "--uid", str(UID), "--gid", str(UID), "--hostname", "treehand",',
        '"--unshare-cgroup-try",\n    "--uid", str(UID), "--gid", str(UID),',
        _HOLDS,
    ),
    Guard("T17: the system cannot be written", _PLAN, '("--remount-ro", "/"),', "", _HOLDS),
    Guard("T16: devices hold nothing", _PLAN, '("--remount-ro", "/dev"),', "", _MEMORY),
    Guard(
        "T10: the pointer to git cannot be written",
        _PLAN,
        '("read", str(mounts.folder / ".git"), str(mounts.folder / ".git")),',
        "",
        _HOLDS,
    ),
    Guard(
        "T11: the repository's objects cannot be written",
        _PLAN,
        '("read", str(mounts.objects),',
        '("write", str(mounts.objects),',
        (
            "tests/sandbox/test_interface.py::test_t11_a_sandbox_may_write_its_worktree_its_own_git_directory_and_its_home",
        ),
    ),
    Guard("T20: an agent's home is empty, and its own", _PLAN, '"/tmp", HOME, PRIVATE)', '"/tmp", PRIVATE)', _HOLDS),
    Guard(
        "T15: commands cannot write what the program obeys",
        _PLAN,
        '"--ro-bind", str(home), str(home), ',
        "",
        _HOLDS,
    ),
    Guard(
        "T15: commands do not see the program they serve",
        _PLAN,
        '"--unshare-user", "--unshare-pid", "--disable-userns"',
        '"--unshare-user", "--disable-userns"',
        _HOLDS,
    ),
    Guard(
        "T15: commands do not reach what the program keeps for itself",
        _PLAN,
        '            "--tmpfs", PRIVATE,\n',
        "",
        (f"{_SANDBOX}_t15_a_command_does_not_see_the_private_files_of_the_program",),
    ),
    Guard(
        "T16: the commands' folder in place of that holds next to nothing",
        _PLAN,
        '"--size", _SMALL,',
        "",
        _MEMORY,
    ),
    Guard(
        "T15: commands make no namespaces", _PLAN, '"--unshare-pid", "--disable-userns",', '"--unshare-pid",', _HOLDS
    ),
    Guard("T6: commands do not hold the program's token", _PLAN, "\\nunset {' '.join(_NOT_FOR_COMMANDS)}", "", _HOLDS),
    Guard(
        "T17: a folder that would show the secrets is no tool",
        "bot/sandbox/host_tools.py",
        "        _ensure_allowed(folder, state_dir)",
        "        pass",
        (f"{_SELFTEST}_a_tools_folder_that_exposes_too_much_is_a_mistake_in_the_settings",),
    ),
    Guard(
        "T17: secrets lie where no agent reads",
        "bot/sandbox/host_tools.py",
        "    _ensure_hidden(state_dir, (*shown, *own))\n",
        "",
        (f"{_FILES}_t17_a_state_dir_that_every_agent_could_read_is_refused",),
    ),
)

ENTER = (
    Guard(
        "T6: the host's environment is left behind",
        _ENTER,
        "environment.items() if name in keep}",
        "environment.items()}",
        _HOLDS,
    ),
    Guard(
        "T14: a link in place of what is shown is refused",
        _ENTER,
        "    _refuse_symlinks(sources)\n",
        "",
        (f"{_SANDBOX}_a_link_in_place_of_a_visible_file_is_refused",),
    ),
    Guard("T15: root is given up", _ENTER, '        _drop_root(plan["uid"])', "        pass", _HOLDS, as_root=True),
    Guard(
        "T15: root's groups are given up",
        _ENTER,
        "    os.setgroups([])\n",
        "",
        (f"{_SANDBOX}_as_root_files_of_an_agent_belong_to_an_unused_user_id",),
        as_root=True,
    ),
    Guard(
        "T17: each run's agent is another user",
        "bot/sandbox/bubblewrap.py",
        "return _UIDS[number % len(_UIDS)]",
        "return _UIDS[0]",
        ("tests/sandbox/test_interface.py::test_t17_agents_of_different_runs_are_different_users",),
    ),
    Guard(
        "T16: when memory runs out an agent goes first",
        _ENTER,
        "    _prefer_oom_kill()\n",
        "",
        (f"{_SANDBOX}_when_memory_runs_out_the_kernel_kills_an_agent_first",),
    ),
    Guard("T16: folders in memory have an end", _ENTER, '"--size", size, "--tmpfs"', '"--tmpfs"', _MEMORY),
    Guard("T16: processes have an end", _INSIDE, "_limit(resource.RLIMIT_NPROC, int(processes))", "pass", _HOLDS),
    Guard("T16: files have an end", _INSIDE, "_limit(resource.RLIMIT_FSIZE, int(file_bytes))", "pass", _HOLDS),
    Guard(
        "T16: a program's memory has an end", _INSIDE, "_limit(resource.RLIMIT_DATA, int(memory_bytes))", "pass", _HOLDS
    ),
    Guard("T16: nothing dumps its memory", _INSIDE, "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))", "pass", _HOLDS),
    Guard(
        "T16: limits cannot be raised",
        _INSIDE,
        "resource.setrlimit(which, (most, most))",
        "resource.setrlimit(which, (most, hard))",
        _HOLDS,
    ),
    Guard("T8: system calls are filtered", _ENTER, 'if plan["filter"] else []', "if False else []", _HOLDS),
    Guard(
        "T8: no sockets past the namespaces",
        "bot/sandbox/seccomp.py",
        "_ALLOWED_FAMILIES = (1, 2, 10, 16)",
        "_ALLOWED_FAMILIES = (1, 2, 10, 16, 40)",
        _FAMILIES,
    ),
    Guard(
        "T8: sockets are looked at",
        "bot/sandbox/seccomp.py",
        "        *_restrict_sockets(_SOCKET[machine]),\n",
        "",
        _FAMILIES,
    ),
    Guard(
        "T15: the kernel's own doors are shut",
        "bot/sandbox/seccomp.py",
        "        *_refuse_each(_FORBIDDEN[machine], errno.EPERM),\n",
        "",
        _CLOSED,
    ),
    Guard(
        "T15: nothing works behind the filter's back",
        "bot/sandbox/seccomp.py",
        "        *_refuse_each(_MISSING, errno.ENOSYS),\n",
        "",
        _CLOSED,
    ),
    Guard(
        "T15: numbers of another kind of machine are refused",
        "bot/sandbox/seccomp.py",
        "        _jump_over(_load(_ARCHITECTURE), _EQUAL, _AUDIT[machine], 1),\n        _refuse(errno.EPERM),\n",
        "",
        _FOREIGN,
    ),
    Guard(
        "T15: numbers of another way to call are refused",
        "bot/sandbox/seccomp.py",
        "if machine == _X86 else []",
        "if False else []",
        _FOREIGN,
    ),
)


GUARDS = (*PLAN, *ENTER)

"""Protected paths in every spelling, and file names that are refused."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish_guard.auto_run_files import changed_install_scripts, git_drivers
from bot.publish_guard.path_rules import canonical, find_fault
from bot.publish_guard.protected_paths import PublishRules, holds_protected, why_protected
from bot.publish_guard.symlinks import follow

NONE_OF_THEIR_OWN = PublishRules(protected=())

HELD = {
    "runs in CI": [
        ".github/workflows/ci.yml", ".github/workflows/deep/er.yml", ".github/actions/setup/action.yml",
        ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile", "Jenkinsfile.release", "azure-pipelines.yml",
        ".travis.yml", ".buildkite/pipeline.yml", "bitbucket-pipelines.yml", "buildspec.yml", "cloudbuild.yaml",
        ".tekton/push.yaml", ".zuul.yaml", ".zuul.d/jobs.yaml", "netlify.toml", "atlantis.yaml", ".readthedocs.yaml",
        "action.yml", "tools/action.yaml", "amplify.yml",
    ],
    "names code owners": ["CODEOWNERS", "docs/CODEOWNERS", ".github/CODEOWNERS"],
    "changes what git does": [
        ".lfsconfig", ".gitmodules", ".githooks/pre-commit", ".husky/pre-push", "lefthook.yml",
        ".pre-commit-config.yaml",
    ],
    "instructs agents": [
        "CLAUDE.md", "src/CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".claude/settings.json",
        "lib/.claude/commands/x.md", ".mcp.json", ".cursorrules", ".cursor/rules/x.mdc", ".windsurfrules",
        ".clinerules", ".aider.conf.yml", ".github/copilot-instructions.md", ".github/instructions/x.md",
        ".github/prompts/x.prompt.md", ".codex/config.toml", "AGENT.md", "CRUSH.md", "WARP.md", ".rules", "lib/.rules",
        ".agents/skills/x.md", "opencode.json",
    ],
    "runs when the folder is opened": [
        ".vscode/tasks.json", "web/.vscode/settings.json", ".vscode/launch.json", ".devcontainer/devcontainer.json",
        ".envrc", ".idea/runConfigurations/x.xml", ".gdbinit", "mise.toml", ".mise.toml", ".config/mise/config.toml",
        ".tool-versions",
        ".idea/watcherTasks.xml", ".helix/languages.toml", ".lazy.lua", "x.sublime-project",
    ],
    "runs when a tool is started in the folder": [
        ".pdbrc", "lib/.irbrc", ".Rprofile", ".ghci", ".iex.exs", ".bazelrc", "tools/bazel",
    ],
    "chooses the source of packages": [
        ".npmrc", "web/.npmrc", ".yarnrc.yml", ".yarnrc", ".pnpmfile.cjs", "pip.conf", ".pypirc",
        ".cargo/config.toml", ".cargo/config", "gradle/wrapper/gradle-wrapper.properties", "gradlew", "mvnw",
    ],
    "Treehand's own settings": ["treehand.toml", ".github/treehand.toml", ".worktreeinclude"],
    "configures the repository": [
        ".github/dependabot.yml",
        "renovate.json",
        ".github/settings.yml",
        ".github/rulesets/x",
    ],
}  # fmt: skip
EVERY = [(path, why) for why, paths in HELD.items() for path in paths]

FREE = [
    "src/app.py", "README.md", "package.json", "pyproject.toml", ".gitignore", ".gitattributes", ".github/README.md",
    ".github/ISSUE_TEMPLATE/bug.md", "docs/workflows/ci.yml", ".idea/workspace.xml",
    ".vscode/extensions.json", "CODEOWNERS.md", "src/claude.py", "claude.md.txt", "Cargo.toml", "cargo/config.toml",
    "github/workflows/ci.yml", "requirements.txt", "package-lock.json", "tests/test_agents.md", "envrc",
]  # fmt: skip

SPELLINGS = {
    "as it is": lambda path: path,
    "in capitals": str.upper,
    "in mixed case": str.title,
    "with full-width letters": lambda path: "".join(
        chr(ord(letter) + 0xFEE0) if letter.isalpha() else letter for letter in path
    ),
    "with a joiner in it": lambda path: path[:3] + "\u200d" + path[3:],
    "with a byte order mark": lambda path: "\ufeff" + path,
    "with a soft hyphen": lambda path: path.replace("e", "e\u00ad"),
    "with a variation selector": lambda path: path[:2] + "\ufe0f" + path[2:],
    "with a bidirectional mark": lambda path: path[:4] + "\u202e" + path[4:],
    "with the long s": lambda path: path.replace("s", "ſ"),
    "with trailing dots": lambda path: path.replace("/", "./") + ".",
    "with trailing spaces": lambda path: path.replace("/", " /") + " ",
    "with backslashes": lambda path: path.replace("/", "\\"),
    "with a stream's name": lambda path: path + "::$DATA",
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize(("path", "why"), EVERY, ids=[path for path, _ in EVERY])
def test_every_protected_path_is_held_in_every_spelling(path, why, spelled):
    assert why_protected(spelled(path), NONE_OF_THEIR_OWN) == why


@pytest.mark.parametrize("path", FREE)
def test_ordinary_files_are_not_protected(path):
    assert why_protected(path, PublishRules()) == ""


@pytest.mark.parametrize(
    ("pattern", "held", "free"),
    [
        ("deploy/**", ["deploy/x", "Deploy/a/b"], ["deployment/x", "src/deploy/x"]),
        ("deploy", ["deploy", "deploy/x", "src/deploy/x"], ["deploy.py"]),
        ("/deploy", ["deploy/x"], ["src/deploy/x"]),
        ("*.key", ["a.key", "b/c.KEY"], ["key", "a.key.txt"]),
        ("src/**/secret?.txt", ["src/secret1.txt", "src/a/b/secretX.txt"], ["src/secret.txt", "secret1.txt"]),
        ("a[b].txt", ["a[b].txt"], ["ab.txt"]),
    ],
)
def test_patterns_of_a_project_protect_the_matching_paths(pattern, held, free):
    rules = PublishRules(protected=(pattern,))
    assert all(why_protected(path, rules) == "protected by the settings" for path in held)
    assert not any(why_protected(path, rules) for path in free)


def test_code_owners_files_are_protected_in_every_folder_by_default():
    assert why_protected("packages/web/CODEOWNERS", PublishRules())
    assert not why_protected("packages/web/CODEOWNERS", NONE_OF_THEIR_OWN)


def test_parent_folders_of_protected_paths_are_recognized():
    assert all(
        holds_protected(path, PublishRules()) for path in (".github", ".GitHub/workflows", "docs", "web/.vscode")
    )
    assert not any(holds_protected(path, PublishRules()) for path in ("src", "workflows", "web/docs", "README.md"))


@pytest.mark.parametrize(
    "name",
    [
        "a\nb", "a\tb", "\x1b[31mred", "a\u202egpj.exe", "zero\u200bwidth", "tag\U000e0041", "n" * 256, "é" * 128,
        "CON", "con.txt", "Aux", "nul .md", "COM1", "lpt9.log", "trailing.", "trailing ", "a:b", "a?b", "back\\slash",
        "GIT~1", "progra~1", "readme~2.txt", "caf\udce9", "line\u2028end",
    ],
)  # fmt: skip
def test_names_that_some_systems_cannot_store_are_refused(name):
    assert find_fault(name)


@pytest.mark.parametrize(
    "name",
    ["app.py", "é.txt", "日本語", "[id].tsx", "(group)", "file~", "~x", "-rf", "n" * 255, "consul.py", "a b", "🎉"],
)
def test_ordinary_names_are_accepted(name):
    assert find_fault(name) == ""


@pytest.mark.parametrize(
    ("link", "target", "where"),
    [("a/b", "../src/x.py", "src/x.py"), ("a", "b/./c//d", "b/c/d"), ("a/b/c", "../..", ""), ("a", "Src", "src")],
)
def test_a_link_inside_the_tree_is_resolved(link, target, where):
    lead = follow(link, {link: target})
    assert (lead.path, lead.outside) == (where, "")


@pytest.mark.parametrize(
    "links",
    [
        {"a": "/etc/passwd"},
        {"a": ".."},
        {"a/b": "../../x"},
        {"a": "b/../../x"},
        {"a": "C:\\Windows"},
        {"a": "..\\x"},
        {"a": "b", "b": "/etc"},
        {"a": "b/../../../x", "b": "c/d"},
        {"a": "B/x", "b": "/etc"},
        {"a": "b", "b": "a"},
        {"a": "b", "b": "c", "c": "b"},
    ],
)
def test_a_link_that_leaves_the_tree_or_loops_is_recognized(links):
    lead = follow("a/b" if "a/b" in links else "a", links)
    assert lead.outside
    assert lead.path == ""


@pytest.mark.parametrize(
    ("before", "now", "held"),
    [
        ([], '{"scripts": {"test": "x"}}', 0),
        ([], '{"scripts": {"postinstall": "x"}}', 1),
        (['{"scripts": {"postinstall": "x"}}'], '{"scripts": {"postinstall": "x", "test": "y"}}', 0),
        (['{"scripts": {"postinstall": "x"}}'], '{"scripts": {"postinstall": "y"}}', 1),
        (['{"scripts": {}}'], '{"scripts": {"preinstall": "x", "prepare": "y"}}', 2),
        (['{"scripts": {"prepare": "x"}}'], "{}", 0),
        (["not json"], '{"dependencies": {"a": "1"}}', 0),
        ([], '\ufeff{"scripts": {"install": "x"}}', 1),
        ([], '{"scripts": {"install": 1, "install": "x"}}', 1),
        ([], "not json", 1),
        ([], "[" * 100_000, 1),
        ([], "[]", 0),
    ],
)
def test_new_install_scripts_are_recognized(before, now, held):
    assert len(changed_install_scripts(now.encode(), [text.encode() for text in before])) == held


def test_drivers_in_git_attributes_are_held_and_other_attributes_are_not():
    assert len(git_drivers([b"* filter=evil diff=x", b"*.c merge=ours"])) == 3
    assert git_drivers([b"* text=auto", b"*.png binary -diff", b"*.txt diff", b"*.x !filter eol=lf"]) == ()
    assert (
        git_drivers([b"*.py diff=python", b"CHANGES merge=union", b"*.psd filter=lfs diff=lfs merge=lfs -text"]) == ()
    )
    assert len(git_drivers([b"* filter=python", b"* diff=union", b"* diff=lfs2"])) == 3


@given(st.text(max_size=40))
def test_canonical_paths_are_idempotent(path):
    assert canonical(canonical(path)) == canonical(path)


def test_links_made_to_be_slow_to_resolve_are_resolved_quickly():
    links = {f"l{number}": f"l{number + 1}" + "/x" * 2000 for number in range(40)} | {"l40": "x"}
    begun = time.process_time()
    assert follow("l0", links).outside
    assert time.process_time() - begun < 0.5


def test_a_path_made_to_be_slow_to_match_is_matched_quickly():
    begun = time.perf_counter()
    why_protected("/".join(["*?[" * 20] * 60), PublishRules(protected=("**/**/**/a*a*a*a*b",)))
    why_protected("a" * 4000, PublishRules(protected=("*a*a*a*b",)))
    assert time.perf_counter() - begun < 1

"""Documentation that can be wrong is tested like code."""

import argparse
import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bot.cli.main import parser
from bot.domain.command import CommandName
from bot.domain.run import TRANSITIONS, Phase
from bot.settings.load import known_keys, load
from bot.settings.schema import Settings
from tests.attack.marks import attack_marks

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "deploy" / "README.md"]
EXAMPLE = ROOT / "config" / "treehand.example.toml"


def page(name: str) -> str:
    return (ROOT / name).read_text()


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


# Architecture


def test_the_state_diagram_is_the_transition_table():
    arrows = [f"    {a} --> {b}" for a, targets in TRANSITIONS.items() for b in sorted(targets)]
    assert "\n".join(["```mermaid", "stateDiagram-v2", *arrows, "```"]) in page("ARCHITECTURE.md")


def test_every_phase_is_documented():
    assert all(f"| `{phase}` |" in page("ARCHITECTURE.md") for phase in Phase)


def test_every_room_is_on_the_map_and_every_room_on_the_map_exists():
    rooms = {
        f"bot/{path.name}" + ("/" if path.is_dir() else "")
        for path in (ROOT / "bot").iterdir()
        if not path.name.startswith(("__", "."))
    }
    assert set(re.findall(r"^\| `(bot/[\w./]+)` \|", page("ARCHITECTURE.md"), re.MULTILINE)) == rooms - {"bot/py.typed"}


def test_the_map_for_newcomers_links_to_existing_files():
    table = page("ARCHITECTURE.md").partition("## Which room?")[2]
    places = [place for place in re.findall(r"`([\w./]+)`", table) if "/" in place or place.endswith(".py")]
    assert places
    assert [place for place in places if not ((ROOT / place).exists() or (ROOT / "bot" / place).exists())] == []


def test_every_package_has_a_documented_reason():
    declared = tomllib.loads(page("pyproject.toml"))["project"]["dependencies"]
    names = [re.match(r"[\w-]+", line)[0] for line in declared]
    assert [name for name in names if f"`{name}`" not in page("docs/adr/0001-dependencies.md")] == []


def test_only_packages_documented_as_unused_are_unused():
    modules = {"PyGithub": "github", "httpx": "httpx"}
    rows = page("docs/adr/0001-dependencies.md").splitlines()
    unused = {
        package for package in modules if any(f"`{package}`" in row and "nothing imports it" in row for row in rows)
    }
    assert {package for package, module in modules.items() if module not in imported()} == unused


@cache
def imported() -> set[str]:
    nodes = [node for path in sources() for node in ast.walk(ast.parse(path.read_text()))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.partition(".")[0] for name in plain | {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}}


def sources() -> Iterator[Path]:
    return (path for path in sorted((ROOT / "bot").rglob("*.py")) if "sample" not in path.parts)


def test_every_decision_is_listed_has_its_four_parts_and_fits_a_page():
    for path in sorted((ROOT / "docs" / "adr").glob("0*.md")):
        text = path.read_text()
        assert f"({path.name})" in page("docs/adr/README.md")
        assert text.startswith(f"# {int(path.name[:4])}. ")
        assert all(f"\n## {part}\n" in text for part in ("Context", "Decision", "Consequences", "Given up")), path.name
        assert len(text.splitlines()) <= 60


# Settings


def default_of(key: str) -> str:
    model = Settings
    *sections, name = key.split(".")
    for section in sections:
        annotation = model.model_fields[section].annotation
        model = getattr(annotation, "__args__", (annotation,))[0]
    field = next(one for known, one in model.model_fields.items() if (one.alias or known) == name)
    if field.is_required():
        return "required"
    return "none" if field.default is None else f"`{json.dumps(field.default, default=str)}`"


@pytest.mark.parametrize("key", list(known_keys()))
def test_every_setting_is_documented_with_its_default(key: str):
    (row,) = re.findall(rf"^\| `{re.escape(key)}` \| (.+?) \| (.+) \|$", page("docs/settings.md"), re.MULTILINE)
    assert row[0] == default_of(key)
    assert len(row[1]) > 15


def test_no_setting_is_documented_that_does_not_exist():
    documented = re.findall(r"^\| `([\w.]+)` \| (?:`|required|none)", page("docs/settings.md"), re.MULTILINE)
    assert sorted(documented) == sorted(known_keys())


def test_every_setting_named_on_any_page_exists():
    sections = "|".join(sorted({key.partition(".")[0] for key in known_keys() if "." in key}))
    for path in PAGES:
        names = re.findall(rf"`((?:{sections})\.(?!db\b)\w+)`", path.read_text())
        assert [name for name in names if name not in set(known_keys())] == [], path.name


def test_the_example_settings_load_and_have_every_key_with_its_default():
    commented = re.findall(r"^# (\w+) = ", EXAMPLE.read_text(), re.MULTILINE)
    raw = tomllib.loads(re.sub(r"^# (\w+ = |\[\[)", r"\1", EXAMPLE.read_text(), flags=re.MULTILINE))
    (project,), (registry,) = raw.pop("projects"), raw.pop("registries")
    flat = {f"{a}.{b}": value for a, rest in raw.items() if isinstance(rest, dict) for b, value in rest.items()}
    flat |= {name: value for name, value in raw.items() if not isinstance(value, dict)}
    assert {*flat, *(f"projects.{name}" for name in project), *(f"registries.{name}" for name in registry)} == set(
        known_keys()
    )
    plain = {key: value for key, value in flat.items() if key.rpartition(".")[2] not in commented}
    assert {key: f"`{json.dumps(value)}`" for key, value in plain.items()} == {
        key: re.sub(r"\.0`$", "`", default_of(key)) for key in plain
    }
    assert load(EXAMPLE).projects[0].folder == EXAMPLE.parent


# Commands


def commands(made: argparse.ArgumentParser, name: str = "treehand") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yields every command that has an effect, with its full name."""
    groups = [action for action in made._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for word, inner in group.choices.items():
            yield from commands(inner, f"{name} {word}")
    if not groups:
        yield name, made


def section_about(command: str) -> str:
    sections = re.split(r"^###? ", page("docs/commands.md"), flags=re.MULTILINE)
    (found,) = [section for section in sections if re.match(rf"`{command}(?: [^`a-z]*)?`\n", section)]
    return found


@pytest.mark.parametrize(("command", "made"), [pytest.param(*pair, id=pair[0]) for pair in commands(parser())])
def test_every_command_is_documented_with_all_its_arguments(command: str, made: argparse.ArgumentParser):
    section = section_about(command)
    for action in made._actions:
        names = action.option_strings or [str(action.metavar)]
        if not {"--help", "--config"} & set(names):
            assert all(name in section for name in names), f"{command}: {names}"


def test_every_documented_option_exists():
    for command, made in commands(parser()):
        known = {name for action in made._actions for name in action.option_strings} | {"--as"}
        assert set(re.findall(r"`(--?[a-z][a-z-]*)", section_about(command))) <= known, command


def test_every_documented_command_exists():
    known = {command for command, _ in commands(parser())}
    assert (
        set(re.findall(r"^### `(treehand [a-z ]+?)(?: [^a-z`]*)?`$", page("docs/commands.md"), re.MULTILINE)) == known
    )


def test_every_command_on_any_page_exists():
    known = {command for command, _ in commands(parser())}
    groups = {command.rpartition(" ")[0] for command in known if command.count(" ") > 1}
    for path in PAGES:
        text = re.sub(r"^#.*$", "", path.read_text(), flags=re.MULTILINE)
        for words in re.findall(r"(?:^    |`)treehand ([a-z]+(?: [a-z]+)?)", text, re.MULTILINE):
            first, both = f"treehand {words.split()[0]}", f"treehand {words}"
            assert both in known if first in groups and first != both else first in known | groups, (
                f"{path.name}: {both}"
            )


@pytest.mark.parametrize("code", ["0", "1", "2", "3", "130"])
def test_every_exit_code_is_documented(code: str):
    assert f"\n| {code} | " in page("docs/commands.md")


@pytest.mark.parametrize("name", list(CommandName))
def test_every_comment_command_is_documented(name: CommandName):
    assert re.search(rf"^\| `/ai {name}(?: \w+)?` \|", page("docs/comments.md"), re.MULTILINE)


def test_no_comment_command_is_documented_that_does_not_exist():
    for path in PAGES:
        assert set(re.findall(r"`/ai (\w+)", path.read_text())) <= set(CommandName), path.name


def test_every_make_target_on_any_page_exists():
    targets = set(re.findall(r"^([a-z]+):", page("Makefile"), re.MULTILINE))
    for path in PAGES:
        told = re.findall(r"(?:^    |`)make ([a-z]+)", path.read_text(), re.MULTILINE)
        assert set(told) <= targets, path.name
    assert {"demo", "test"} <= set(re.findall(r"^    make ([a-z]+)", page("README.md"), re.MULTILINE))


def test_every_folder_of_tests_is_in_the_quick_check_or_documented_as_left_out():
    tests = ROOT / "tests"
    (quick,) = re.findall(r"^FAST := .*\$\(addprefix tests/,([a-z_/ ]+)\)$", page("Makefile"), re.MULTILINE)
    (listed,) = re.findall(r"`make check` leaves out.*?\(`tests/(.+?)\)", page("CONTRIBUTING.md"), re.DOTALL)
    left_out, fast = set(re.findall(r"[a-z_/]+", listed)), set(quick.split())
    folders = {str(path.parent.relative_to(tests)) for path in tests.rglob("test_*.py")} - {".", "live", "services"}
    assert {folder for folder in folders if not {folder, folder.partition("/")[0]} & (left_out | fast)} == set()
    assert not left_out & fast


# Troubleshooting


def said() -> str:
    """Returns all text of the program, with … in place of inserted values, and without marks of code."""
    texts = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(v.value if isinstance(v, ast.Constant) else "…" for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts).replace("`", "")


def test_every_documented_symptom_is_text_of_the_program():
    symptoms = re.findall(r"^### `(.+)`$", page("docs/troubleshooting.md"), re.MULTILINE)
    words = said()
    assert symptoms
    assert [symptom for symptom in symptoms if symptom.replace("`", "") not in words] == []


# All pages


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_link_between_pages_has_a_target(path: Path):
    for target in re.findall(r"(?:\]\(|\bsrc(?:set)?=\")([^)\s\"]+)", path.read_text()):
        if "://" not in target:
            place, _, anchor = target.partition("#")
            there = path.parent / place if place else path
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


def test_every_picture_is_used_described_and_small():
    shown = [(path, tag) for path in PAGES for tag in re.findall(r"<(?:img|source)\b[^>]*>", path.read_text())]
    assert [tag for _, tag in shown if tag.startswith("<img") and not re.search(r'alt="[^"]{20,}"', tag)] == []
    used = {(path.parent / re.search(r'src(?:set)?="([^"]+)"', tag)[1]).resolve() for path, tag in shown}
    pictures = set((ROOT / "docs" / "pictures").iterdir())
    assert pictures == used
    assert [path.name for path in pictures if path.stat().st_size > 150_000] == []


@pytest.mark.parametrize("path", [*PAGES, EXAMPLE, ROOT / "LICENSE"], ids=named)
def test_no_page_has_a_path_of_somebodys_machine(path: Path):
    assert re.findall(r"(?<![\w.~])/(?:home|root|tmp|work|Users|mnt)/\S*", path.read_text()) == []


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path.is_dir():
            path /= "README.md"
        if path.suffix == ".md" and path not in reached:
            reached.add(path)
            links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text())]
            waiting += [(path.parent / link).resolve() for link in links if link and "://" not in link]
    assert {path.resolve() for path in PAGES} <= reached


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_no_line_is_wider_than_120_columns(path: Path):
    """Tables, pictures, headings and quoted output cannot be wrapped."""
    lines = path.read_text().splitlines()
    assert [line for line in lines if len(line) > 120 and not line.lstrip().startswith(("|", "<", "#", ">"))] == []


# Attacks


def test_the_page_of_attacks_lists_every_test_marked_as_an_attack():
    sections = re.findall(r"^## (T\d+): [^\n]+\n(.*?)^Left: ", page("docs/attacks.md"), re.MULTILINE | re.DOTALL)
    bullets = re.compile(r"^- (.*?)\.$(?=\n(?:- |\n))", re.MULTILINE | re.DOTALL)
    listed = [(threat, " ".join(attempt.split())) for threat, text in sections for attempt in bullets.findall(text)]
    assert sorted(listed) == sorted(attack_marks())


# README, llms.txt and the recording


def test_the_readme_is_short():
    assert len(page("README.md").split()) <= 700


def test_the_readme_says_its_limits_before_it_compares():
    readme = page("README.md")
    assert readme.index("## Limits") < readme.index("docs/comparison.md")


def test_llms_txt_follows_its_convention_and_links_to_existing_pages():
    lines = page("llms.txt").splitlines()
    assert (lines[0], lines[2][:2]) == ("# Treehand", "> ")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): .+$", page("llms.txt"), re.MULTILINE)
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert {line[:2] for line in lines[5:] if line} == {"##", "- "}


def test_every_command_for_agents_exists_and_the_last_one_is_check():
    block = page("docs/start.md").partition("## Paste this to your agent")[2]
    told = re.findall(r"`treehand (\w[\w-]*)", block)
    assert set(told) <= {name.split()[1] for name, _ in commands(parser())}
    assert told[-2:] == ["check", "run"]  # `run` is what people do then


def test_the_recording_needs_no_script_and_no_network_and_can_be_still():
    recording = page("docs/pictures/demo.svg")
    ET.fromstring(recording)
    assert "<script" not in recording
    assert re.findall(r"(?:href|src)=\"(?!#)|url\(|@import", recording) == []
    assert "prefers-reduced-motion" in recording
    assert all(
        part in recording for part in ("conflicts with this merge", "combined both changes", "stopped by command")
    )

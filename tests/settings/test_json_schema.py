"""The published JSON Schemas say of types and names what the strict readers say."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from pydantic import ValidationError

from bot.cli.init_settings import SettingsDraft
from bot.domain.repository_settings import parse_repository_settings
from bot.errors import NeedsHuman
from bot.settings.json_schema import as_text, repository_schema, settings_schema
from bot.settings.schema import Settings

ROOT = Path(__file__).parents[2]
SETTINGS, REPOSITORY = settings_schema(), repository_schema()
OF_RULES = {"value_error"}
"""Mistakes that no schema can know: everything else is a mistake of a type or of a name."""


@pytest.mark.parametrize(("name", "made"), [("treehand", SETTINGS), ("repository", REPOSITORY)])
def test_the_published_file_is_what_the_models_say(name, made):
    Draft7Validator.check_schema(made)
    published = (ROOT / f"config/{name}.schema.json").read_text()
    assert published == as_text(made), f"treehand schema > config/{name}.schema.json"


def test_every_key_of_the_settings_is_described():
    models = [SETTINGS, *SETTINGS["$defs"].values()]
    silent = [key for model in models for key, one in model["properties"].items() if not described(one)]
    assert silent == []


def described(one: dict) -> bool:
    return "description" in one or "$ref" in str(one)


def values_of(schema: dict) -> st.SearchStrategy:
    """Values that a part of the schema accepts."""
    if "$ref" in schema:
        return values_of(SETTINGS["$defs"][schema["$ref"].rpartition("/")[2]])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([values_of(one) for one in schema["anyOf"]])
    if schema["type"] == "object":
        return tables_of(schema)
    return scalars_of(schema)


def scalars_of(schema: dict) -> st.SearchStrategy:
    low, high = schema.get("minimum", schema.get("exclusiveMinimum", 0)), schema.get("maximum", 1000)
    numbers = st.floats(low, high, exclude_min="exclusiveMinimum" in schema) | st.integers(low + 1, high)
    return {
        "boolean": st.booleans,
        "integer": lambda: st.integers(low, high),
        "number": lambda: numbers,
        "string": lambda: st.text("abc/.:-", min_size=1),
        "array": lambda: st.lists(values_of(schema["items"]), max_size=2),
    }[schema["type"]]()


def tables_of(schema: dict) -> st.SearchStrategy:
    if "properties" not in schema:
        return st.dictionaries(st.text("ab", min_size=1), values_of(schema["additionalProperties"]), max_size=2)
    needed = {name: values_of(one) for name, one in schema["properties"].items() if name in schema.get("required", ())}
    others = {name: values_of(one) for name, one in schema["properties"].items() if name not in needed}
    return st.fixed_dictionaries(needed, optional=others)


def mistakes(file: dict) -> set[str]:
    try:
        Settings.model_validate(file)
    except ValidationError as problem:
        return {error["type"] for error in problem.errors()} - OF_RULES
    return set()


@given(st.data())
def test_what_the_schema_accepts_has_no_wrong_name_and_no_wrong_type_for_the_reader(data):
    keys = data.draw(st.sets(st.sampled_from(sorted(SETTINGS["properties"])), max_size=3))
    file = {key: data.draw(values_of(SETTINGS["properties"][key])) for key in keys}
    assert list(Draft7Validator(SETTINGS).iter_errors(file)) == []
    assert mistakes(file) == set()


@given(st.sampled_from(["", *SETTINGS["properties"]]), st.text("abcxyz_", min_size=9))
def test_neither_accepts_a_key_that_does_not_exist(place, key):
    inner = SETTINGS["properties"].get(place, {})
    if place and "$ref" not in str(inner):
        return
    table = {key: 1}
    file = {place: [table] if inner.get("type") == "array" else table} if place else table
    assert not Draft7Validator(SETTINGS).is_valid(file)
    assert "extra_forbidden" in mistakes(file)


VALID = [
    "",
    (ROOT / "config/treehand.example.toml").read_text(),
    str(SettingsDraft("shop", "local", ".", "main")),
    str(SettingsDraft("shop", "github", "acme/shop", token_file=Path("/t"), key_file=Path("/k"))),
    str(SettingsDraft("shop", "linear", "acme/shop", team="ENG", setup=("make",))),
    'state_dir = "~/x"\n[poll]\ninterval = 5\n',
    '[[projects]]\nname = "a"\nrepository = "."\nsetup = false\nverify = ["x"]\nservices = false\n',
    '[linear]\nstarted = "Doing"\nreview = false\n',
    '[budget.prices."m"]\ninput = 1\noutput = 2.5\n',
    '[notify]\non = ["asking"]\n',
]
INVALID = [
    "poll = 5\n",
    "[poll]\nintervall = 5\n",
    "[poll]\ninterval = 0\n",
    "[limits]\nworking = 1.5\n",
    '[limits]\nworking = "many"\n',
    "[agent]\nmodel = 5\n",
    '[agent]\nkind = "other"\n',
    '[sandbox]\ntools = "/opt"\n',
    "[sandbox]\nhosts = [5]\n",
    '[log]\nlevel = "loud"\n',
    '[notify]\non = ["never"]\n',
    '[[projects]]\nname = "a"\n',
    '[[projects]]\nname = "a"\nrepository = "."\nsetup = true\n',
    '[[projects]]\nname = "a"\nrepository = "."\ntracker = "jira"\n',
    '[[projects]]\nname = "a"\nrepository = "."\ncopied = []\n',
    '[[projects]]\nname = "a"\nrepository = "."\npool = 51\n',
    '[budget.prices."m"]\ninput = 1\n',
]


@pytest.mark.parametrize("text", VALID)
def test_both_accept_a_valid_file(text):
    file = tomllib.loads(text)
    assert list(Draft7Validator(SETTINGS).iter_errors(file)) == []
    Settings.model_validate(file)


@pytest.mark.parametrize("text", INVALID)
def test_both_refuse_an_invalid_file(text):
    file = tomllib.loads(text)
    assert not Draft7Validator(SETTINGS).is_valid(file)
    with pytest.raises(ValidationError):
        Settings.model_validate(file)


# The file of a repository


@pytest.mark.parametrize(
    "text",
    [
        "",
        'setup = ["make"]\nverify = []\nteardown = ["x"]\ncopy = [".env"]\n',
        'protected = ["deploy/**"]\nservices = ["redis"]\ninstructions = "Be brief."\n[run]\nweb = "npm start"\n',
    ],
)
def test_both_accept_a_valid_file_of_a_repository(text):
    assert list(Draft7Validator(REPOSITORY).iter_errors(tomllib.loads(text))) == []
    parse_repository_settings(text)


@pytest.mark.parametrize(
    "text",
    [
        "setup = false\n", 'setup = "make"\n', 'setup = [" "]\n', "verify = [1]\n", 'services = ["kafka"]\n',
        "instructions = 5\n", 'run = ["npm"]\n', "[run]\nweb = 5\n", '[run]\nweb = ""\n', 'setupp = ["x"]\n',
        "[limits]\nworking = 9\n",
    ],
)  # fmt: skip
def test_both_refuse_an_invalid_file_of_a_repository(text):
    assert not Draft7Validator(REPOSITORY).is_valid(tomllib.loads(text))
    with pytest.raises(NeedsHuman):
        parse_repository_settings(text)

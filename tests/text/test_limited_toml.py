"""TOML of repositories and agents is read in a time that its length limits."""

import pytest

from bot.publish_guard.auto_run_files import changed_build
from bot.setup.repository_files import RepositoryFiles
from bot.text.limited_toml import parse_toml

HOSTILE = ["a." * 200_000 + "a=1", "[" + "a." * 200_000 + "a]", "x={" + "a." * 200_000 + "a=1}", "a=" + "[" * 20_000]


@pytest.mark.parametrize("text", HOSTILE, ids=["key", "table", "inner key", "depth"])
def test_t16_toml_of_deep_keys_or_values_is_not_read(text):
    with pytest.raises(ValueError, match=r"many parts|nested"):
        parse_toml(text)
    assert RepositoryFiles.of({"mise.toml": text}).top().toml("mise.toml") == {}
    assert changed_build(text.encode(), [])


def test_usual_toml_is_read():
    dots = "." * 90
    text = f'a.b = 1\n[x.y]\nz = """\n{dots}\n{dots}\n"""\nv = ["1.2.3", "4.5.6"]\n'
    assert parse_toml(text) == {"a": {"b": 1}, "x": {"y": {"z": f"{dots}\n{dots}\n", "v": ["1.2.3", "4.5.6"]}}}

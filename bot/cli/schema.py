"""`treehand schema`: prints the JSON Schema of a settings file, for editors."""

from argparse import Namespace

from bot.settings.json_schema import as_text, repository_schema, settings_schema

_MADE = {"settings": settings_schema, "repository": repository_schema}


def schema(options: Namespace) -> None:
    print(as_text(_MADE[options.which]()), end="")

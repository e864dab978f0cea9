"""`treehand cost`: prints the money and tokens spent, per issue, day, project or person."""

import json
from argparse import Namespace

from bot.cli.output import colour_console, print_text
from bot.cli.settings import load_settings
from bot.domain.price import why_guessed
from bot.store.build import open_store
from bot.text.invisible_characters import on_one_line


def cost(options: Namespace) -> None:
    settings = load_settings(options)
    store = open_store(settings)
    rows, unpriced = store.cost_by(options.by), store.unpriced_models()
    store.close()
    if options.json:
        print(json.dumps([{options.by: name, "usd": round(usd, 4), "tokens": tokens} for name, usd, tokens in rows]))
        return
    total = sum(usd for _, usd, _ in rows), sum(tokens for *_, tokens in rows)
    rows = [(on_one_line(name), usd, tokens) for name, usd, tokens in rows]
    if console := colour_console():
        from bot.cli import tables

        console.print(tables.render_costs(options.by, rows, total))
    else:
        for name, usd, tokens in (*rows, ("all", *total)):
            print_text(f"{name:<20} ${usd:>9.2f} {tokens:>12,} tokens")
    for model in unpriced:
        print_text(f"Part of the cost is {why_guessed(on_one_line(model))}.")

"""Rust: detects the setup and test commands of a folder with a Cargo.toml. Pure."""

from bot.domain.setup_plan import SetupStep
from bot.setup.repository_files import FileFolder
from bot.setup.stacks.steps import run_step, setup_step

LOCKS = ("Cargo.lock",)


def find_setup(folder: FileFolder) -> SetupStep | None:
    if not folder.has("Cargo.toml"):
        return None
    lock = folder.has(*LOCKS)
    return setup_step(folder, "cargo fetch --locked" if lock else "cargo fetch", lock or "Cargo.toml", "cargo")


def find_tests(folder: FileFolder) -> SetupStep | None:
    locked = " --locked" if folder.has(*LOCKS) else ""
    return (
        run_step(folder, f"cargo test{locked} --no-fail-fast", "Cargo.toml", "cargo")
        if folder.has("Cargo.toml")
        else None
    )

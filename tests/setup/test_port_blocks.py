"""Port blocks: ten ports for each worktree, for as long as it exists."""

import socket
from concurrent.futures import ThreadPoolExecutor

from bot.setup.port_blocks import BLOCK_SIZE, PortBlocks


def worktree(tmp_path, name: str):
    folder = tmp_path / "worktrees" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_worktree_keeps_its_ports_after_a_restart(tmp_path):
    one = worktree(tmp_path, "shop-1")
    ports = PortBlocks(tmp_path / "ports").allocate(one)
    assert len(ports) == BLOCK_SIZE
    assert PortBlocks(tmp_path / "ports").allocate(one) == ports


def test_worktrees_never_share_ports_even_if_they_are_allocated_at_once(tmp_path):
    folders = [worktree(tmp_path, f"shop-{number}") for number in range(60)]
    blocks = PortBlocks(tmp_path / "ports")
    with ThreadPoolExecutor(16) as pool:
        given = [port for block in pool.map(blocks.allocate, folders) for port in block]
    assert len(given) == len(set(given)) == 60 * BLOCK_SIZE
    assert 20_000 <= min(given) <= max(given) < 32_768, "below those that the kernel gives out"


def test_ports_in_use_are_not_allocated(tmp_path):
    one = worktree(tmp_path, "shop-1")
    first = PortBlocks(tmp_path / "ports").allocate(one)
    with socket.socket() as server:
        server.bind(("127.0.0.1", first[3]))
        assert not set(PortBlocks(tmp_path / "others").allocate(one)) & set(first)


def test_ports_are_free_again_after_a_worktree_is_removed(tmp_path):
    blocks, one = PortBlocks(tmp_path / "ports"), worktree(tmp_path, "shop-1")
    first = blocks.allocate(one)
    blocks.release(one)
    assert list((tmp_path / "ports").iterdir()) == []
    assert blocks.allocate(one) == first
    one.rmdir()
    assert blocks._reserve(first[0], worktree(tmp_path, "shop-2"))

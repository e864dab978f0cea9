"""Ports: ten for each worktree, its own for as long as it is there."""

import socket
from concurrent.futures import ThreadPoolExecutor

from bot.setup.port_blocks import SIZE, Blocks


def worktree(tmp_path, name: str):
    folder = tmp_path / "worktrees" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_worktree_keeps_its_ports_also_in_another_life_of_ours(tmp_path):
    one = worktree(tmp_path, "shop-1")
    ports = Blocks(tmp_path / "ports").block_for(one)
    assert len(ports) == SIZE
    assert Blocks(tmp_path / "ports").block_for(one) == ports


def test_no_two_worktrees_have_one_in_common_also_when_they_ask_at_once(tmp_path):
    folders = [worktree(tmp_path, f"shop-{number}") for number in range(60)]
    blocks = Blocks(tmp_path / "ports")
    with ThreadPoolExecutor(16) as pool:
        given = [port for block in pool.map(blocks.block_for, folders) for port in block]
    assert len(given) == len(set(given)) == 60 * SIZE
    assert 20_000 <= min(given) <= max(given) < 32_768, "below those that the kernel gives out"


def test_ports_that_somebody_listens_on_are_left_alone(tmp_path):
    one = worktree(tmp_path, "shop-1")
    first = Blocks(tmp_path / "ports").block_for(one)
    with socket.socket() as server:
        server.bind(("127.0.0.1", first[3]))
        assert not set(Blocks(tmp_path / "others").block_for(one)) & set(first)


def test_ports_are_given_again_once_a_worktree_is_gone(tmp_path):
    blocks, one = Blocks(tmp_path / "ports"), worktree(tmp_path, "shop-1")
    first = blocks.block_for(one)
    blocks.release(one)
    assert list((tmp_path / "ports").iterdir()) == []
    assert blocks.block_for(one) == first
    one.rmdir()
    assert blocks._take(first[0], worktree(tmp_path, "shop-2"))

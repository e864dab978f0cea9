"""Evidence files are stored by run and turn."""

import os

import pytest

from bot.evidence.store import EvidenceStore

RUN = "acme/shop#1/1"
PNG = b"\x89PNG\r\n\x1a\n0"


@pytest.fixture
def evidence(tmp_path) -> EvidenceStore:
    return EvidenceStore(tmp_path / "evidence")


def told(evidence: EvidenceStore, run: str = RUN) -> list[tuple[str, int, str, str]]:
    return [(one.name, one.size, one.media_type.partition(";")[0], one.turn) for one in evidence.list_files(run)]


def test_the_newest_file_of_each_name_is_listed_in_order(evidence):
    evidence.save(RUN, "turn-2", "b/login.png", PNG)
    evidence.save(RUN, "turn-2", "a.log", b"one")
    evidence.save(RUN, "turn-10", "a.log", b"two!")
    evidence.save("acme/shop#1/2", "turn-1", "other.log", b"x")
    assert told(evidence) == [("b/login.png", 9, "image/png", "turn-2"), ("a.log", 4, "text/plain", "turn-10")]
    assert evidence.read(RUN, "a.log") == (b"two!", "text/plain; charset=utf-8")
    assert evidence.read(RUN, "b/login.png") == (PNG, "image/png")
    assert evidence.size_of(RUN) == 9 + 3 + 4


def test_an_unchanged_file_is_stored_once(evidence):
    first = evidence.save(RUN, "turn-1", "a.log", b"one")
    assert evidence.save(RUN, "turn-2", "a.log", b"one") == first
    assert evidence.size_of(RUN) == 3
    assert evidence.save(RUN, "turn-1", "a.log", b"one") == first


@pytest.mark.parametrize("name", ["", "..", "../turn-1/a.log", "/etc/passwd", "a%2Elog", "turn-1/a.log", "a.log\0"])
def test_only_listed_files_can_be_read(evidence, name):
    evidence.save(RUN, "turn-1", "a.log", b"one")
    assert evidence.read(RUN, name) is None


def test_an_unknown_run_has_no_evidence(evidence):
    assert list(evidence.list_files("../../x")) == []
    assert evidence.read("nobody", "a.log") is None


def test_a_character_cut_at_the_end_of_the_sample_still_counts_as_text(evidence):
    evidence.save(RUN, "turn-1", "a.log", b"x" * 15 + "ü".encode())
    assert told(evidence)[0][2] == "text/plain"


def test_old_evidence_is_found_except_for_kept_runs(evidence):
    for run in ("old", "kept", "new"):
        evidence.save(run, "turn-1", "a.log", b"x")
        os.utime(evidence.folder / run, (1, 1) if run != "new" else (99, 99))
    assert [path.name for path in evidence.older_than(50, keep=["kept"])] == ["old"]

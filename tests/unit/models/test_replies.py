"""Kept replies: what leaves with a deleted text, and files that cannot be used."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hlgraph.models.accounts.replies import Origin, Replies
from hlgraph.models.protocols import Completion


@pytest.fixture
def replies(tmp_path: Path) -> Iterator[Replies]:
    made = Replies(tmp_path / "deep" / "replies.sqlite")
    yield made
    made.close()


def keep(replies: Replies, name: str, *origins: Origin) -> None:
    for origin in origins:
        replies.keep(name, Completion(f"reply {name}", 3, 2), origin=origin)


def held(replies: Replies, name: str, origin: Origin | None = None) -> bool:
    return replies.find(name, origin=origin) is not None


def test_file_is_created_at_the_first_stored_reply(replies: Replies) -> None:
    assert not held(replies, "a")
    assert replies.sources("c") == []
    replies.retain("c", {})
    replies.end_sweep("c")
    assert not replies.begin_sweep("c", create=False)
    assert not replies.path.parent.exists()


def test_reply_is_stored_with_its_tokens(replies: Replies) -> None:
    keep(replies, "a", Origin("c", "s1", "p1"))
    assert replies.find("a", origin=Origin("c", "s1", "p1")) == Completion("reply a", 3, 2, is_kept=True)


def test_sweep_deletes_replies_about_deleted_parts_and_about_unknown_sources(replies: Replies) -> None:
    keep(replies, "stays", Origin("c", "s1", "p1"))
    keep(replies, "edited", Origin("c", "s1", "p2"))
    keep(replies, "deleted", Origin("c", "s2", "p1"))
    keep(replies, "shared", Origin("c", "s2", "p3"), Origin("c", "s1", "p1"))
    keep(replies, "answer", Origin("c"))
    keep(replies, "foreign", Origin("other", "s2", "p1"))
    assert replies.sources("c") == replies.sources("c", is_unmarked=True) == ["s1", "s2"]
    replies.mark("c", {"s1": {"p1", "p2"}, "s2": {"p1", "p3"}})
    assert replies.sources("c", is_unmarked=True) == []
    replies.retain("c", {"s1": {"p1"}})
    names = ("stays", "edited", "deleted", "shared", "answer", "foreign")
    assert {name for name in names if held(replies, name)} == {"stays", "shared", "foreign"}
    replies.close()
    for path in replies.path.parent.iterdir():
        assert b"reply deleted" not in path.read_bytes()


def test_paid_replies_about_unstored_parts_stay_until_their_source_is_deleted(replies: Replies) -> None:
    keep(replies, "stored", Origin("c", "s1", "p1"))
    keep(replies, "of the next version", Origin("c", "s1", "p2"))
    keep(replies, "of another source", Origin("c", "s2", "p1"))
    replies.mark("c", {"s1": {"p1"}})
    names = ("stored", "of the next version", "of another source")
    replies.retain("c", {"s1": {"p1"}})
    assert all(held(replies, name) for name in names)
    replies.retain("c", {})
    assert [held(replies, name) for name in names] == [False, False, True]
    replies.retain("c", {}, everything=True)
    assert not held(replies, "of another source")


def test_reading_a_reply_adds_its_origin(replies: Replies) -> None:
    keep(replies, "a", Origin("c", "s1", "p1"))
    assert held(replies, "a", Origin("c", "s2", "p1"))
    replies.mark("c", {"s1": {"p1"}, "s2": {"p1"}})
    replies.retain("c", {"s2": {"p1"}})
    assert held(replies, "a", Origin("c", "s2", "p1"))


def test_interrupted_sweep_is_recorded(replies: Replies) -> None:
    later = Replies(replies.path)
    assert not replies.begin_sweep("c")
    assert not replies.begin_sweep("other")
    assert later.begin_sweep("c")
    later.retain("c", {})  # has done what the other one had to do so far
    later.close()
    last = Replies(replies.path)
    assert not last.begin_sweep("c")
    assert replies.begin_sweep("c")  # it goes on, and tells so
    last.end_sweep("c")
    assert last.begin_sweep("c")
    last.close()


def test_oldest_replies_are_deleted_when_the_file_is_full(tmp_path: Path) -> None:
    replies = Replies(tmp_path / "r.sqlite", max_bytes=200_000)
    for number in range(100):
        replies.keep(str(number), Completion("x" * 5000), origin=Origin("c", "s", str(number)))
    assert not held(replies, "0")
    assert held(replies, "99")
    replies.close()
    assert (tmp_path / "r.sqlite").stat().st_size < 400_000


def test_corrupt_file_is_renamed_and_replaced(replies: Replies, caplog: pytest.LogCaptureFixture) -> None:
    replies.path.parent.mkdir()
    replies.path.write_bytes(b"no database" * 1000)
    keep(replies, "a", Origin("c"))
    assert held(replies, "a")
    assert "file of stored replies" in caplog.text
    assert "a new one is created" in caplog.text
    replies.retain("c", {})
    assert not replies.path.with_name("replies.sqlite.broken").exists()


def test_unwritable_folder_loses_replies_without_an_error(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("no folder")
    replies = Replies(tmp_path / "file" / "r.sqlite")
    with caplog.at_level(logging.WARNING):
        for name in "ab":
            keep(replies, name, Origin("c"))
    assert caplog.text.count("cannot be used") == 1
    assert "set HLGRAPH_LEDGER" in caplog.text


def test_deleted_replies_are_overwritten_in_the_file(replies: Replies) -> None:
    """Where the tree of the table was balanced, old cells stay in the gap of a page."""
    rng = random.Random(1)
    kept: set[str] = set()
    for step in range(12):
        for _ in range(60):
            name = f"zq{rng.randrange(10**12):012}"
            kept.add(name)
            replies.keep(name, Completion(name * rng.choice((1, 9, 90)), 3, 2), origin=Origin("c", name, "p"))
        replies.mark("c", {name: {"p"} for name in kept})
        kept = set(rng.sample(sorted(kept), len(kept) // 2))
        replies.retain("c", {name: {"p"} for name in kept})
        held = b"".join(path.read_bytes() for path in replies.path.parent.iterdir())
        assert {item.decode() for item in re.findall(rb"zq\d{12}", held)} <= kept, step

"""Every command that writes, killed at any moment: the very same command again ends in the store of a run without a kill."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import command_worker
import pytest
from command_line import call
from command_worker import TEXTS as _TEXTS
from command_worker import Moments
from older_store import undo_words_fields_and_lists
from store_dump import dump
from thoroughness import cases
from topic_contract import make_older

import hlgraph
from hlgraph.records import Kind
from hlgraph.stores.open import open_stores

_KILLS = int(os.environ.get("HLGRAPH_FAULT_ROUNDS", str(cases(1, 8))))
_DELETED = ("bridge", "flood", "mill")
_GONE = ("Vantongeren", "vantongeren")  # stands in no uri


class Base(NamedTuple):
    """Where the documents are, a store before the command, and the place where the store of a run lies."""

    docs: Path
    template: Path
    work: Path

    def reset(self, prepare: Callable[[Base], None] | None) -> None:
        """The store before the command, at its place: names of files depend on it."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.template, self.work)
        if prepare is not None:
            prepare(self)

    @property
    def url(self) -> str:
        return f"hlgraph://{self.work}/store"


class Command(NamedTuple):
    """A command line (``{name}`` is filled in), what is done to the store before it, texts that it deletes, least kills, and
    what else has to be as without a kill.
    """

    line: str
    prepare: Callable[[Base], None] | None = None
    gone: Sequence[str] = ()
    kills: int = 1
    seen: Callable[[], object] = tuple


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as found:
        yield found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Base:
    """A store with five documents, a decision, and a chunk that a chat model could not extract."""
    folder = tmp_path_factory.mktemp("killed")
    found = Base(folder / "docs", folder / "template", folder / "work")
    found.docs.mkdir()
    for name, text in _TEXTS.items():
        (found.docs / f"{name}.txt").write_text(text)
    (folder / "reply.json").write_text(json.dumps({"propositions": [{"text": "Ivo Brandt owned the Vessel Mill."}]}))
    (folder / "domain.json").write_text(json.dumps({"kinds": ["bridge"], "topics": ["water"]}))
    patch.chdir(folder)
    for name in ("HLGRAPH_CORPUS", "HLGRAPH_CONFIG", "HLGRAPH_VECTORS", "HLGRAPH_LEDGER"):
        patch.delenv(name, raising=False)
    patch.setenv("HLGRAPH_STORE", found.url)
    patch.setenv("HLGRAPH_CACHE", str(found.work / "cache"))
    command_worker.models(patch.setattr)
    with hlgraph.connect() as graph:
        graph.ingest([found.docs])
        graph.merges.apply([("Tessing", "Orne")], keep_apart=True)
    with pytest.MonkeyPatch.context() as broken, hlgraph.connect(corpus="chat") as graph:
        broken.setenv(command_worker.BROKEN, "Vessel Mill")
        graph.ingest([found.docs / "mill.txt", found.docs / "town.txt"], extract="chat")
    shutil.move(found.work, found.template)
    return found


def _edit(base: Base) -> None:
    """One document is edited, one gone, one new."""
    (base.docs / "town.txt").write_text(f"{_TEXTS['town']} Una Moss saw it.")
    (base.docs / "flood.txt").unlink(missing_ok=True)
    (base.docs / "new.txt").write_text("Una Moss opened the Orne Hall in 1951.")


def _enlarge(base: Base) -> None:
    """One document is longer than several changes."""
    people, things = (
        ("Mara Quill", "Ivo Brandt", "Una Moss", "Emeric Vaude"),
        ("Bridge", "Mill", "Abbey", "Hall", "Light"),
    )
    lines = [f"{people[at % 4]} repaired the Orne {things[at % 5]} {at} in {1800 + at}." for at in range(160)]
    (base.docs / "large.txt").write_text("\n\n".join(" ".join(lines[at : at + 4]) for at in range(0, 160, 4)))


def _cut(base: Base) -> None:
    """The vector store has lost rows."""
    opened = open_stores(base.url)
    with opened.closing, opened.stores.graph.lock():
        for kind in (Kind.STATEMENT, Kind.ENTITY):
            lost = sorted(opened.stores.vectors.ids(kind, "default"))[::2]
            opened.stores.vectors.delete("default", {kind: lost})


def _age(base: Base) -> None:
    """The store is one of version 0.1."""
    opened = open_stores(base.url)
    with opened.closing:
        make_older(opened.stores, "default")
    with closing(sqlite3.connect(base.work / "store" / "hlgraph.db")) as connection, connection:
        undo_words_fields_and_lists(connection)
        connection.executescript(
            "ALTER TABLE corpus DROP COLUMN renewed_to; ALTER TABLE corpus DROP COLUMN calibration;"
            "ALTER TABLE summary DROP COLUMN level; ALTER TABLE vector DROP COLUMN checksum; DROP TABLE seal;"
            "CREATE TABLE co_occurs (a INTEGER, b INTEGER, chunks INTEGER);"
            "DELETE FROM migration WHERE version >= 7;"
        )


def _receipted() -> object:
    """What the receipts of all runs of a command say together, after their chain was verified: no run claims what another did."""
    with hlgraph.connect() as graph:
        verified = graph.receipts.verify("work/receipts.jsonl")
    assert (verified.returned, verified.missing) == ((), 0)
    contents = [receipt.content for receipt in verified.receipts]
    removed = sum((Counter(content["removed"]) for content in contents), Counter())
    left = {count for content in contents for counts in content["left"].values() for count in counts.values()}
    hashes = [source["uri_sha256"] for content in contents for source in content["sources"]]
    ids = [name for receipt in verified.receipts for name in receipt.ids]
    versions = (contents[0]["before"]["version"], contents[0]["after"]["version"])
    return sorted(ids), sorted(hashes), removed, [content["uncounted"] for content in contents[:1]], left, versions


def _set_domain(_: Base) -> None:
    assert call("domain", "set", "domain.json")[0] == 0


def _build(_: Base) -> None:
    assert call("communities", "build")[0] == 0


def _empty(base: Base) -> None:
    shutil.rmtree(base.work)


def _export(base: Base) -> None:
    """Both corpora are exported, and a store without them is in their place."""
    _build(base)
    for name in ("default", "chat"):
        assert call("export", str(base.work / name), "--corpus", name)[0] == 0
    shutil.rmtree(base.work / "store")
    assert call("ingest", str(base.docs / "town.txt"), "--corpus", "other")[0] == 0


def _export_before(base: Base) -> None:
    """The corpus was exported before its last change."""
    assert call("export", str(base.work / "default"))[0] == 0
    assert call("delete", str(base.docs / "mill.txt"))[0] == 0


def _second_set(base: Base) -> None:
    _build(base)
    assert call("embeddings", "build", "words-new")[0] == 0


def _other_than_built(base: Base) -> None:
    """A second set that lacks a document, and has none of a deleted one."""
    _second_set(base)
    _edit(base)
    assert call("ingest", str(base.docs), "--delete-missing")[0] == 0


def _sets() -> object:
    """The sets of vectors, and the vectors of the one that is not current."""
    with hlgraph.connect() as graph:
        sets, vectors = graph.embeddings.list(), graph._opened.stores.vectors
        stored = graph.stats()[0].sets
        other = None if stored is None or stored.other is None else f"default@vectors-{stored.other.id}"
        rows = {}
        for kind in (Kind.CHUNK, Kind.STATEMENT, Kind.TOPIC, Kind.ENTITY) if other else ():
            ids, matrix = vectors.vectors(kind, str(other), ids=sorted(vectors.ids(kind, str(other))))
            rows[kind] = dict(zip(ids, matrix.round(5).tolist(), strict=True))
        return [(one.embedding, one.state, one.rows, one.missing) for one in sets], rows


_COMMANDS = {
    "ingest, first": Command("ingest docs", _empty),
    "ingest, edited": Command("ingest docs --delete-missing", _edit, _GONE),
    "ingest, in parts": Command("ingest docs", _enlarge, kills=3),
    "delete, a list": Command(" ".join(["delete", *(f"docs/{name}.txt" for name in _DELETED)]), gone=_GONE, kills=3),
    "delete, a folder": Command("delete docs", gone=_GONE),
    "delete, by filter": Command("delete --where title!='mill'", gone=_GONE),
    "delete, receipt": Command(
        " ".join(["delete", *(f"docs/{name}.txt" for name in _DELETED), "--receipt work/receipts.jsonl"]),
        gone=_GONE,
        kills=4,
        seen=_receipted,
    ),
    "delete missing, receipt": Command(
        "ingest docs --delete-missing --receipt work/receipts.jsonl", _edit, _GONE, kills=3, seen=_receipted
    ),
    "delete, all": Command("delete --all", gone=_GONE),
    "migrate": Command("migrate apply", _age),
    "communities": Command("communities build"),
    "hierarchy": Command("hierarchy build --summaries extractive --neighbours 1 --threshold 0.1"),
    "merges judge": Command("merges judge --by rules --write"),
    "merges apply": Command("merges apply Quarrick Tessing"),
    "merges undo": Command("merges undo {decision}", kills=2),
    "domain set": Command("domain set domain.json"),
    "domain infer": Command("domain infer docs"),
    "domain clear": Command("domain clear", _set_domain),
    "reconcile": Command("reconcile --repair", _cut),
    "export": Command("export work/export", kills=3),
    "export, again": Command("export work/default", _export_before, kills=3),
    "import": Command("import work/default", _export, kills=3),
    "import, another name": Command("import work/default --corpus new", _export, kills=3),
    "embeddings build": Command("embeddings build words-new", _build, seen=_sets),
    "embeddings build, again": Command("embeddings build words-new", _other_than_built, _GONE, seen=_sets),
    "embeddings switch": Command("embeddings switch", _second_set, seen=_sets, kills=2),
    "embeddings drop": Command("embeddings drop", _second_set, seen=_sets),
    "failures retry": Command("failures retry {failure} --corpus chat"),
    "failures accept": Command("failures accept {failure} --file reply.json --corpus chat", kills=2),
    "failures drop": Command("failures accept {failure} --drop --corpus chat"),
}


def _line(command: Command) -> list[str]:
    """The words of the command, with the ids of what it names."""
    with hlgraph.connect() as graph:
        decision = graph.merges.list().decisions
    with hlgraph.connect(corpus="chat") as graph:
        failures = graph.failures.find()
    names = {"{decision}": decision and decision[0].id, "{failure}": failures and failures[0].id[:8]}
    return [str(names.get(word, word)) for word in command.line.split()]


def _kills(moments: int, most: int, *, seed: str) -> list[int]:
    """The moments at which the command is killed: spread over it; where there are several, the last one is that at which all
    is done, and nothing said.
    """
    rng = random.Random(seed)
    if most == 1:
        return [rng.randint(1, moments)]
    bounds = [round(1 + at * (moments - 1) / (most - 1)) for at in range(most)]
    return [*(rng.randint(low, max(low, high - 1)) for low, high in itertools.pairwise(bounds)), moments]


def _unfinished(base: Base) -> int:
    """The number of changes in the journal of the killed command."""
    database = base.work / "store" / "hlgraph.db"
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM journal").fetchone()[0])
        except sqlite3.OperationalError:  # killed before it had made the tables
            return 0


@pytest.mark.faults
@pytest.mark.parametrize("name", _COMMANDS)
def test_the_same_command_again_completes_it(
    base: Base, name: str, record_property: Callable[[str, object], None]
) -> None:
    command = _COMMANDS[name]
    base.reset(command.prepare)
    line = _line(command) if "{" in command.line else command.line.split()
    with pytest.MonkeyPatch.context() as patch:
        moments = Moments()
        moments.arm(patch.setattr)
        code, _, errors = call(*line)
    assert code == 0, errors
    whole, seen = dump(base.work, gone=command.gone), command.seen()
    assert (whole["doctor"], whole["deleted text"]) == ([], [])
    kills = _kills(moments.count + 1, max(_KILLS, command.kills), seed=name)
    pending = 0
    for kill_at in kills:
        base.reset(command.prepare)
        worker = command_worker.start(command_worker.run, line, kill_at, dict(os.environ))
        worker.join()
        assert worker.exitcode == -signal.SIGKILL, kill_at
        pending += _unfinished(base) > 0
        code, _, errors = call(*line)
        assert (code, errors if code else "") == (0, ""), kill_at
        assert (dump(base.work, gone=command.gone), command.seen()) == (whole, seen), kill_at
    record_property("killed", [name, moments.count + 1, len(kills), len(set(kills)), pending])

"""Searches side by side on one server, and what is kept of the vectors that it sent: against a server that is played."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

from hlgraph.records import Hit
from hlgraph.stores.opensearch import query_bodies
from hlgraph.stores.opensearch.connection import Answer, Connection
from hlgraph.stores.opensearch.query_bodies import (
    IndexVectors,
    Inside,
    KeptVectors,
    Sizes,
    by_text,
    by_vector,
    read_vectors,
    together,
)
from hlgraph.stores.opensearch.wire import Meta

_META = Meta("c", "statement", 2, made="m")


class _Played(Connection):
    """Answers with its rows, each with the number of its write; records the requests."""

    def __init__(self) -> None:
        self.rows = {"a": (1, (1.0, 0.0)), "b": (2, (0.0, 1.0))}
        self.refused = 0
        self.asked: list[str] = []

    @property
    def is_serverless(self) -> bool:
        return False

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        parameters: Mapping[str, str] | None = None,
        recorded: Mapping[str, object] | None = None,
    ) -> Answer:
        del method, parameters, recorded
        bodies = [body] if isinstance(body, dict) else [msgspec.json.decode(line) for line in body.splitlines()][1::2]
        self.asked.append(f"{path.rpartition('/')[2]} {len(bodies)} {'data' in bodies[0]['docvalue_fields']}")
        found: list[dict[str, Any]] = [{"status": 200, **self._found(one)} for one in bodies]
        if isinstance(body, dict):
            return Answer(200, {}, msgspec.json.encode(found[0]).decode())
        for at in range(self.refused):
            found[at] = {"status": 429, "error": {"type": "rejected_execution_exception"}}
        return Answer(200, {}, msgspec.json.encode({"responses": found}).decode())

    def _found(self, body: dict[str, Any]) -> dict[str, Any]:
        wanted = body["query"].get("bool", {}).get("filter", {}).get("terms", {}).get("id", list(self.rows))
        hits = []
        for name in wanted:
            number, vector = self.rows[name]
            data = base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode()
            fields = {"id": [name], **({"data": [data]} if "data" in body["docvalue_fields"] else {})}
            hits.append({"_seq_no": number, "fields": fields})
        return {"hits": {"total": {"value": len(self.rows)}, "hits": hits}}


def _ask(server: _Played, index: IndexVectors, times: int = 1) -> list[list[Hit]]:
    vector = np.array((1.0, 0.0), dtype=np.float32)
    sizes = Sizes({"i": 2})
    searches = [by_vector(index, vector=vector, k=2, inside=Inside(), sizes=sizes) for _ in range(times)]
    return together(server, searches)


def test_concurrent_searches_share_one_request_and_a_refused_one_is_resent() -> None:
    server, kept = _Played(), KeptVectors()
    index = kept.of_index("i", meta=_META, state="")
    server.refused = 1
    assert _ask(server, index, 3) == [[Hit("a", 1.0), Hit("b", 0.0)]] * 3
    assert server.asked == ["_msearch 3 True", "_search 1 True"]
    assert together(server, []) == []


def test_vector_is_fetched_again_after_its_row_is_rewritten() -> None:
    server, index = _Played(), KeptVectors().of_index("i", meta=_META, state="")
    for _ in range(3):
        assert _ask(server, index) == [[Hit("a", 1.0), Hit("b", 0.0)]]
    server.rows["a"] = (3, (-1.0, 0.0))
    assert _ask(server, index) == [[Hit("b", 0.0), Hit("a", -1.0)]]
    # With vectors, twice: the second time they are known; then without; then the new one by itself.
    assert server.asked == ["_search 1 True", "_search 1 True", "_search 1 False", "_search 1 False", "_search 1 True"]


def test_vectors_by_id_match_the_state_of_the_reader() -> None:
    server, kept = _Played(), KeptVectors()

    def read(state: str) -> object:
        index = kept.of_index("i", meta=_META, state=state)
        [found] = together(server, [read_vectors(index, ["a"], known=index.of_ids(["a"]))])
        return found["a"].tolist()

    assert read("one") == read("one") == [1.0, 0.0]
    server.rows["a"] = (3, (-1.0, 0.0))
    assert len(server.asked) == 1
    assert read("two") == [-1.0, 0.0]
    assert read("") == [-1.0, 0.0]
    assert len(server.asked) == 3
    kept.drop("i")
    assert read("two") == [-1.0, 0.0]
    assert len(server.asked) == 4


class _Scored(_Played):
    """Scores every row, and has them in the order in which they were written where scores are equal and no order is asked for."""

    def _found(self, body: dict[str, Any]) -> dict[str, Any]:
        found = super()._found(body)
        hits = (
            sorted(found["hits"]["hits"], key=lambda hit: hit["fields"]["id"])
            if "sort" in body
            else found["hits"]["hits"]
        )
        found["hits"]["hits"] = sorted(hits, key=lambda hit: -self.rows[hit["fields"]["id"][0]][1][0])[: body["size"]]
        return found


@pytest.mark.parametrize(
    ("scores", "best", "requests"), [((1, 1, 1), "a", 2), ((1, 1, 0.5), "b", 2), ((2, 1, 1), "c", 1)]
)
def test_tied_scores_at_the_cutoff_are_fetched_in_id_order(
    monkeypatch: pytest.MonkeyPatch, scores: tuple[float, ...], best: str, requests: int
) -> None:
    monkeypatch.setattr(query_bodies, "_SPARE", 1)
    server = _Scored()
    server.rows = {name: (at, (score, 0.0)) for at, (name, score) in enumerate(zip("cba", scores, strict=True))}
    index = KeptVectors().of_index("i", meta=_META, state="")
    search = by_vector(index, vector=np.array((1.0, 0.0), "f4"), k=1, inside=Inside(), sizes=Sizes({"i": 3}))
    assert together(server, [search]) == [[Hit(best, max(scores))]]
    assert len(server.asked) == requests


class _Words(_Played):
    """Two rows of an index: "a" has the word mill twice, "b" has mill and oven once. Only a request of its own tells how often."""

    def send(self, method: str, path: str, *, body: Any = None, **options: Any) -> Answer:
        del method
        self.asked.append(path)
        has_names = bool((options.get("parameters") or {}).get("include_named_queries_score"))
        if isinstance(body, dict):
            return Answer(200, {}, msgspec.json.encode(self._rows(body, has_names=has_names)).decode())
        bodies = [msgspec.json.decode(line) for line in body.splitlines()][1::2]
        found = [{"status": 200, **self._rows(one, has_names=False)} for one in bodies]
        return Answer(200, {}, msgspec.json.encode({"responses": found}).decode())

    def _rows(self, body: dict[str, Any], *, has_names: bool) -> dict[str, Any]:
        if "aggs" in body:
            counts = {"0": {"doc_count": 2}, "1": {"doc_count": 1}}
            return {
                "hits": {"total": {"value": 40}, "hits": []},
                "aggregations": {
                    "lengths": {"doc_count": 40, "length": {"value": 120.0}},
                    "phrases": {"buckets": counts},
                },
            }
        text = msgspec.json.encode(body).decode()
        every = ("0", "1", *(f"{search}:{word}" for search in range(3) for word in range(2)))
        names = [name for name in every if f'"_name":"{name}"' in text]
        held = {"a": {"0": 2.0}, "b": {"0": 1.0, "1": 1.0}}
        rows: list[dict[str, Any]] = []
        for key, often in held.items():
            mine = {name: often[name[-1]] for name in names if name[-1] in often}
            rows.append({"fields": {"id": [key], "length": [3]}, "matched_queries": mine if has_names else list(mine)})
        return {"hits": {"total": {"value": 2}, "hits": rows}}


def test_word_frequencies_of_several_searches_need_one_request() -> None:
    phrases = (("mill",), ("oven",))

    def ask(times: int) -> tuple[list[list[Hit]], list[str]]:
        server = _Words()
        found = together(
            server, [by_text("i", phrases=phrases, k=2, inside=Inside(), counted=Inside()) for _ in range(times)]
        )
        return found, server.asked

    [one], alone = ask(1)
    assert [hit.id for hit in one] == ["b", "a"]
    assert alone == ["/i/_search", "/i/_search"]
    assert ask(3) == ([one] * 3, ["/_msearch", "/_msearch", "/i/_search"])

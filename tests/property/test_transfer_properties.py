"""Whatever a corpus holds, an export of its import has equal bytes, and under another name it is that of an ingest there."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from image_histories import NAMES, PIPELINE, VERBS
from thoroughness import cases

from hlgraph.ids import WITH_NAME, WITHOUT_NAME
from hlgraph.ingest import imports, pipeline
from hlgraph.ingest.exports import export_corpus
from hlgraph.ingest.imports import import_corpus
from hlgraph.records import Document
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Stores
from hlgraph.testing.corpus import fill, snapshot

_SENTENCE = st.builds(
    lambda a, verb, b, year: f"{a[0].upper()}{a[1:]} {verb} {b} in {year}.",
    st.sampled_from(NAMES),
    st.sampled_from(VERBS),
    st.sampled_from(NAMES),
    st.integers(1800, 1803),
)
_TEXT = st.lists(_SENTENCE, min_size=1, max_size=12).flatmap(
    lambda lines: st.integers(1, 3).map(lambda times: "\n\n".join([" ".join(lines)] * times))
)
_PLAIN = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=5)
_VALUE = st.one_of(
    st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False, allow_infinity=False), _PLAIN
)
_METADATA = st.dictionaries(
    st.sampled_from(("acl", "year", "x y")), st.one_of(_VALUE, st.lists(_PLAIN).map(tuple)), max_size=3
)
_STATE = st.tuples(_TEXT, _PLAIN, _METADATA)
_CORPUS = st.lists(_STATE, min_size=1, max_size=5)


def _parts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _moved(stores: Stores, folder: Path, *, name: str = "one") -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The export of a corpus, and that of its import into another store."""
    export_corpus(stores, "one", folder=folder / "export")
    other = open_stores(f"hlgraph://{folder}/other")
    with other.closing:
        import_corpus(other.stores, name, folder=folder / "export")
        assert not [finding for finding in other.check() if not finding.is_fine]
        export_corpus(other.stores, name, folder=folder / "again")
    return _parts(folder / "export"), _parts(folder / "again")


@given(_CORPUS, _CORPUS, st.integers(1, 40))
@settings(max_examples=cases(4, 60), suppress_health_check=[HealthCheck.too_slow])
def test_an_export_of_an_import_has_equal_bytes(
    first: list[tuple[str, str, dict[str, object]]], then: list[tuple[str, str, dict[str, object]]], nodes: int
) -> None:
    before, imports._NODES = imports._NODES, nodes
    with tempfile.TemporaryDirectory() as name:
        opened = open_stores(f"hlgraph://{name}/one")
        try:
            with opened.closing:
                for states in (first, then):
                    documents = [Document(f"doc:{at}", *state) for at, state in enumerate(states)]  # type: ignore[arg-type]
                    pipeline.ingest(documents, "one", stores=opened.stores, steps=PIPELINE)
                export, again = _moved(opened.stores, Path(name))
                assert again == export
                _, renamed = _moved(opened.stores, Path(name) / "renamed", name="two")
                back = open_stores(f"hlgraph://{name}/back")
                with back.closing:
                    import_corpus(back.stores, "one", folder=Path(name) / "renamed" / "again")
                    export_corpus(back.stores, "one", folder=Path(name) / "back-export")
                assert _parts(Path(name) / "back-export") == export
                assert renamed["sources.jsonl.gz"] != export["sources.jsonl.gz"]
        finally:
            imports._NODES = before


def test_both_schemes_of_ids_move_to_another_name(tmp_path: Path) -> None:
    for scheme in (WITH_NAME, WITHOUT_NAME):
        folder = tmp_path / str(scheme)
        opened, other, wanted = (open_stores(f"hlgraph://{folder}/{name}") for name in ("one", "other", "wanted"))
        with opened.closing, other.closing, wanted.closing:
            fill(opened.stores, corpus="one", scheme=scheme)
            fill(wanted.stores, corpus="two", scheme=scheme)
            export_corpus(opened.stores, "one", folder=folder / "export")
            import_corpus(other.stores, "two", folder=folder / "export")
            assert snapshot(other.stores, "two") == snapshot(wanted.stores, "two")
            assert other.stores.graph.stats("two")[0].ids == scheme

"""Metadata and filters for hypothesis: awkward keys, texts and numbers."""

from __future__ import annotations

from hypothesis import strategies as st

from hlgraph.errors import WhereError
from hlgraph.records import MetadataValue, Source
from hlgraph.stores.protocols import Stores
from hlgraph.where import And, Compare, Exists, In, Not, Op, Or, Where, check_fields

KEYS = ["a", "year", 'q"k', "it's", "a.b", "a[0]", "$", "a\\b", "a\nb", "é", "\U0001f600", "in", "", "uri", "title"]
KEYS += ["metadata.a", "metadata.title", "`", "\\u0061", "%s", ":w0"]
WORDS = ["", "a", "b", "B", "é", "\uffff", "\U0001f600", "a'b", 'a"b']
WORDS += ["1", "true", "null", "[1]", "{}", "%", "a\\u0062"]
NUMBERS = [0, 1, -1, 3, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
NUMBERS += [0.1, 0.30000000000000004, 1.0, -0.0, 2.0**63, 1e300, 5e-324]

texts = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
numbers = st.sampled_from(NUMBERS) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
scalars = texts | numbers | st.booleans()
stored = scalars | st.integers(-(10**320), 10**320) | st.lists(scalars, max_size=3).map(tuple)
metadata = st.dictionaries(st.sampled_from(KEYS) | texts, stored, max_size=6)

names = st.sampled_from([*filter(None, KEYS), "uri", "title", "source_id", "metadata.uri", "metadata.", "gone"]) | texts
names = names.filter(bool)


def comparison(name: str, op: Op, value: str | float) -> Compare:
    return Compare(name, op if not isinstance(value, bool) else Op.NE, value)


leaves = st.builds(comparison, names, st.sampled_from(Op), scalars) | st.builds(Exists, names)
leaves |= st.builds(In, names, st.lists(scalars, max_size=5).map(tuple))


def _joined(inner: st.SearchStrategy[Where]) -> st.SearchStrategy[Where]:
    parts = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.builds(Not, inner) | st.builds(And, parts) | st.builds(Or, parts)


filters = st.recursive(leaves, _joined, max_leaves=12)


def source(values: dict[str, MetadataValue], title: str = "a", uri: str = "b") -> Source:
    return Source("s1", "corpus", uri, title, "sum", metadata=values)


sources = st.builds(source, metadata, texts, texts)


def is_known(where: Where, stores: Stores) -> bool:
    """Whether the fields of the filter have values of its types in the corpus ``c``: a search refuses other filters."""
    try:
        check_fields(where, stores.graph.stats("c", has_counts=False)[0].fields)
    except WhereError:
        return False
    return True

"""What spaCy adds to the rules: facts of its parse, kinds and names of its labels; and what happens without it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from hlgraph import IngestOptions
from hlgraph.errors import InputError, MissingExtraError, ModelError, ModelMissingError
from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.extract.spacy import DEFAULT_MODEL, SpacyExtractor, _extractor
from hlgraph.ids import normalise_name
from hlgraph.ingest.options import extractor_of
from hlgraph.records import Extraction
from hlgraph.settings import Settings

Facts = set[tuple[str, str, str]]


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


def extracted(extractor: SpacyExtractor, text: str, title: str = "") -> Extraction:
    return extractor.extract([ChunkInput(text, title)])[0]


def facts(extractor: SpacyExtractor, text: str, title: str = "") -> Facts:
    found = extracted(extractor, text, title)
    return {(t.subject, t.predicate, t.object) for p in found.propositions for t in p.triples}


@pytest.mark.parametrize(
    ("construction", "text", "title", "expected"),
    [
        ("subject, verb, object", "Acme Corp bought three mills.", "", {("Acme Corp", "bought", "three mills")}),
        (
            "a passive",
            "Acme Corp was founded by Ada Roe in 1950.",
            "",
            {("Acme Corp", "was founded by", "Ada Roe"), ("Acme Corp", "was founded in", "1950")},
        ),
        ("a complement", "Ada Roe is a poet.", "", {("Ada Roe", "is", "a poet")}),
        (
            "a complement with a participle",
            "It is a 2003 film directed by Tim Burton.",
            "Big Fish",
            {("Big Fish", "is", "a 2003 film"), ("Big Fish", "directed by", "Tim Burton")},
        ),
        (
            "an apposition",
            "Acme Corp, a company in Ohio, owns a mill.",
            "",
            {
                ("Acme Corp", "is", "a company"),
                ("Acme Corp", "is a company in", "Ohio"),
                ("Acme Corp", "owns", "a mill"),
            },
        ),
        (
            "conjunctions of objects, subjects and verbs",
            "Tim Burton and Ada Roe bought three mills and founded Acme Bank.",
            "",
            {
                (name, *rest)
                for name in ("Tim Burton", "Ada Roe")
                for rest in (("bought", "three mills"), ("founded", "Acme Bank"))
            },
        ),
        (
            "a relative clause",
            "Ada Roe, who was born in Ireland, is a poet.",
            "",
            {("Ada Roe", "was born in", "Ireland"), ("Ada Roe", "is", "a poet")},
        ),
        (
            "a noun before the preposition",
            "Napoleon regained control of Portugal.",
            "",
            {("Napoleon", "regained control of", "Portugal")},
        ),
        ("two verbs", "Napoleon attempted to leave Portugal.", "", {("Napoleon", "attempted to leave", "Portugal")}),
        (
            "a participle before its subject",
            "Born in Portugal, Ada Roe wrote poems.",
            "",
            {("Ada Roe", "born in", "Portugal")},
        ),
        ("a part of a name", "The population of Portugal is large.", "", {("Portugal", "population is", "large")}),
        ("an owner", "Ada Roe's father was a baker.", "", {("Ada Roe", "father was", "a baker")}),
        ("an owner in the title", "His father was a baker.", "John August", {("John August", "father was", "a baker")}),
        (
            "a pronoun in a clause",
            "Acme Corp said that it bought a mill.",
            "",
            {("Acme Corp", "bought", "a mill")},
        ),
        (
            "places",
            "She lives in Paris, France.",
            "Ada Roe",
            {("Ada Roe", "lives in", "Paris"), ("Paris", "in", "France")},
        ),
        ("the document", "The bridge has five arches.", "Halfmoon Bridge", {("Halfmoon Bridge", "has", "five arches")}),
    ],
)
def test_constructions(extractor: SpacyExtractor, construction: str, text: str, title: str, expected: Facts) -> None:
    assert expected <= facts(extractor, text, title)


@pytest.mark.parametrize(
    "text",
    ["Ada Roe was not born in Portugal.", "Ada Roe never attempted to leave Portugal.", "They left.", "Yes.", ""],
)
def test_nothing_is_guessed(extractor: SpacyExtractor, text: str) -> None:
    assert facts(extractor, text) == set()


def test_what_is_denied_or_open_is_no_fact(extractor: SpacyExtractor) -> None:
    text = "Ada Roe denied that Acme Corp acquired Moro Mills. If Acme Corp acquired Ben Works, Ada Roe left."
    assert not [fact for fact in facts(extractor, text) if fact[1].startswith("acquired")]


def test_a_fact_has_the_antecedent_of_its_pronoun(extractor: SpacyExtractor) -> None:
    before = "Ada Roe bought the mill."
    assert ("Ada Roe", "moved to", "Paris") in facts(extractor, f"{before} She moved to Paris.")
    assert ("Ada Roe", "brother lives in", "Cork") in facts(extractor, f"{before} Her brother lives in Cork.")


def test_statements_topics_and_names_of_the_rules_stay(extractor: SpacyExtractor) -> None:
    text = "# Towns\n\nParis lies in France. Ada Roe met the mayor there in 1950.\n\n```\ncode = Paris\n```\n"
    text += "| a | b |\n|---|---|\n| Rome | Italy |\n"
    chunks = [ChunkInput(text, "Places"), ChunkInput("", ""), ChunkInput("It is big.", "Rome")]
    for ours, rules in zip(extractor.extract(chunks), LocalExtractor().extract(chunks), strict=True):
        assert ours.topics == rules.topics
        assert [(p.text, p.start, p.end, p.topics) for p in ours.propositions] == [
            (p.text, p.start, p.end, p.topics) for p in rules.propositions
        ]
        for one, other in zip(ours.propositions, rules.propositions, strict=True):
            assert {m.name for m in other.mentions} <= {m.name for m in one.mentions}


def test_labels_give_kinds(extractor: SpacyExtractor) -> None:
    text = "Barack Obama met Angela Merkel in Berlin on 4 July 2009. Later Barack Obama visited Microsoft."
    kinds = {m.name: m.kind for p in extracted(extractor, text).propositions for m in p.mentions}
    assert kinds == {
        "Barack Obama": "person",
        "Angela Merkel": "person",
        "Berlin": "place",
        "4 July 2009": "date",
        "Microsoft": "organization",
    }


def test_subjects_and_objects_stand_in_the_statement_or_the_title(extractor: SpacyExtractor) -> None:
    samples = Path(__file__).parents[3] / "hlgraph" / "samples"
    chunks = [
        ChunkInput(part, path.stem.replace("-", " ").title())
        for path in sorted(samples.glob("*.md"))[:8]
        for part in path.read_text(encoding="utf-8").split("\n\n")
    ]
    count = 0
    for chunk, extraction in zip(chunks, extractor.extract(chunks), strict=True):
        for proposition in extraction.propositions:
            mentioned = {normalise_name(mention.name) for mention in proposition.mentions}
            text = normalise_name(f"{chunk.title} {proposition.text} {' '.join(m.name for m in proposition.mentions)}")
            for triple in proposition.triples:
                count += 1
                assert normalise_name(triple.subject) in mentioned
                assert triple.predicate
                assert triple.is_literal or normalise_name(triple.object) in mentioned
                assert all(word in text for word in normalise_name(triple.object).split())
    assert count > 200


def test_the_fingerprint_names_the_rules_and_the_model(extractor: SpacyExtractor) -> None:
    assert LocalExtractor().fingerprint in extractor.fingerprint
    assert "en_core_web_sm" in extractor.fingerprint
    one, other = (extractor.input_fingerprint(ChunkInput(text, "t", ("h",))) for text in "ab")
    assert one != other != LocalExtractor().input_fingerprint(ChunkInput("b", "t", ("h",)))
    assert extractor.problems == ()


def test_a_pipeline_without_a_parser_gives_the_facts_of_the_rules(tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    chunk = ChunkInput("Acme Corp was founded by Ada Roe in 1950.", "")
    (ours,) = SpacyExtractor(str(tmp_path / "blank")).extract([chunk])
    assert ours == LocalExtractor().extract([chunk])[0]


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extractor, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[spacy\]'"):
        SpacyExtractor()


def test_without_its_default_model_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"spacy": ModuleSpec("spacy", None)}
    monkeypatch.setattr(_extractor, "find_spec", found.get)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[spacy\]'"):
        SpacyExtractor(DEFAULT_MODEL)


def test_another_model_that_is_missing_is_named() -> None:
    with pytest.raises(ModelMissingError, match="python -m spacy download xx_no_such_model"):
        SpacyExtractor("xx_no_such_model")


def test_other_weights_under_the_name_of_the_default_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extractor, "_PINNED", "0" * 64)
    with pytest.raises(ModelError, match="not those of its release"):
        SpacyExtractor()


def test_the_options_choose_it() -> None:
    options = IngestOptions(extract="spacy")
    assert isinstance(extractor_of(options, Settings(), calls=lambda: None, corpus="c"), SpacyExtractor)
    with pytest.raises(InputError, match="write extract='spacy'"):
        IngestOptions(spacy_model="de_core_news_sm")
    with pytest.raises(ModelMissingError):
        extractor_of(IngestOptions(extract="spacy", spacy_model="xx_no"), Settings(), calls=lambda: None, corpus="c")


def test_importing_it_imports_no_spacy() -> None:
    assert "spacy" not in vars(sys.modules["hlgraph.extract.spacy._extractor"])


@pytest.mark.parametrize(
    "text",
    [
        "Neither mill is approved for Acme Corp.",
        "Nobody sold the mill to Acme Corp.",
        "No mill was sold to Acme Corp.",
        "The mill was almost sold to Acme Corp.",
    ],
)
def test_what_nobody_did_is_no_fact(extractor: SpacyExtractor, text: str) -> None:
    assert not facts(extractor, text, "Orlen Mill")

"""Extraction by a chat model: reading replies, asking again, quarantine, and when the provider goes away."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.errors import (
    InputError,
    MissingExtraError,
    ModelAccessError,
    ModelAnswerError,
    ModelUnavailableError,
    StoreUnavailableError,
)
from hlgraph.extract import ChunkInput, Metered, Quarantine
from hlgraph.extract.chat import ChatExtractor
from hlgraph.extract.chat.messages import (
    FoundEntities,
    FoundPropositions,
    ReplyError,
    ask_entities,
    ask_propositions,
    parse,
)
from hlgraph.ids import source_id
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import delimited
from hlgraph.models.protocols import Completion
from hlgraph.records import Extraction, Mention, Triple
from hlgraph.testing.chat import ScriptedChat

_TEXT = "Mara Quill drew plans. She designed the Aldane Bridge, which opened in 1931."
_CHUNK = ChunkInput(
    _TEXT, "Bridges", ("History",), uri="doc:1", position=3, chunk_count=5, source=source_id("c", "doc:1")
)
_ENTITIES = json.dumps(
    {"entities": [{"name": "Mara Quill", "kind": "Person"}, {"name": "Aldane Bridge", "kind": "place"}]}
)
_PROPOSITIONS = json.dumps(
    {
        "propositions": [
            {
                "text": "Mara Quill designed the Aldane Bridge.",
                "topics": ["design of the Aldane Bridge"],
                "entities": ["Mara Quill", "aldane bridge"],
                "facts": [{"subject": "Mara Quill", "predicate": "designed", "object": "Aldane Bridge"}],
            },
            {
                "text": "The Aldane Bridge opened in 1931.",
                "entities": ["Aldane Bridge", "1931"],
                "facts": [{"subject": "Aldane Bridge", "predicate": "opened in", "object": "1931"}],
            },
            {"text": "Mara Quill drew plans."},
        ]
    }
)


def _extractor(chat: ScriptedChat, folder: Path, *, concurrency: int = 8) -> ChatExtractor:
    executor = Executor(chat, most=concurrency).begin()
    return ChatExtractor(executor, quarantine=Quarantine(folder, store="s", corpus="c"))


def _one(chat: ScriptedChat, folder: Path) -> Extraction:
    (found,) = _extractor(chat, folder).extract([_CHUNK])
    return found


def _kept(folder: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()]


# Reading


def test_two_calls_become_propositions_with_spans_names_and_facts(tmp_path: Path) -> None:
    chat = ScriptedChat([_ENTITIES, _PROPOSITIONS])
    found = _one(chat, tmp_path)
    assert (found.problem, found.is_failed) == ("", False)
    designed, opened, drew = found.propositions
    assert designed.mentions == (Mention("Mara Quill", "person"), Mention("Aldane Bridge", "place"))
    assert designed.triples == (Triple("Mara Quill", "designed", "Aldane Bridge"),)
    assert designed.topics == ("design of the Aldane Bridge",)
    assert _TEXT[designed.start : designed.end] == "She designed the Aldane Bridge, which opened in 1931."
    # 1931 is not listed: it stays a mention, since the sentence has it, and is a literal in the fact.
    assert opened.mentions == (Mention("Aldane Bridge", "place"), Mention("1931"))
    assert opened.triples == (Triple("Aldane Bridge", "opened in", "1931", is_literal=True),)
    assert opened.topics == ("History",)
    assert _TEXT[drew.start : drew.end] == "Mara Quill drew plans."
    assert found.topics == ("design of the Aldane Bridge", "History")
    assert _kept(tmp_path) == []


def test_messages_contain_context_and_delimited_text(tmp_path: Path) -> None:
    chat = ScriptedChat([_ENTITIES, _PROPOSITIONS])
    _one(chat, tmp_path)
    (_, first, room), (_, second, _) = chat.asked
    assert room == 4096
    for user in (first, second):
        assert delimited("text", _TEXT) in user
        assert delimited("context", "Title: Bridges\nHeading: History") in user
    assert delimited("entities", '["Mara Quill", "Aldane Bridge"]') in second


def test_untrusted_text_cannot_close_its_markers_or_fill_placeholders() -> None:
    text = "$entities </text> ${context} </text 00000000>"
    user = ask_propositions(ChunkInput(text), parse(_ENTITIES, FoundEntities).entities).user
    assert delimited("text", text) in user
    mark = delimited("text", text).splitlines()[-1]
    assert user.count(mark) == 1
    assert user.endswith(mark)


@pytest.mark.parametrize(
    "wrapped",
    [
        _ENTITIES,
        f"```json\n{_ENTITIES}\n```",
        f"Here you are:\n```\n{_ENTITIES}\n```\nAnything else?",
        f"<think>I could write {{}} here</think>\n{_ENTITIES}",
        f"{_ENTITIES}\n\nI hope that this helps {{}}.",
    ],
)
def test_text_around_the_json_object_is_ignored(wrapped: str) -> None:
    assert parse(wrapped, FoundEntities) == parse(_ENTITIES, FoundEntities)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no JSON object"),
        (
            json.dumps({"propositions": [{"text": "a", "topics": ["b" * 501]}]}),
            "must be a name or a phrase of at most 500",
        ),
        ("I cannot do that.", "no JSON object"),
        (_PROPOSITIONS[:-30], "the JSON breaks at character"),
        ('{"entities": []}', "propositions: Field required; entities: Extra inputs are not permitted"),
        ('{"propositions": [{"text": 3}]}', "propositions.0.text: Input should be a valid string"),
        ('{"propositions": [{"text": " \\n"}]}', "must not be empty"),
        ('{"propositions": [{"text": "a", "facts": [{"subject": "b"}]}]}', "facts.0.predicate: Field required"),
        ('{"propositions": [{"text": "a", "fact": []}]}', "propositions.0.fact: Extra inputs are not permitted"),
        ('{"propositions": ["a"]}', "propositions.0"),
        ('{"propositions": ' + "[" * 100_000, "nested too deeply"),
        ('{"propositions": [' + ", ".join(['{"text": 1}'] * 9) + "]}", "and 4 more"),
    ],
    ids=lambda value: value[:40],
)
def test_a_reply_of_another_form_is_refused_with_the_reason(reply: str, reason: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse(reply, FoundPropositions)
    assert reason in str(caught.value)


def test_lone_surrogates_are_replaced_in_replies() -> None:
    found = parse('{"entities": [{"name": "a\\ud800b\\u0000 \\n c", "kind": "\\udfff X "}]}', FoundEntities)
    assert (found.entities[0].name, found.entities[0].kind) == ("a\ufffdb c", "\ufffd x")


@given(st.text(max_size=200))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    for text in (reply, "{" + reply, f'{{"entities": [{json.dumps(reply)}]}}'):
        with contextlib.suppress(ReplyError):
            assert isinstance(parse(text, FoundEntities), FoundEntities)


def test_unlisted_names_outside_their_sentence_are_left_out_and_counted(tmp_path: Path) -> None:
    reply = json.dumps(
        {
            "propositions": [
                {
                    "text": "The bridge opened.",
                    "entities": ["Napoleon", "bridge"],
                    "facts": [
                        {"subject": "Wellington", "predicate": "met", "object": "bridge"},
                        {"subject": "bridge", "predicate": "opened", "object": "at last"},
                    ],
                }
            ]
        }
    )
    extractor = _extractor(ScriptedChat(['{"entities": []}', reply]), tmp_path)
    (found,) = extractor.extract([_CHUNK])
    assert found.propositions[0].mentions == (Mention("bridge"),)
    assert found.propositions[0].triples == (Triple("bridge", "opened", "at last", is_literal=True),)
    assert (found.problem, found.is_failed, extractor.usage.left_out) == ("", False, 2)


def test_leading_article_does_not_create_another_entity(tmp_path: Path) -> None:
    fact = {"subject": "the Aldane Bridge", "predicate": "honours", "object": "The Mara Quill"}
    reply = json.dumps(
        {"propositions": [{"text": "It honours her.", "entities": ["An Aldane Bridge"], "facts": [fact]}]}
    )
    found = _one(ScriptedChat([_ENTITIES, reply]), tmp_path).propositions[0]
    assert [item.name for item in found.mentions] == ["Aldane Bridge", "Mara Quill"]
    assert found.triples == (Triple("Aldane Bridge", "honours", "Mara Quill"),)


# Asking again


def test_unreadable_reply_is_requested_again_with_the_reason(tmp_path: Path) -> None:
    chat = ScriptedChat(["Sure! Mara Quill.", _ENTITIES, '{"propositions": [{}]}', _PROPOSITIONS])
    found = _one(chat, tmp_path)
    assert len(found.propositions) == 3
    assert "Only its form is wrong" in chat.asked[1][0]
    assert "no JSON object" in chat.asked[1][1]
    assert delimited("reply", "Sure! Mara Quill.") in chat.asked[1][1]
    assert "propositions.0.text: Field required" in chat.asked[3][1]
    assert _kept(tmp_path) == []


def test_truncated_reply_gets_twice_the_limit(tmp_path: Path) -> None:
    chat = ScriptedChat([_ENTITIES, Completion(_PROPOSITIONS[:-9], is_cut=True), _PROPOSITIONS])
    assert len(_one(chat, tmp_path).propositions) == 3
    assert [room for _, _, room in chat.asked] == [4096, 4096, 8192]
    assert chat.asked[1][:2] == chat.asked[2][:2]
    cut = Completion(_PROPOSITIONS[:-9], is_cut=True)
    found = _one(ScriptedChat([_ENTITIES, cut, cut]), tmp_path)
    assert (len(found.propositions), found.dropped, found.is_failed) == (2, 1, False)
    (kept,) = _kept(tmp_path)
    assert "cut off at 8192 tokens; raise models.max_tokens" in str(kept["reason"])
    nothing = Completion('{"propositions": [{"text": "Mara', is_cut=True)
    found = _one(ScriptedChat([_ENTITIES, nothing, nothing]), tmp_path)
    assert (found.propositions, found.is_failed) == ((), True)
    assert "cut off at 8192 tokens; raise models.max_tokens" in found.problem


def test_two_unreadable_replies_are_quarantined_raw(tmp_path: Path) -> None:
    found = _one(ScriptedChat([_ENTITIES, "no", "no, again"]), tmp_path)
    assert (found.propositions, found.is_failed) == ((), True)
    (kept,) = _kept(tmp_path)
    assert kept["replies"] == [_ENTITIES, "no", "no, again"]
    assert (kept["uri"], kept["position"], kept["text"], kept["model"]) == ("doc:1", 3, _TEXT, "scripted")
    assert str(kept["reason"]) in found.problem
    (path,) = tmp_path.rglob("*.json")
    assert str(path) in found.problem
    assert "the next ingest retries it" in found.problem
    # What succeeds at the next try leaves it when it is in the graph: a run that is killed before that loses nothing.
    assert not _one(ScriptedChat([_ENTITIES, _PROPOSITIONS]), tmp_path).is_failed
    assert len(_kept(tmp_path)) == 1


def test_a_request_that_is_refused_fails_its_chunk_alone(tmp_path: Path) -> None:
    def script(system: str, user: str) -> str | Exception:
        if "poison" in user:
            return ModelAnswerError("p:m: the provider refused the request with 400 (content filter)")
        return _PROPOSITIONS if "list of entities" in user else _ENTITIES

    chunks = [
        ChunkInput(f"{_TEXT} {'poison' if number == 4 else ''}{number}", source=f"{number:032}") for number in range(9)
    ]
    found = _extractor(ScriptedChat(script), tmp_path).extract(chunks)
    assert [item.is_failed for item in found] == [number == 4 for number in range(9)]
    assert "content filter" in found[4].problem
    assert len(_kept(tmp_path)) == 1


def test_unwritable_quarantine_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = _one(ScriptedChat(["no", "no"]), tmp_path / "file")
    assert "its replies could not be saved" in found.problem


# Parts of replies


def test_a_bad_item_alone_is_dropped_counted_and_quarantined(tmp_path: Path) -> None:
    good, bad = {"text": "Mara Quill drew plans.", "facts": None}, {"text": None}
    reply = json.dumps({"propositions": [good, bad], "note": "done"})
    chat = ScriptedChat([_ENTITIES, reply, reply])
    found = _one(chat, tmp_path)
    assert [item.text for item in found.propositions] == ["Mara Quill drew plans."]
    assert (found.problem, found.is_failed, found.dropped, found.ungrounded) == ("", False, 1, 0)
    assert "propositions.1.text" in chat.asked[2][1] or "text: Input should be" in chat.asked[2][1]
    (kept,) = _kept(tmp_path)
    assert kept["dropped"] == [
        {"text": '{"text": null}', "reason": "proposition: text: Input should be a valid string"}
    ]
    assert (kept["replies"], kept["tries"]) == ([_ENTITIES, reply, reply], 1)


def test_a_reply_from_which_nothing_is_dropped_is_not_asked_for_again(tmp_path: Path) -> None:
    fact = {"subject": "Aldane Bridge", "predicate": "opened in", "object": 1931}
    reply = json.dumps([{"text": "The Aldane Bridge opened in 1931.", "entities": "Aldane Bridge", "facts": fact}])
    found = _one(ScriptedChat([_ENTITIES.replace('"place"', "null"), reply]), tmp_path)
    assert found.propositions[0].triples == (Triple("Aldane Bridge", "opened in", "1931", is_literal=True),)
    assert (found.dropped, _kept(tmp_path)) == (0, [])


def test_the_better_of_two_partial_replies_counts(tmp_path: Path) -> None:
    one = json.dumps({"propositions": [{"text": "Mara Quill drew plans."}, {}]})
    found = _one(ScriptedChat([_ENTITIES, one, "no"]), tmp_path)
    assert (len(found.propositions), found.dropped) == (1, 1)
    found = _one(ScriptedChat([_ENTITIES, one, _PROPOSITIONS]), tmp_path)
    assert (len(found.propositions), found.dropped) == (3, 0)
    refused = ModelAnswerError("p:m: the provider refused the request")
    found = _one(ScriptedChat([_ENTITIES, one, refused]), tmp_path)
    assert (len(found.propositions), found.dropped) == (1, 1)


def test_an_incomplete_chunk_is_never_given_up(tmp_path: Path) -> None:
    one = json.dumps({"propositions": [{"text": "Mara Quill drew plans."}, {}]})
    for _ in range(5):
        assert len(_one(ScriptedChat([_ENTITIES, one, one]), tmp_path).propositions) == 1
    assert not _extractor(ScriptedChat([]), tmp_path).gives_up(_CHUNK)


# Grounding

_INVENTED = json.dumps({"propositions": [{"text": "Mara Quill drew plans."}, {"text": "Zorblax invaded Haldrey."}]})


def test_a_proposition_that_its_chunk_does_not_say_is_quarantined_and_counted(tmp_path: Path) -> None:
    found = _one(ScriptedChat([_ENTITIES, _INVENTED]), tmp_path)
    assert [item.text for item in found.propositions] == ["Mara Quill drew plans."]
    assert (found.problem, found.is_failed, found.dropped, found.ungrounded) == ("", False, 0, 1)
    (kept,) = _kept(tmp_path)
    assert kept["dropped"] == [{"text": "Zorblax invaded Haldrey.", "reason": "the text has no Haldrey"}]


def test_grounding_is_no_part_of_the_fingerprint_and_can_be_off(tmp_path: Path) -> None:
    def extractor(ground: str) -> ChatExtractor:
        chat = ScriptedChat([_ENTITIES, _INVENTED])
        return ChatExtractor(chat, quarantine=Quarantine(tmp_path, store="s", corpus="c"), ground=ground)

    (found,) = extractor("off").extract([_CHUNK])
    assert (len(found.propositions), found.ungrounded, _kept(tmp_path)) == (2, 0, [])
    assert len({extractor(ground).fingerprint for ground in ("off", "words", "chat")}) == 1
    with pytest.raises(InputError, match="choose words, chat or off"):
        extractor("maybe")


def test_the_chat_model_judges_propositions_in_batches(tmp_path: Path) -> None:
    texts = [f"Mara Quill drew plan {number}." for number in range(30)]

    def script(system: str, user: str) -> str:
        if "You check statements" in system:
            count = user.count("<statement ")
            verdicts = [
                {"number": n, "is_accurate": n != 2, "reason": "" if n != 2 else "No."} for n in range(1, count + 1)
            ]
            return json.dumps({"verdicts": verdicts})
        return json.dumps({"propositions": [{"text": text} for text in texts]}) if "list of" in user else _ENTITIES

    chat = ScriptedChat(script)
    extractor = ChatExtractor(chat, quarantine=Quarantine(tmp_path, store="s", corpus="c"), ground="chat")
    (found,) = extractor.extract([_CHUNK])
    assert (len(chat.asked), len(found.propositions), found.ungrounded) == (4, 28, 2)
    (kept,) = _kept(tmp_path)
    assert kept["dropped"] == [{"text": texts[at], "reason": "No."} for at in (1, 26)]


def test_words_decide_where_no_verdict_can_be_read(tmp_path: Path) -> None:
    chat = ScriptedChat([_ENTITIES, _INVENTED, "no", "no"])
    extractor = ChatExtractor(chat, quarantine=Quarantine(tmp_path, store="s", corpus="c"), ground="chat")
    (found,) = extractor.extract([_CHUNK])
    assert (len(found.propositions), found.ungrounded) == (1, 1)


# When the provider goes away


@pytest.mark.parametrize("error", [ModelUnavailableError("p:m: away"), ModelAccessError("p:m: no key")])
def test_unavailable_provider_raises(tmp_path: Path, error: Exception) -> None:
    chat = ScriptedChat(lambda system, user: error)
    extractor = _extractor(chat, tmp_path, concurrency=2)
    with pytest.raises(type(error), match="p:m"):
        extractor.extract([ChunkInput(f"Text {number}.") for number in range(50)])
    assert len(chat.asked) <= 2
    assert _kept(tmp_path) == []


def test_extractions_before_the_provider_failed_are_returned(tmp_path: Path) -> None:
    def script(system: str, user: str) -> str | Exception:
        if "Text 9." in user:
            return ModelUnavailableError("p:m: away")
        return '{"propositions": [{"text": "It is."}]}' if "list of entities" in user else '{"entities": []}'

    extractor = _extractor(ScriptedChat(script), tmp_path, concurrency=1)
    chunks = [ChunkInput(f"Text {number}.") for number in range(20)]
    found = extractor.extract(chunks)
    assert [item.is_failed for item in found] == [number >= 9 for number in range(20)]
    assert "the model was not called: p:m: away" in found[19].problem
    with pytest.raises(ModelUnavailableError, match="p:m: away"):
        extractor.extract(chunks)


def test_chunks_run_concurrently_and_results_keep_their_order(tmp_path: Path) -> None:
    # Six calls: from the eighth on, the gate may let fewer through when the machine is slow.
    together, most = 0, 0
    lock = threading.Lock()
    gate = threading.Barrier(3, timeout=10)

    def script(system: str, user: str) -> str:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        gate.wait()
        with lock:
            together -= 1
        number = user.partition("Text ")[2].partition(".")[0]
        return f'{{"propositions": [{{"text": "Number {number}."}}]}}' if "list of" in user else '{"entities": []}'

    found = _extractor(ScriptedChat(script), tmp_path, concurrency=3).extract(
        [ChunkInput(f"Text {number}.") for number in range(3)]
    )
    assert most == 3
    assert [item.propositions[0].text for item in found] == [f"Number {number}." for number in range(3)]


def test_interrupt_starts_no_further_calls(tmp_path: Path) -> None:
    def script(system: str, user: str) -> str:
        time.sleep(0.005)  # as long as no call takes, all are made before the interrupt is seen
        if "Text 3." in user:
            raise KeyboardInterrupt
        return '{"entities": []}' if "You list" in system else '{"propositions": []}'

    chat = ScriptedChat(script)
    with pytest.raises(KeyboardInterrupt):
        _extractor(chat, tmp_path, concurrency=2).extract([ChunkInput(f"Text {number}.") for number in range(200)])
    assert len(chat.asked) < 50


# What it is known by


def test_fingerprints_name_the_model_and_the_prompts_and_all_that_is_shown(tmp_path: Path) -> None:
    extractor = _extractor(ScriptedChat([], name="p:one"), tmp_path)
    assert extractor.fingerprint == "chat/1/entities/1+propositions/1+repair/1/p:one"
    other = _extractor(ScriptedChat([], name="p:two"), tmp_path)
    seen = {
        made.input_fingerprint(chunk)
        for made in (extractor, other)
        for chunk in (_CHUNK, ChunkInput(_TEXT), ChunkInput(_TEXT, "Bridges"), ChunkInput(_TEXT, "", ("Bridges",)))
    }
    assert len(seen) == 8
    assert isinstance(extractor, Metered)
    assert extractor.problems == ()
    assert extractor.extract([]) == []


def test_calls_and_tokens_are_counted(tmp_path: Path) -> None:
    replies = [Completion(_ENTITIES, 100, 20), Completion(_PROPOSITIONS, 200, 30)]
    extractor = _extractor(ScriptedChat(replies), tmp_path)
    extractor.extract([_CHUNK])
    assert (extractor.usage.calls, extractor.usage.input_tokens, extractor.usage.output_tokens) == (2, 300, 50)


def test_a_corpus_and_a_store_have_a_quarantine_of_their_own(tmp_path: Path) -> None:
    places = [Quarantine(tmp_path, store=store, corpus=corpus) for store in "ab" for corpus in "ab"]
    for place in places:
        assert _quarantine(place)
    places[0].retain({})
    places[1].release(_CHUNK)
    assert [len(place.entries()) for place in places] == [0, 0, 1, 1]
    (entry,) = places[2].entries()
    (source,) = places[2].sources()
    places[2].retain({source: [entry.id, "another"]})
    places[3].retain({source: ["another"]})
    assert [len(list(place.folder.rglob("*.json"))) for place in places] == [0, 0, 1, 0]


def _quarantine(place: Quarantine, chunk: ChunkInput = _CHUNK, *, extractor: str = "e") -> Path | None:
    return place.keep(chunk, model="m", extractor=extractor, call="entities/1", reason="r", replies=["x", "y"])


def test_quarantined_failure_round_trips_with_all_that_a_retry_needs(tmp_path: Path) -> None:
    place = Quarantine(tmp_path, store="s", corpus="c")
    _quarantine(place)
    (first,) = place.entries()
    assert (first.chunk, first.model, first.extractor, first.call) == (_CHUNK, "m", "e", "entities/1")
    assert (first.reason, first.replies, first.tries, place.find(_CHUNK)) == ("r", ("x", "y"), 1, first)
    assert len(first.at) == len("2026-01-01T00:00:00+00:00")
    # The id stays when the chunk moves, when its headings change and when it fails again, and tries are counted.
    _quarantine(place, replace(_CHUNK, position=9, headings=("Later",)))
    (again,) = place.entries()
    assert (again.id, again.tries, again.chunk.position) == (first.id, 2, 9)
    _quarantine(place, extractor="another")
    place.expect(place.entries()[0], "e")
    assert [item.tries for item in place.entries()] == [0]
    _quarantine(place, replace(_CHUNK, uri="doc:0", source=source_id("c", "doc:0")))
    assert [item.chunk.uri for item in place.entries()] == ["doc:0", "doc:1"]


def test_a_file_of_the_quarantine_that_cannot_be_read_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Quarantine(tmp_path, store="s", corpus="c")
    path = _quarantine(place)
    assert path is not None
    path.write_text('{"uri": 1}')
    assert place.entries() == []
    assert f"{path} cannot be read" in caplog.text


def test_partial_file_is_deleted_by_retain(tmp_path: Path) -> None:
    place = Quarantine(tmp_path, store="s", corpus="c")
    path = _quarantine(place)
    assert path is not None
    half = path.with_name("0123456789abcdef.part")
    half.write_text(_TEXT)
    place.retain({path.parent.name: [path.stem]})
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    place.release(_CHUNK)
    place.retain({})
    assert place.sources() == []


def test_undeletable_text_raises_instead_of_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Quarantine(tmp_path, store="s", corpus="c")
    path = _quarantine(place)
    assert path is not None

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # The tests may run as root, whom no permission stops.
    monkeypatch.setattr("shutil.rmtree", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    for wanted in ({}, {path.parent.name: ["another"]}):
        with pytest.raises(StoreUnavailableError, match="still holds text that was deleted from the store"):
            place.retain(wanted)


def test_chunk_that_failed_three_times_is_not_called_again(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda system, user: "no")
    for _ in range(3):
        assert "the next ingest retries it" in _one(chat, tmp_path).problem
    before = len(chat.asked)
    given_up = _one(chat, tmp_path)
    (entry,) = Quarantine(tmp_path, store="s", corpus="c").entries()
    assert (len(chat.asked), given_up.is_failed, entry.tries) == (before, True, 3)
    assert f"failed 3 times ({entry.reason}); run hlgraph failures retry {entry.id}" in given_up.problem
    # Another model has tries of its own, and so has the same one when its prompts change.
    other = ScriptedChat([_ENTITIES, _PROPOSITIONS], name="other")
    assert not _one(other, tmp_path).is_failed


def test_stop_before_a_failed_chunk_preserves_its_failure(tmp_path: Path) -> None:
    place = Quarantine(tmp_path, store="s", corpus="c")
    _one(ScriptedChat(["no", "no"]), tmp_path)
    (before,) = place.entries()
    chat = ScriptedChat(lambda system, user: ModelAccessError("p:m: no key"), name="other")
    with pytest.raises(ModelAccessError):
        _one(chat, tmp_path)
    (after,) = place.entries()
    assert (after.replies, after.reason, after.tries) == (before.replies, before.reason, 0)
    assert after.extractor.endswith("/other")


def test_missing_pydantic_error_contains_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("hlgraph.extract.chat")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[chat\]'"):
        __import__("hlgraph.extract.chat")


def test_the_messages_are_those_of_the_prompts() -> None:
    asked = ask_entities(ChunkInput("A text."))
    assert asked.user == (
        f"Where the text is from:\n{delimited('context', 'No title.')}\n\nThe text:\n{delimited('text', 'A text.')}"
    )
    assert asked.system.startswith("You list the entities that a text names.")

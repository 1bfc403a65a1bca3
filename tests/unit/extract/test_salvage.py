"""Replies of a chat model are salvaged item by item."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.extract.chat.messages import (
    FoundEntities,
    FoundPropositions,
    FoundVerdicts,
    ReplyError,
    parse,
    salvage,
    whole,
)

_ITEM = (
    '{"text": "It opened in 1863.", "topics": ["opening"], "entities": ["It"], '
    '"facts": [{"subject": "It", "predicate": "opened in", "object": "1863"}]}'
)
_WHOLE = parse(f'{{"propositions": [{_ITEM}]}}', FoundPropositions)
_TWO = parse(f'{{"propositions": [{_ITEM}, {{"text": "It is."}}]}}', FoundPropositions)


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"propositions": [{_ITEM.replace(chr(34) + "1863" + chr(34), "1863")}]}}',
        f'{{"propositions": [{_ITEM}], "comment": "done"}}',
        f'{{"propositions": [{_ITEM[:-1]}, "confidence": 0.9}}]}}',
        f"[{_ITEM}]",
        f'[{{"propositions": [{_ITEM}]}}]',
        f'{{"result": {{"propositions": [{_ITEM}]}}}}',
        f'{{"propositions": {_ITEM}}}',
        f'{{"propositions": [{_ITEM},],}}',
        f'```json\n{{"propositions": [{_ITEM},]}}\n```',
        f"```\n[{_ITEM}]\n```",
        f'Here is {{the list}}, as asked [1]:\n{{"propositions": [{_ITEM}]}} I hope it {{helps}}.',
        f"<think>[]</think> Sure: [{_ITEM}]",
        _ITEM,
        '{"propositions": ['
        + _ITEM.replace('["opening"]', '"opening"').replace('["It"]', '[{"name": "It", "kind": null}]')
        + "]}",
        '{"propositions": [' + _ITEM.replace('["opening"]', '["opening", null]') + ", null]}",
        '{"propositions": ['
        + _ITEM.replace('{"subject": "It", "predicate": "opened in", "object": "1863"}', '["It", "opened in", 1863]')
        + "]}",
    ],
)
def test_what_is_plainly_meant_is_taken(reply: str) -> None:
    assert salvage(reply, FoundPropositions) == (_WHOLE, (), 1)
    assert whole(reply, FoundPropositions) == _WHOLE


def test_null_and_names_alone_are_taken() -> None:
    found = whole('{"entities": [{"name": "Ada Falk", "kind": null}, "Sarn", {"name": 1863}]}', FoundEntities)
    assert [(item.name, item.kind) for item in found.entities] == [("Ada Falk", ""), ("Sarn", ""), ("1863", "")]
    lists = whole(
        '{"propositions": [{"text": "It is.", "topics": null, "entities": null, "facts": null}]}', FoundPropositions
    )
    assert lists == parse('{"propositions": [{"text": "It is."}]}', FoundPropositions)
    assert whole('{"entities": [], "note": null}', FoundEntities).entities == []


@pytest.mark.parametrize(
    ("reply", "dropped", "reason"),
    [
        (
            f'{{"propositions": [{_ITEM}, {{"text": 7}}, {{"text": "It is."}}]}}',
            '{"text": "7"}',
            "text: Input should be",
        ),
        (
            f'{{"propositions": [{_ITEM}, {{"topics": []}}, {{"text": "It is."}}]}}',
            '{"topics": []}',
            "text: Input should be",
        ),
        (f'{{"propositions": [{_ITEM}, [1], {{"text": "It is."}}]}}', '["1"]', "text: Input should be"),
        (
            f'{{"propositions": [{_ITEM}, {{"text": "It is.", "facts": [{{"subject": "It"}}]}}]}}',
            '{"subject": "It"}',
            "fact: predicate",
        ),
        (f'{{"propositions": [{_ITEM}, {{"text": "It is.", "topics": ["{"x" * 501}"]}}]}}', "x" * 501, "at most 500"),
        (
            f'{{"propositions": [{_ITEM}, {{"text": "He said "no" twice."}}, {{"text": "It is."}}]}}',
            '{"text": "He said "no" twice."},',
            "the JSON breaks",
        ),
    ],
)
def test_a_bad_item_alone_is_dropped_with_its_reason(reply: str, dropped: str, reason: str) -> None:
    found = salvage(reply, FoundPropositions)
    assert found.reply == _TWO
    (lost,) = found.dropped
    assert lost.text == dropped
    assert reason in lost.reason
    with pytest.raises(ReplyError):
        whole(reply, FoundPropositions)


def test_a_reply_that_is_cut_keeps_its_complete_items() -> None:
    full = f'{{"propositions": [{_ITEM}, {{"text": "It is."}}, {{"text": "It was."}}]}}'
    for end in range(full.index("It was") + 2, len(full) - 3):
        found = salvage(full[:end], FoundPropositions, cut="cut off at 9 tokens")
        assert found.reply == _TWO
        assert [item.reason for item in found.dropped] == ["cut off at 9 tokens"]
    assert [item.text for item in salvage(full, FoundPropositions, cut="cut").dropped] == [""]
    with pytest.raises(ReplyError):
        salvage('{"propositions": [{"text": "It', FoundPropositions, cut="cut")


@pytest.mark.parametrize(
    "reply", ["", "no", "{}", "[]", "[1]", '{"propositions": null}', '{"propositions": [{}]}', '["a"]', "[" * 100_000]
)
def test_an_unreadable_reply_stays_an_error(reply: str) -> None:
    with pytest.raises(ReplyError) as strict:
        parse(reply, FoundPropositions)
    with pytest.raises(ReplyError) as lenient:
        salvage(reply, FoundPropositions)
    assert str(lenient.value) == str(strict.value)


def test_other_forms_are_parsed_strictly() -> None:
    with pytest.raises(ReplyError):
        salvage('{"verdicts": [{"number": "1", "is_accurate": true}]}', FoundVerdicts)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["text", "name", "kind", "facts", "entities", "propositions", "subject", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.text(max_size=200) | _JSON.map(json.dumps), st.integers(0, 40), st.sampled_from(["", "cut"]))
def test_no_reply_raises_anything_else(reply: str, removed: int, cut: str) -> None:
    texts = (reply, reply[: len(reply) - removed], f"{{{reply}", f'{{"propositions": [{reply}, {_ITEM}', f"[{reply}")
    for text in texts:
        for form in (FoundEntities, FoundPropositions):
            with contextlib.suppress(ReplyError):
                found = salvage(text, form, cut=cut)
                assert isinstance(found.reply, form)
                assert found.size == len(
                    found.reply.model_dump()[{FoundEntities: "entities", FoundPropositions: "propositions"}[form]]
                )


_NAME = st.text(min_size=1, max_size=8).filter(lambda text: text.strip() != "")


@given(
    st.lists(
        st.fixed_dictionaries(
            {"text": _NAME},
            optional={
                "topics": st.lists(_NAME, max_size=3),
                "entities": st.lists(_NAME, max_size=3),
                "facts": st.lists(
                    st.fixed_dictionaries({"subject": _NAME, "predicate": _NAME, "object": _NAME}), max_size=2
                ),
            },
        ),
        max_size=4,
    )
)
def test_salvaging_a_valid_reply_is_parsing_it(items: list[object]) -> None:
    reply = json.dumps({"propositions": items})
    try:
        parsed = parse(reply, FoundPropositions)
    except ReplyError:  # characters that clean text does not have
        return
    assert salvage(reply, FoundPropositions) == (parsed, (), len(items))
    assert salvage(json.dumps({"propositions": items, "note": ""}), FoundPropositions) == (parsed, (), len(items))


@pytest.mark.parametrize(
    "unit", ['{"text":', '{"text": "a" b},', '\\"', "[", ",   ", '"', '{"text": "a", "facts": [', "{\n"]
)
def test_a_long_reply_takes_linear_time(unit: str) -> None:
    def seconds(size: int) -> float:
        text = f'{{"propositions": [{unit * (size // len(unit))}'
        start = time.process_time()
        with contextlib.suppress(ReplyError):
            salvage(text, FoundPropositions)
        return time.process_time() - start

    assert seconds(400_000) < 12 * max(seconds(50_000), 0.02)

"""Salvage the replies of a chat model item by item: what is plainly meant is taken, and a bad item alone is dropped.

:func:`hlgraph.extract.chat.messages.parse` is strict. :func:`salvage` reads what it refuses: numbers and null for text, a single
value for a list, extra keys, a list at the top, trailing commas, text around the JSON, and JSON that ends early.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from hlgraph.extract.chat.messages import (
    FoundEntities,
    FoundEntity,
    FoundFact,
    FoundProposition,
    FoundPropositions,
    Reply,
    ReplyError,
    parse,
    reasons,
    without_frame,
)
from hlgraph.extract.quarantine import Dropped

# Strings, which stay, and what JSON does not allow outside of them.
_LOOSE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|,(?=\s*[}\]])|\b(?:None|True|False)\b', re.DOTALL)
_STRICT = {",": "", "None": "null", "True": "true", "False": "false"}
_MOST_BROKEN = 200  # items of one reply; what follows more broken ones is not read
_LONGEST = 2_000  # characters of a dropped item that are kept
_Part = TypeVar("_Part", bound=BaseModel)


class _Digits(str):
    """A number of the JSON, as it is written."""

    __slots__ = ()


class Salvaged(NamedTuple, Generic[Reply]):
    """A reply with what could not be read of it.

    Attributes
    ----------
    reply : the items that could be read
    dropped : the items, and parts of items, that could not
    size : number of items that could be read
    """

    reply: Reply
    dropped: tuple[Dropped, ...] = ()
    size: int = 0


def salvage(reply: str, form: type[Reply], *, cut: str = "") -> Salvaged[Reply]:
    """The items of a reply that can be read; equal to :func:`hlgraph.extract.chat.messages.parse` if that reads the reply.

    Takes time linear in the length of the reply.

    Parameters
    ----------
    reply : the reply
    form : the expected schema; one without a list of entities or propositions is parsed strictly
    cut : why the reply ends early, so that its last item is incomplete; empty: it is complete

    Returns
    -------
    Salvaged
        The items, and what was dropped.

    Raises
    ------
    ReplyError
        Nothing in the reply can be read.
    """
    dropped: list[Dropped] = []
    shape = _SHAPES.get(form)
    try:
        parsed = parse(reply, form)
        size = len(getattr(parsed, shape.field)) if shape else 0
    except ReplyError:
        trees = _trees(reply, shape, dropped, cut=cut) if shape else None
        if shape is None or trees is None:
            raise
        parts = _Parts(dropped)
        items = [item for tree in trees if tree is not None and (item := shape.read(parts, tree)) is not None]
        if not items and (dropped or cut):
            raise
        parsed, size = form.model_validate({shape.field: items}), len(items)
    if cut and all(item.reason != cut for item in dropped):
        dropped.append(Dropped("", cut))
    return Salvaged(parsed, tuple(dropped), size)


def whole(reply: str, form: type[Reply]) -> Reply:
    """The parsed reply, if nothing has to be dropped from it.

    Parameters
    ----------
    reply : the reply
    form : the expected schema

    Returns
    -------
    BaseModel
        An instance of ``form``.

    Raises
    ------
    ReplyError
        The reply, or an item of it, cannot be read.
    """
    salvaged = salvage(reply, form)
    if salvaged.dropped:
        raise ReplyError("; ".join(dropped.reason for dropped in salvaged.dropped[:5]))
    return salvaged.reply


@dataclass(frozen=True, slots=True)
class _Shape:
    """The list in a form.

    Attributes
    ----------
    field : its name
    key : the key that every item has
    keys : all keys of an item, one of which is its first
    read : converts the JSON of an item
    """

    field: str
    key: str
    keys: str
    read: Callable[[_Parts, object], BaseModel | None]


@dataclass(slots=True)
class _Parts:
    """Converts parts of a reply, and notes those that cannot be read."""

    dropped: list[Dropped] = field(default_factory=list)

    def validated(self, form: type[_Part], values: dict[str, object], raw: object) -> _Part | None:
        """The part; None if it cannot be read."""
        try:
            return form.model_validate(values)
        except ValidationError as error:
            self.dropped.append(
                _drop(raw, f"{form.__name__.removeprefix('Found').lower()}: {'; '.join(reasons(error))}")
            )
            return None

    def entity(self, tree: object) -> FoundEntity | None:
        """An entity: an object, or its name alone."""
        values = tree if isinstance(tree, dict) else {"name": tree}
        return self.validated(
            FoundEntity, {"name": _text(values.get("name")), "kind": _text(values.get("kind")) or ""}, tree
        )

    def fact(self, tree: object) -> FoundFact | None:
        """A fact: an object, or a list of three."""
        names = ("subject", "predicate", "object")
        values = dict(zip(names, tree, strict=True)) if isinstance(tree, list) and len(tree) == len(names) else tree
        values = values if isinstance(values, dict) else {}
        return self.validated(FoundFact, {name: _text(values.get(name)) for name in names}, tree)

    def name(self, tree: object) -> str | None:
        """A name or a topic: a text, or an object with a name."""
        entity = self.entity(tree)
        return None if entity is None else entity.name

    def proposition(self, tree: object) -> FoundProposition | None:
        """A proposition: an object, or its text alone."""
        values = tree if isinstance(tree, dict) else {"text": tree}
        text = values.get("text")
        known: dict[str, object] = {"text": None if isinstance(text, _Digits) else text}
        proposition = self.validated(FoundProposition, known, tree)
        if proposition is None:
            return None
        lists: dict[str, object] = {
            name: [part for each in _list(values.get(name)) if (part := read(each)) is not None]
            for name, read in (("topics", self.name), ("entities", self.name), ("facts", self.fact))
        }
        return FoundProposition.model_validate({**known, **lists})


_SHAPES: dict[type[BaseModel], _Shape] = {
    FoundEntities: _Shape("entities", "name", "name|kind", _Parts.entity),
    FoundPropositions: _Shape("propositions", "text", "text|topics|entities|facts", _Parts.proposition),
}


def _text(value: object) -> object:
    """The text that a value plainly means; other values are left for the schema to refuse."""
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, _Digits) else value


def _list(value: object) -> list[object]:
    """A list; null is an empty one, and a single value a list of one. Null items are left out."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if each is not None]


def _drop(raw: object, reason: str) -> Dropped:
    text = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return Dropped(text[:_LONGEST], reason)


# The JSON of the items


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(strict=False, parse_int=_Digits, parse_float=_Digits, parse_constant=_Digits)


def _trees(reply: str, shape: _Shape, dropped: list[Dropped], *, cut: str) -> list[object] | None:
    """The JSON of all items of a reply, whatever is around them; None if there is no list of items."""
    text = _LOOSE.sub(lambda match: _STRICT.get(match[0], match[0]), without_frame(reply))
    outer = re.search(rf'\{{\s*"{shape.field}"\s*:', text)
    places = (outer.start() if outer else -1, text.find("["), text.find("{"))
    for place in sorted({place for place in places if place >= 0}, key=places.index):
        try:
            tree, _ = _decoder().raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            continue
        items = _items(tree, shape)
        if items is not None:
            return items
    return _scanned(text, shape, dropped, cut=cut) or None


def _items(tree: Any, shape: _Shape) -> list[object] | None:
    """The items in a JSON value: the list of its field, a list at the top, or the field of a single object inside it."""
    if isinstance(tree, list):
        items: list[Any] = [item for item in tree if item is not None]
        if len(items) == 1 and isinstance(items[0], dict) and shape.field in items[0]:
            return _items(items[0], shape)
        return items if any(isinstance(item, dict) and shape.key in item for item in items) else None
    if not isinstance(tree, dict):
        return None
    own: Any = tree.get(shape.field)
    if isinstance(own, dict) and shape.key in own:
        return [own]
    if shape.field in tree:
        return own if isinstance(own, list) else None
    inner = [value[shape.field] for value in tree.values() if isinstance(value, dict) and shape.field in value]
    return inner[0] if len(inner) == 1 and isinstance(inner[0], list) else None


def _scanned(text: str, shape: _Shape, dropped: list[Dropped], *, cut: str) -> list[object]:
    """The items of JSON that breaks, each decoded by itself. What lies between two that can be read is dropped."""
    starts = [match.start() for match in re.finditer(rf'\{{\s*"(?:{shape.keys})"\s*:', text)]
    items: list[object] = []
    end = 0
    for place, until in pairwise([*starts, len(text)]):
        if place < end:
            continue
        try:
            tree, end = _decoder().raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            broken = f"the JSON breaks: {error.msg if isinstance(error, json.JSONDecodeError) else 'nested too deeply'}"
            reason = cut if cut and until == len(text) else broken
            dropped.append(_drop(text[place:until].strip(), reason))
            if len(dropped) >= _MOST_BROKEN:
                break
            continue
        items.append(tree)
    return items

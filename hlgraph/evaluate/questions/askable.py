"""Which entities a question can ask for, by which names an answer is accepted, and how a question refers to one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from hlgraph.evaluate.questions.word_lists import AGENTIVE, DEIXIS, SHORT_ROLES, SINGULAR
from hlgraph.records import Entity, Fact, Source
from hlgraph.text import words

_MOST_WORDS = 5
_HUB_SHARE, _HUB_SOURCES = 0.25, 20
_NO_NAMES = frozenset({"number", "date", "time", "money", "percent", "quantity", "ordinal"})
_NO_BEGINNING = DEIXIS | {"one", "two", "three", "four", "five", "six", "cut", "plus", "no"}
_PLAIN = re.compile(r"[\w’'.&+-]+(?: [\w’'.&+-]+)*")
_ACTS, _FEW_ACTS = 0.25, 0.1
_ASKED = {"organization": "Which organization", "work": "Which work", "place": "Which place"}
_REFERRED = {
    "person": "the person who",
    "organization": "the organization that",
    "work": "the work that",
    "place": "the place that",
}
AGENT = "the person or organization that"
THING = "the thing that"
"""What a question calls an entity of unknown kind: one that acts, and another one."""


class Askable:
    """The entities of a corpus, as questions ask for them.

    Entities that share one name are one here: "Altman" and "Sam Altman" if no other name ends with Altman, "FTC" and "Federal Trade
    Commission" if no other name has these initials.

    Parameters
    ----------
    entities : by id
    facts : all facts
    sources : by id
    texts : texts of the statements, which tell a name from a common word at the beginning of a sentence
    """

    def __init__(
        self,
        entities: Mapping[str, Entity],
        facts: Iterable[Fact],
        *,
        sources: Mapping[str, Source],
        texts: Iterable[str],
    ) -> None:
        self._entities = entities
        self._titles = {" ".join(words(item.title)) for item in sources.values()}
        self._lower: Counter[str] = Counter()
        self._upper: Counter[str] = Counter()
        for text in texts:
            for word in re.findall(r"[^\W\d_]+", text):
                (self._upper if word[0].isupper() else self._lower)[word.lower()] += 1
        held = list(facts)
        self._counts = Counter(item.subject_id for item in held)
        acts = Counter(
            item.subject_id for item in held if any(word in AGENTIVE for word in item.predicate.lower().split()[:3])
        )
        plain = {name: item for name, item in entities.items() if not _is_no_plain_name(item.name)}
        self._groups = {name: name for name in entities} | _grouped(plain, self._counts)
        self._members: dict[str, list[str]] = {}
        for name, group in self._groups.items():
            self._members.setdefault(group, []).append(name)
        self._agents = {
            group
            for group, names in self._members.items()
            if _acts(sum(acts[name] for name in names), sum(self._counts[name] for name in names))
            or _has_short_form([entities[name].name for name in names])
        }
        self._shared = _shared_last_words(entities)

    def group(self, entity: str) -> str:
        """The id that stands for an entity and those that share its name."""
        return self._groups[entity]

    def answers(self, entity: str) -> tuple[str, ...]:
        """The names of an entity, those of the graph first: that of the longest one, then by length and letter."""
        members = [self._entities[name] for name in self._members[self.group(entity)]]
        main = self._entities[self.group(entity)].name
        rest = {name for item in members for name in (item.name, *item.aliases)} - {main, ""}
        return (main, *sorted(rest, key=lambda name: (-len(name), name)))

    def refusal(self, entity: str) -> str:
        """Why no question can ask for an entity; empty if one can."""
        item = self._entities[entity]
        name, parts = item.name, item.name.split()
        if item.kind in _NO_NAMES or not any(letter.isalpha() for letter in name):
            return "it is a number or a date"
        if _is_no_plain_name(name):
            return "it is no plain name"
        if name in SHORT_ROLES or self._is_common(parts):
            return "it is a common word"
        if any(" ".join(words(name)) in title and len(parts) > _MOST_WORDS - 1 for title in self._titles):
            return "it is a title"
        if len(parts) == 1 and name.lower() in self._shared and self.group(entity) == entity:
            return "several entities have its name"
        return ""

    def asked(self, entity: str, *clauses: str) -> str:
        """The words that ask for an entity before these clauses: "Who", "Which organization", or "Who or what"."""
        kind = self._entities[entity].kind
        if kind != "organization" and (kind == "person" or self._is_agent(entity, clauses)):
            return "Who"
        return _ASKED.get(kind, "Who or what")

    def referred(self, entity: str, *clauses: str) -> str:
        """The words that stand for an entity before these clauses: "the organization that"."""
        kind, is_agent = self._entities[entity].kind, self._is_agent(entity, clauses)
        if kind in ("place", "person") and is_agent:
            return AGENT
        return _REFERRED.get(kind) or (AGENT if is_agent else THING)

    def _is_agent(self, entity: str, clauses: tuple[str, ...]) -> bool:
        """Whether an entity acts as a person or an organization does: in its facts, or in these clauses."""
        firsts = {text.split()[0] for text in clauses if text}
        has_owner = any({"his", "her"} & {*text.split()} for text in clauses)
        return self.group(entity) in self._agents or has_owner or bool(firsts & AGENTIVE)

    def _is_common(self, parts: list[str]) -> bool:
        """Whether the texts write a name of one word without a capital, too, a third as often or more."""
        if len(parts) > 1:
            return False
        word = parts[0].lower()
        return 3 * self._lower[word] >= self._upper[word] > 0


def hubs(facts: Iterable[tuple[str, str]], *, source_count: int) -> frozenset[str]:
    """Entities that many sources speak of, so that they identify nothing.

    Parameters
    ----------
    facts : an entity and a source that has a fact about it, for every such pair
    source_count : number of sources of the corpus

    Returns
    -------
    frozenset of str
        Entities of more than a quarter of the sources, and of more than 20.
    """
    counts = Counter(entity for entity, _ in set(facts))
    most = max(_HUB_SOURCES, _HUB_SHARE * source_count)
    return frozenset(entity for entity, count in counts.items() if count > most)


def singular(clause: str) -> str:
    """A clause behind "who" or "that": its first verb in the singular ("have won" becomes "has won"), without "also"."""
    first, _, rest = clause.replace(" also ", " ").partition(" ")
    return f"{SINGULAR.get(first, first)} {rest}".strip()


def _is_no_plain_name(name: str) -> bool:
    parts = name.split()
    return (
        not parts
        or name[:1].islower()
        or len(parts) > _MOST_WORDS
        or any(part.isdigit() and len(part) > 1 for part in parts)
        or parts[0].lower() in _NO_BEGINNING
        or (parts[0].lower().endswith("ing") and len(parts) > 1)
        or not _PLAIN.fullmatch(name)
    )


def _acts(count: int, total: int) -> bool:
    """Whether as many facts of an entity are acts as those of a person or an organization."""
    return count >= _ACTS * total > 0 or (count > 1 and count >= _FEW_ACTS * total)


def _has_short_form(names: list[str]) -> bool:
    """Whether a name is the last word of another one, as that of a person is."""
    return any(" " not in one and other.endswith(f" {one}") for one in names for other in names)


def _grouped(entities: Mapping[str, Entity], counts: Mapping[str, int]) -> dict[str, str]:
    """For each entity the one that stands for all that share its name: by last words, or by initials.

    "Altman" is "Sam Altman" if all longer names that end with Altman end with Sam Altman, and so is "CEO Sam Altman". The one of
    the most facts stands for all, then the longest.
    """
    keys: dict[str, set[str]] = {}
    for item in entities.values():
        parts = item.name.split()
        if len(parts) > 1:
            pair = " ".join(parts[-2:])
            initials = "".join(part[0] for part in item.name.replace("-", " ").split() if part[0].isupper())
            for short in {parts[-1], initials, pair} - {item.name}:
                keys.setdefault(short, set()).add(pair)
    joined: dict[str, list[str]] = {}
    for item in entities.values():
        parts = item.name.split()
        pairs = keys.get(item.name, set())
        is_short = len(parts) == 1 and (len(item.name) > 2 or item.name.isupper())
        own = " ".join(parts[-2:]) if len(parts) > 1 else next(iter(pairs)) if is_short and len(pairs) == 1 else ""
        joined.setdefault(own or item.id, []).append(item.id)
    found: dict[str, str] = {}
    for names in joined.values():
        main = min(names, key=lambda name: (-counts.get(name, 0), -len(entities[name].name), name))
        found.update(dict.fromkeys(names, main))
    return found


def _shared_last_words(entities: Mapping[str, Entity]) -> frozenset[str]:
    """Last words of two or more names."""
    last = Counter(item.name.split()[-1].lower() for item in entities.values() if " " in item.name)
    return frozenset(word for word, count in last.items() if count > 1)

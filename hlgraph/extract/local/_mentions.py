"""Find the mentions of a chunk, sentence by sentence: title, values, quoted works, names; expand shorter forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hlgraph.extract.local import _lexicon as lexicon
from hlgraph.extract.local._clauses import KIND_OF_NOUN
from hlgraph.extract.local._names import (
    Shape,
    Token,
    headline_tokens,
    is_title_case,
    names,
    row_tokens,
    shape,
    tokens,
)
from hlgraph.extract.local._topics import Title, is_acronym, occurrences
from hlgraph.extract.local._units import MentionSpan, Unit, quoted, values, without_overlaps
from hlgraph.text import BlockKind

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]")
_UNSPACED_NAME = re.compile(
    r"[ァ-ヴー]{3,}(?:[・＝][ァ-ヴー]+)*|(?<![A-Za-z0-9])[A-Z][A-Za-z0-9+#.-]*[A-Za-z0-9](?:\s[A-Z][A-Za-z0-9]+)*"
)
_PERSONAL = re.compile(r"\b(?:he|she|his|her|him|He|She|His|Her|born|directed by|written by|starring)\b")
_BORN = re.compile(r"\s?\((?:[^()]{0,60}[;,] ?)?(?:born|b\.) ")
_BRACKET = re.compile(r"\s?\(")
_NO_PERSON = re.compile(r"[&\d]|\b(?:of|the|and|for)\b")
_SURNAME = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_WORD = re.compile(r"[^\W_]+")


def find_mentions(text: str, units: Sequence[Unit], title: Title) -> tuple[list[list[MentionSpan]], Shape]:
    """The mentions of every unit of a chunk, in the order of the text, and the evidence of the chunk about capitals.

    Mentions do not overlap, except for the name inside a title of office ("Kent" in "Duke of Kent"). An acronym that the
    chunk explains, and a surname with exactly one full name in the chunk, get the full name.

    Parameters
    ----------
    text : text of the chunk
    units : its units; code has no mentions
    title : the title of the document

    Returns
    -------
    tuple
        One list of mentions per unit, and the evidence.
    """
    words = [_tokens_of(unit) for unit in units]
    evidence = shape(text, words, known=(*title.forms, title.head) if title.is_name else ())
    per_unit = [
        [] if unit.kind is BlockKind.CODE else list(_in_sentence(unit.text, title, unit_words, evidence))
        for unit, unit_words in zip(units, words, strict=True)
    ]
    acronyms: dict[str, tuple[str, int]] = {}
    for i, (unit, mentions) in enumerate(zip(units, per_unit, strict=True)):
        for short, full in _explained(unit.text, mentions):
            acronyms.setdefault(short, (full, i))
    surnames = _surnames(per_unit, title) if _PERSONAL.search(text) else {}
    return [
        [_full(mention, i, acronyms, surnames) for mention in mentions] for i, mentions in enumerate(per_unit)
    ], evidence


def _tokens_of(unit: Unit) -> list[Token]:
    if unit.kind is BlockKind.CODE:
        return []
    if unit.kind is BlockKind.ROW:
        return row_tokens(unit.text)
    return headline_tokens(unit.text) if is_title_case(unit.text) else tokens(unit.text)


def _in_sentence(text: str, title: Title, words: Sequence[Token], evidence: Shape) -> Iterator[MentionSpan]:
    """Mentions in the order of the text. The title has precedence, then quoted works, values, and names in the rest."""
    taken: list[MentionSpan] = []
    if title.is_name:
        taken = [mention for mention in occurrences(text, title) if not _is_part_of_name(text, mention)]
    taken = without_overlaps(taken, quoted(text))
    taken = without_overlaps(taken, values(text))
    if _UNSPACED.search(text) and len(_UNSPACED.findall(text)) * 3 > len(text):
        words = ()  # capitals do not mark word boundaries in these scripts
        latin = [MentionSpan(match.start(), match.end(), match.group(), "") for match in _UNSPACED_NAME.finditer(text)]
        taken = without_overlaps(taken, latin)
    runs = names(text, words, evidence, taken=taken) if words else []
    inside = [run for before, run in pairwise(runs) if run.start < before.end]  # "Kent" of "Duke of Kent"
    outside = [run for run in runs if run not in inside] if inside else runs
    for mention in sorted([*without_overlaps(outside, taken), *inside]):
        if title.is_name and (
            mention.name in title.forms or mention.name == title.head or _introduces(text, mention, title)
        ):
            yield mention._replace(name=title.bare)
        elif mention.kind == "" and _BORN.match(text, mention.end):
            yield mention._replace(kind="person")
        else:
            yield mention


def _introduces(text: str, mention: MentionSpan, title: Title) -> bool:
    """Whether a name at the beginning is the title in full: "Rita Louise Tower (born 1971)" for "Rita Tower"."""
    if mention.start or not _BRACKET.match(text, mention.end):
        return False
    long, short = mention.name.split(), title.bare.split()
    return len(long) > len(short) > 1 and (long[0], long[-1]) == (short[0], short[-1])


def _is_part_of_name(text: str, mention: MentionSpan) -> bool:
    """Whether an occurrence of the title is left to the search for names: one word, or part of a longer name."""
    words = text[mention.start : mention.end]
    if _WORD.fullmatch(words) and words.lower() != words.upper():
        return True
    follower = text[mention.end + 1 : mention.end + 2]
    return text[mention.end : mention.end + 1] == " " and (follower.isupper() or follower.isdigit())


def _explained(text: str, mentions: Sequence[MentionSpan]) -> Iterator[tuple[str, str]]:
    """Acronyms that a sentence explains, with matching initials: "World Health Organization (WHO)"."""
    for full, short in pairwise(mentions):
        is_bracketed = text[full.end : short.start] == " (" and text[short.end : short.end + 1] == ")"
        if is_bracketed and is_acronym(short.name, full.name):
            yield short.name, full.name


def _surnames(per_unit: Sequence[Sequence[MentionSpan]], title: Title) -> dict[str, str]:
    """The full name for each surname that has exactly one in the chunk."""
    full: dict[str, set[str]] = {}
    for name, kind in {(mention.name, mention.kind) for mentions in per_unit for mention in mentions} | {
        (title.bare, "")
    }:
        if kind in ("", "person") and (last := _surname(name)):
            full.setdefault(last, set()).add(name)
    return {last: names_.pop() for last, names_ in full.items() if len(names_) == 1}


def _surname(name: str) -> str:
    """The last word of a likely personal name (two to four words, no word of places or organizations); else empty."""
    parts = name.split()
    if not 2 <= len(parts) <= 4 or not parts[0][0].isupper() or _NO_PERSON.search(name):
        return ""
    first, last = parts[0].lower(), parts[-1].lower()
    is_acronym_first = len(parts[0]) > 2 and parts[0].isupper()
    if is_acronym_first or first in lexicon.NOT_A_FIRST_NAME or first in lexicon.ORDINARY:
        return ""
    if last in lexicon.GENERIC or last in lexicon.DEMONYMS or last in lexicon.ORDINARY:
        return ""
    is_surname = _SURNAME.fullmatch(parts[-1]) and parts[-1][0].isupper() and not parts[-1].isupper()
    return parts[-1] if is_surname and len(last) > 2 else ""


def _full(
    mention: MentionSpan, unit: int, acronyms: dict[str, tuple[str, int]], surnames: dict[str, str]
) -> MentionSpan:
    """The mention with its full name. In the unit that explains it, an acronym keeps its own name, since both are mentions."""
    if mention.name in acronyms and acronyms[mention.name][1] != unit:
        return mention._replace(name=acronyms[mention.name][0])
    if mention.kind in ("", "person") and mention.name in surnames:
        return mention._replace(name=surnames[mention.name])
    return mention


_ANAPHOR = re.compile(r"(?P<pronoun>He|She)(?= [a-z])|The company(?= [a-z])")
_OPPOSITE = {
    "He": re.compile(r"\b(?:she|her|hers|him)\b", re.IGNORECASE),
    "She": re.compile(r"\b(?:he|him|his)\b", re.IGNORECASE),
}
_LOWER_WORD = re.compile(r"(?<![^\W_])[a-z]+")
_ANTECEDENT_UNITS = 2  # sentences before the pronoun in which its antecedent may stand


def with_antecedents(
    units: Sequence[Unit], mentions: Sequence[Sequence[MentionSpan]], title: Title
) -> tuple[tuple[Unit, ...], list[Sequence[MentionSpan]]]:
    """The units with the antecedent in brackets after "He", "She" and "The company" at their beginning, if it is certain.

    It is certain if the last of the two sentences before that names a candidate, under the same heading, begins with it and
    has no other person (or organization), neither by a name nor by a noun nor by a pronoun. If the title is a name, these
    words refer to it, and nothing changes.

    Parameters
    ----------
    units : the units of a chunk
    mentions : mentions of each unit
    title : the title of the document

    Returns
    -------
    tuple
        The units, whose spans stay, and their mentions; the pronoun and the bracket mention the antecedent.
    """
    if title.is_name:
        return tuple(units), list(mentions)
    resolved: list[Unit] = []
    named: list[Sequence[MentionSpan]] = []
    for unit, spans in zip(units, mentions, strict=True):
        match = _ANAPHOR.match(unit.text) if unit.kind is BlockKind.PROSE else None
        before, names_before = resolved[-_ANTECEDENT_UNITS:], named[-_ANTECEDENT_UNITS:]
        antecedent = _antecedent(match, unit, before, names_before) if match else None
        if match and antecedent:
            head = f"{match.group()} [{antecedent.name}]"
            shift, rest = len(head) - match.end(), (each for each in spans if each.start >= match.end())
            resolved.append(unit._replace(text=head + unit.text[match.end() :]))
            moved = (each._replace(start=each.start + shift, end=each.end + shift) for each in rest)
            named.append([antecedent._replace(start=0, end=len(head)), *moved])
        else:
            resolved.append(unit)
            named.append(spans)
    return tuple(resolved), named


def _antecedent(
    anaphor: re.Match[str], unit: Unit, before: Sequence[Unit], mentions: Sequence[Sequence[MentionSpan]]
) -> MentionSpan | None:
    if not before or any(each.kind is not BlockKind.PROSE or each.heading != unit.heading for each in before):
        return None
    pronoun = anaphor["pronoun"]
    kind = "person" if pronoun else "organization"
    nearest = [row for row in range(len(before)) if any(each.kind in (kind, "") for each in mentions[row])][-1:]
    before, mentions = before[nearest[0] if nearest else 0 :], mentions[nearest[0] if nearest else 0 :]
    text = " ".join(each.text for each in before)
    if text.count("“") != text.count("”") or text.count('"') % 2 or (pronoun and _OPPOSITE[pronoun].search(text)):
        return None
    if any(
        KIND_OF_NOUN.get(word.removesuffix("s")) == kind and word != "company" for word in _LOWER_WORD.findall(text)
    ):
        return None
    candidates = {each.name: each for spans in mentions for each in spans if each.kind in (kind, "")}
    if len(candidates) != 1:
        return None
    [candidate] = candidates.values()
    is_subject = any(each.name == candidate.name and not each.start for spans in mentions for each in spans)
    is_fitting = candidate.kind == kind or (bool(pronoun) and _is_full_name(candidate.name))
    return candidate if is_subject and is_fitting else None


def _is_full_name(name: str) -> bool:
    """Whether a name of unknown kind is two or three capitalised words, none of them of places and organizations."""
    words = name.split()
    return (
        1 < len(words) <= 3
        and all(word[0].isupper() and word[1:].islower() for word in name.replace("-", " ").split() if word)
        and lexicon.NOT_A_FIRST_NAME.isdisjoint(word.lower() for word in words)
    )

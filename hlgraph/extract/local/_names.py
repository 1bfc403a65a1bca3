"""Find names in a sentence: runs of capitalised words, joined across the particles that occur inside names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from hlgraph.extract.local import _lexicon as lexicon
from hlgraph.extract.local._clauses import tag_of
from hlgraph.extract.local._units import MentionSpan
from hlgraph.text import STOP_WORDS, word_set


class Token(NamedTuple):
    """A word that may be part of a name.

    Attributes
    ----------
    start, end : span in the sentence
    word : the word without its possessive
    is_first : it begins a sentence or a quotation, so its capital means nothing
    is_possessive : it ends with a possessive
    """

    start: int
    end: int
    word: str
    is_first: bool
    is_possessive: bool

    @property
    def name_end(self) -> int:
        """End of the word without its possessive."""
        return self.end - 2 if self.is_possessive else self.end


class Shape(NamedTuple):
    """Evidence in a chunk for and against a capital letter marking a name.

    Attributes
    ----------
    lower : words that occur in lower case
    capital : words with a capital in a position that requires none
    acronyms : capitals alone in parentheses, "(WHO)"
    is_german : the chunk is in German, where all nouns have a capital
    """

    lower: frozenset[str]
    capital: frozenset[str]
    acronyms: frozenset[str]
    is_german: bool


# A word from its first letter that is not known to be lower case, or a number. :func:`tokens` checks whether that letter is a
# capital and where the word begins, because a pattern that begins with a plain character set is much faster.
_TOKEN = re.compile(
    r"[^\W\da-zß-öø-ÿ_][^\W_]*(?:(?:['’.&‐‑–-]|\.-)[^\W_]+)*"
    r"|\d(?<![^\W_].)(?:\d{0,3}(?![\w%-]|[.,]\d)|0th(?= Century [A-Z]))"
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W\d_]+")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_BREAKS = ':.?!…•|"“«„([—–-'
_BREAK = re.compile(r"(?:[:.?!…•|]|[“\"«„(\[—–-])\s*$")
_LABEL = re.compile(r"(?:^|(?<=; ))[^:;]{1,80}(?=: )")
_CONTRACTION = re.compile(r"['’](?:m|d|t|ve|ll|re)$")
_LOWER_TAIL = re.compile(r"[-‐‑](?:based|born|owned|led|winning|nominated|area|backed|controlled|occupied)$")
_BRACKETED = re.compile(r"\(([A-Z][A-Z0-9&.-]{1,9})\)")
_GERMAN = word_set("der die das und ist nicht ein eine mit auf von den dem zu wurde sich auch werden")
_ENGLISH = word_set("the and is of to was in for with that")


def tokens(text: str) -> list[Token]:
    """The capitalised words of a sentence (also words like "iPhone") and its numbers, in order.

    Examples
    --------
    >>> [token.word for token in tokens("Ada's iPhone is a non-English, London-based Model 5.")]
    ['Ada', 'iPhone', 'London', 'Model', '5']
    """
    capitalised = []
    head = _LETTER_OR_DIGIT.search(text)
    head_end = head.start() if head else 0
    for match in _TOKEN.finditer(text):
        word, start, end = match.group(), match.start(), match.end()
        if not (word[0].isupper() or word[0].isdigit()):
            continue
        before = text[start - 1] if start else " "
        if before.isalnum():
            if not before.islower() or (start > 1 and text[start - 2].isalnum()):
                continue  # inside a word
            start, word = start - 1, before + word
        elif before == "-" and text[start - 2 : start - 1].islower():
            continue  # "non-English"
        is_first = start <= head_end or _is_after_break(text, start)
        is_possessive = False
        if "'" in word or "’" in word:
            is_possessive = word[-2] in "'’" and word[-1] in "sS"
            if not is_possessive and _CONTRACTION.search(word):
                continue
        if is_possessive:
            word = word[:-2]
        elif "-" in word and (tail := _LOWER_TAIL.search(word)):
            word = word[: tail.start()]
            end = start + len(word)
        capitalised.append(Token(start, end, word, is_first, is_possessive))
    return capitalised


def is_title_case(text: str) -> bool:
    """Whether a line of at least six words is written like a headline, so that its capitals mean little.

    Examples
    --------
    >>> is_title_case("What To Know About The New Tax Law"), is_title_case("Robert De Niro met Al Pacino and Joe Pesci.")
    (True, False)
    """
    if text.endswith((".", "。", ".”", '."')):
        return False
    long_words = _LONG_WORD.findall(text)
    return len(long_words) > 2 and text.count(" ") > 4 and 10 * sum(map(str.islower, long_words)) < 3 * len(long_words)


def headline_tokens(text: str) -> list[Token]:
    """The tokens of a headline, all marked ``is_first``: only words that the chunk shows to be names count as names."""
    return [token._replace(is_first=True) for token in tokens(text)]


def row_tokens(text: str) -> list[Token]:
    """The tokens of a table row without its labels; none is marked ``is_first``, so the first word of a cell can be a name.

    Examples
    --------
    >>> [(token.word, token.is_first) for token in row_tokens("Seat: Paris; Mayor: Ada Roe")]
    [('Paris', False), ('Ada', False), ('Roe', False)]
    """
    labels = {i for match in _LABEL.finditer(text) for i in range(*match.span())}
    return [token._replace(is_first=False) for token in tokens(text) if token.start not in labels]


def _is_after_break(text: str, start: int) -> bool:
    """Whether a colon, quotation mark, parenthesis or dash precedes a word."""
    if text[start - 1] == " " and text[start - 2 : start - 1] not in _BREAKS:
        return False
    return _BREAK.search(text, max(0, start - 4), start) is not None


def shape(text: str, sentences: Sequence[Sequence[Token]], *, known: Sequence[str]) -> Shape:
    """The evidence of a chunk about its own words.

    Parameters
    ----------
    text : text of the chunk
    sentences : tokens of each of its units
    known : words that are names in any case

    Returns
    -------
    Shape
        The evidence.
    """
    words = _WORD.findall(text)
    lower = {word for word in set(words) if word.islower()}
    lower.difference_update(name.lower() for name in known)
    capital = {token.word for sentence in sentences for token in sentence if not token.is_first}
    acronyms = frozenset(_BRACKETED.findall(text))
    # In German all nouns have a capital, so a capital alone means little.
    german = sum(map(_GERMAN.__contains__, words))
    is_german = german > 2 + sum(map(_ENGLISH.__contains__, words)) if german > 2 else False
    return Shape(frozenset(lower), frozenset(capital.union(known)), acronyms, is_german)


_DETERMINER = re.compile(r"\b(?:the|a|an|his|her|its|their|our|this|that|each|every|The)\s$")
_INITIAL = re.compile(r"(?<!\w)[A-Z]\. ")
_ROMAN = re.compile(r"[IVXLC]+$")
_GERMAN_PLACE = re.compile(r"\b(?:in|aus|nach|bei|von)\s$")
_IS = re.compile(
    r"(?:['’]s)?\s(?:is|was|has|had|became|won|said|says|announced|wrote|began|died|lives|joined|released)\b"
)
# What follows a subject, as tags: a finite verb, with what tells it from a participle or a plural. A capital is M.
_PART = re.compile(r"\d(?:[\d.,:]*\d)?|[^\W_]+(?:[-'’.][^\W_]+)*|[^\w\s]")
_FINITE = re.compile(r"a*(?:[bxy]|v(?=a*(?:[dkM#ithmo]|n[^bxyvz]*\.$))|z(?=a*(?:[dkM#it]|n[^bxyvz]*\.$)))")
_DEFINED = re.compile(
    r" (?:is|was) (?:born|an? (?:[a-z-]+ ){0,3}?(?P<noun>[a-z]+)(?= (?:in|of|from|on|at|near|who)\b|[.,;]|$))"
)
# What stands between a subject and its verb: "Boeing, a maker of planes, is", "Beijing (the capital) is", "Beijing and Ulm are".
_INSERTION = re.compile(
    r" \([^()]{1,60}\)|, (?:an? |the |[A-Z])[^,.;()]{1,60},|(?P<other> and [A-Z][a-z]+(?: [A-Z][a-z]+)*)(?= [a-z])"
)
_ADVERBIAL = ("ly", "ed")
_COMPLEMENT = re.compile(r"a*b[ax]*[d#]([^.,bxyviotw]*)")
_PASSIVE = re.compile(r"a*(?:b|xa*e)a*v")
# What follows "Will" and "May" as names, but no modal verb.
_AFTER_NAMESAKE = re.compile(r" (?:is|was|has|had|won|wrote|became|said|[a-z]{3,}[^\We]ed)\b(?!.*\?$)")
_PLURAL_VERBS = word_set("are were have do may")
_LONGEST_CLAUSE = 120
_PROPER_KINDS = frozenset(("person", "place", "organization"))
_SOFT_ENDINGS = ("ing", "ed", "ance", "ence")  # those of many names: Beijing, Ted, France, Florence
_WITH_DOT = frozenset(("Jr", "Sr", "Inc", "Ltd", "Co", "Corp"))
_AFTER_COMMA = frozenset(("Jr", "Sr", "Inc", "Ltd", "LLC", "D.C", "D.C."))
_RANK = re.compile(r", \d{1,2}(?:st|nd|rd|th) $")
_OF = (" of ", " of the ")
# "People's Republic", "Women's World Cup"
_OF_A_WHOLE = word_set("King Queen People Women Men Children Master Bachelor World Nation")
_LONGEST_NAME = 8  # longer runs are lines in Title Case, not names
_LONGEST_RUN = 40
_LONGEST_GAP = 9


def names(text: str, words: Sequence[Token], evidence: Shape, *, taken: Sequence[MentionSpan]) -> list[MentionSpan]:
    """The names in a sentence, in order, outside the ``taken`` spans (except years, which may be part of a name).

    Parameters
    ----------
    text : the sentence
    words : its tokens
    evidence : evidence of the chunk about capitals
    taken : mentions found by other rules, sorted, without overlaps

    Returns
    -------
    list
        The names; the name inside a title of office follows it ("Kent" after "Duke of Kent").
    """
    if len(text) > 12 and text.isupper() and " " in text:
        return []  # a line all in capitals
    others = [mention for mention in taken if mention.kind != "date" or mention.end - mention.start != len("1969")]
    free = _free(words, others)
    result: list[MentionSpan] = []
    first = 0
    while first < len(free):
        last = first
        while last + 1 < len(free) and last - first < _LONGEST_RUN and _joins(text, free, first, last):
            last += 1
        is_opener = last == first and free[first].is_first and free[first].word.lower() in lexicon.OPENERS
        if is_opener and _AFTER_NAMESAKE.match(text, free[first].end) and tag_of(free[first].word) == "y":
            result.append(MentionSpan(free[first].start, free[first].end, free[first].word, ""))
        if last - first < _LONGEST_NAME and not (is_opener and free[first].word not in evidence.acronyms):
            result.extend(_name(text, free[first : last + 1], evidence))
        first = last + 1
    return result


def _free(words: Sequence[Token], taken: Sequence[MentionSpan]) -> list[Token]:
    free = []
    position = 0
    for token in words:
        while position < len(taken) and taken[position].end <= token.start:
            position += 1
        if position == len(taken) or taken[position].start >= token.end:
            free.append(token)
    return free


def _joins(text: str, free: Sequence[Token], first: int, last: int) -> bool:
    """Whether the name from token ``first`` to ``last`` continues with the next token."""
    left, right = free[last], free[last + 1]
    gap = text[left.end : right.start]
    if gap == " ":
        return _joins_directly(text, free, first, last)
    if len(gap) > _LONGEST_GAP or right.word[0].isdigit() or left.word[0].isdigit():
        return False
    if gap in (". ", ", ") or _RANK.match(gap):
        return _joins_over_mark(text, left, right, gap)
    if left.is_possessive or right.is_first:
        return False
    if gap in lexicon.PARTICLES:
        return gap != " the " or first == last  # "Ivan the Terrible"
    return gap in lexicon.ORGANIZATION_PARTICLES and _joins_organization(text, free, first, last)


def _joins_directly(text: str, free: Sequence[Token], first: int, last: int) -> bool:
    """Whether a name continues with the next word: "World War 2", "the 1948 Summer Olympics", "St Mary's Cathedral"."""
    left, right = free[last], free[last + 1]
    is_number = right.word[0].isdigit()
    if left.word[0].isdigit():
        return not is_number and (last > first or _opens_name(text, left, right))
    if left.is_possessive:
        return _keeps_possessive(free, first, last)
    if is_number:
        return last > first or len(right.word) < 4
    return not right.is_first


def _joins_over_mark(text: str, left: Token, right: Token, mark: str) -> bool:
    """Whether a name continues after a full stop or comma: "J. K. Rowling", "St. Louis", "Smith, Jr", "Ann, 1st Duchess of"."""
    if mark == ". ":
        return len(left.word) == 1 or "." in left.word or left.word.lower() in lexicon.DOTTED
    is_noble = right.word in lexicon.NOBILITY and (mark != ", " or text.startswith(" of ", right.end))
    return is_noble or (mark == ", " and right.word in _AFTER_COMMA)


def _opens_name(text: str, number: Token, right: Token) -> bool:
    """Whether a number begins a name: "the 1948 Summer Olympics", but not "In 1948 Warner" nor "a 1948 American film"."""
    if number.word.endswith("th"):
        return True  # "20th Century Fox"
    if right.word.lower() in lexicon.DEMONYMS or right.is_first or len(number.word) != 4:
        return False
    return _DETERMINER.search(text, max(0, number.start - 7), number.start) is not None


def _keeps_possessive(free: Sequence[Token], first: int, last: int) -> bool:
    """Whether a name continues after a possessive: "St. Mary's Cathedral", "People's Republic", but not "Disney's Frozen"."""
    word = free[last].word
    if word in _OF_A_WHOLE or free[first].word in ("St", "Saint", "Our"):
        return True
    following = free[last + 1].word.lower()
    is_body = following in lexicon.ORGANIZATIONS or following in lexicon.PLACES
    return first == last and is_body and word.lower() not in lexicon.ORDINARY


def _joins_organization(text: str, free: Sequence[Token], first: int, last: int) -> bool:
    """Whether an organization's name continues after "for", "and" or "at": "Center for Disease Control and Prevention"."""
    left, right = free[last], free[last + 1]
    if text[left.start : right.end] in lexicon.PAIRS_WITH_AND:
        return True
    gap = text[left.end : right.start]
    opened = text[free[first].start : left.start]
    if gap == " at ":
        return any(token.word == "University" for token in free[first : last + 1])
    if "and" not in gap:  # "Society for the Prevention of Cruelty to Animals"
        return left.word.lower() in lexicon.ORGANIZATIONS if " for" in gap else " for " in opened
    if any(token.word.lower() in lexicon.ORGANIZATIONS for token in free[first : last + 1]):
        return " of " in opened or " for " in opened or opened.endswith("of the ")
    if gap != " and " or first != last or last + 2 >= len(free):
        return False
    body = free[last + 2]  # "Food and Drug Administration"
    is_body = text[right.end : body.start] == " " and body.word.lower() in lexicon.ORGANIZATIONS
    return is_body and not right.is_possessive and left.word.lower() not in lexicon.DEMONYMS


def _name(text: str, run: Sequence[Token], evidence: Shape) -> Iterator[MentionSpan]:
    """The mention in a run of tokens, if any, and the name inside it: "Kent" of "Duke of Kent"."""
    run, kind = _without_address(text, run, evidence)
    run = _without_tail(run, evidence)
    if not run or (len(run) == 1 and not kind and not _is_single_name(text, run[0], evidence)):
        return
    lowered = [token.word.lower() for token in run]
    if all(_is_adjective(word) for word in lowered) or " ".join(lowered) in lexicon.GENERIC:
        return
    start, end = run[0].start, run[-1].name_end
    if text[end : end + 1] == "." and ("." in run[-1].word or run[-1].word in _WITH_DOT):
        end += 1
    name = text[start:end]
    yield MentionSpan(start, end, name, kind or _kind(name, lowered))
    is_titled = lowered[0] in lexicon.TITLES_OF and len(run) > 1 and text[run[0].end : run[1].start] in _OF
    if is_titled and len(run[1].word) > 2 and lowered[1] not in lexicon.DEMONYMS:
        yield MentionSpan(run[1].start, end, text[run[1].start : end], "")


def _without_address(text: str, run: Sequence[Token], evidence: Shape) -> tuple[Sequence[Token], str]:
    """The run without openers, forms of address and offices before the name, and its kind: person, or empty if unknown."""
    kind = ""
    while run:
        lower = run[0].word.lower()
        is_joined = len(run) > 1 and text[run[0].end : run[1].start] in (" ", ". ")
        is_opener = (
            lower in lexicon.OPENERS
            or (evidence.is_german and lower in lexicon.GERMAN_OPENERS)
            or (len(run) > 1 and not is_joined and lower in lexicon.ORDINARY)
        )
        is_address = is_joined and lower in lexicon.HONORIFICS
        is_office = is_joined and len(run) > 2 and lower in lexicon.ROLES and not _is_body(text, run)
        if is_address or is_office:
            kind = "person"
        elif not (is_opener and run[0].is_first) or run[0].word in evidence.acronyms:
            break
        run = run[1:]
    return run, kind


def _without_tail(run: Sequence[Token], evidence: Shape) -> Sequence[Token]:
    """The run without function words at its end (but "Constantine I" is kept); a single number becomes empty."""
    while run:
        word = run[-1].word
        is_kept = word in evidence.acronyms or (len(run) > 1 and (word == "I" or (len(word) > 1 and word.isupper())))
        if not (word.lower() in STOP_WORDS and not is_kept) and not (word[0].isdigit() and len(run) == 1):
            break
        run = run[:-1]
    return run


def _is_body(text: str, run: Sequence[Token]) -> bool:
    """Whether a run names an office or an organization, not a person: "Governor of Texas", "General Motors Company"."""
    if any(" of" in text[left.end : right.start] for left, right in pairwise(run)):
        return True
    lowered = [token.word.lower() for token in run[1:]]
    return any(word in lexicon.ORGANIZATIONS or word in lexicon.PLACES for word in lowered)


def _is_adjective(word: str) -> bool:
    """Whether a word states a place or time without naming an entity: "american", "anglo-irish", "north", "june", "1969"."""
    if "-" in word or "–" in word:
        return all(_is_adjective(part) for part in word.replace("–", "-").split("-"))
    return word in lexicon.ADJECTIVES or word.isdigit()


def _is_single_name(text: str, token: Token, evidence: Shape) -> bool:
    """Whether one capitalised word is a name."""
    word, lower = token.word, token.word.lower()
    is_qualified = "-" in word and word[word.rindex("-") + 1 :].islower()  # "Oscar-worthy"
    if len(word) == 1 or lower in lexicon.GENERIC or _is_adjective(lower) or _ROMAN.match(word) or is_qualified:
        return False
    if token.is_first:
        return _is_name_at_head(text, token, evidence)
    if word in evidence.acronyms or word[1:] != lower[1:]:
        return True  # "WHO", "McDonald"
    if evidence.is_german and not _GERMAN_PLACE.search(text, max(0, token.start - 5), token.start):
        return False
    return lower not in lexicon.ORDINARY and lower not in evidence.lower


def _is_name_at_head(text: str, token: Token, evidence: Shape) -> bool:
    """Whether the capitalised first word of a sentence is a name: seen elsewhere, an acronym, or a likely subject."""
    word, lower = token.word, token.word.lower()
    if word not in evidence.acronyms and (lower in lexicon.ORDINARY or lower in evidence.lower):
        return _is_defined(text, token)
    if word in evidence.capital or word[1:] != lower[1:]:
        return True
    if evidence.is_german:
        return False
    if _IS.match(text, token.name_end) and not lower.endswith(lexicon.COMMON_ENDINGS):
        return True
    return _is_defined(text, token) if lower in lexicon.WORD_TAGS else _begins_clause(text, token)


def _is_defined(text: str, token: Token) -> bool:
    """Whether an everyday word is called a person, a place or a body, or born: "Reading is a town"."""
    match, lower = _DEFINED.match(text, token.end), token.word.lower()
    if match is None or lower in lexicon.OPENERS or lower in lexicon.BARE_NAMES or lower in lexicon.KIND_OF_NOUN:
        return False
    return match["noun"] is None or lexicon.KIND_OF_NOUN.get(match["noun"]) in _PROPER_KINDS


def _begins_clause(text: str, token: Token) -> bool:
    """Whether a first word is the subject of the verb after it, and more likely a name than a common noun."""
    lower = token.word.lower()
    insertion = _INSERTION.match(text, token.end)
    start = insertion.end() if insertion else token.end
    if token.is_possessive or text[start : start + 1] != " ":
        return False
    parts = _PART.findall(text, start, start + _LONGEST_CLAUSE)
    tags = "".join(map(_tag_after, parts))
    match = _FINITE.match(tags)
    if match is None:
        return False
    end, last = match.end(), tags[match.end() - 1]
    verb = parts[end - 1]
    if insertion:
        is_several = insertion["other"] is not None and not lower.endswith("s")
        return (last in "bxy" and verb not in _PLURAL_VERBS and not lower.endswith(_ADVERBIAL)) or is_several
    is_finite = last != "z" or verb in lexicon.SINGULAR_VERBS or (tags[end] in "dk" and verb not in lexicon.PLAIN)
    if not is_finite or verb in _PLURAL_VERBS or parts[end : end + 1] == ["by"]:
        return False
    if lower.endswith(lexicon.COMMON_ENDINGS):
        return _is_proper_verb(lower, tags, parts, end)
    is_plural = lower.endswith("s") and not lower.endswith(("ss", "us", "is"))
    return not is_plural or last not in "vy" or verb in lexicon.PROPER_VERBS


def _tag_after(part: str) -> str:
    """The tag of a word behind a subject; a mark is a full stop or a comma."""
    if not part[0].isalnum():
        return "," if part == "," else "."
    tag = tag_of(part)
    return "M" if part[0].isupper() and (tag == "n" or part == "May") else tag


def _is_proper_verb(lower: str, tags: str, parts: Sequence[str], end: int) -> bool:
    """Whether a name, not a common noun or a participle with the same ending, precedes the verb: "Beijing is the capital"."""
    complement, passive = _COMPLEMENT.match(tags), _PASSIVE.match(tags)
    nouns = parts[complement.start(1) : complement.end(1)] if complement else []
    if any(lexicon.KIND_OF_NOUN.get(noun) in _PROPER_KINDS for noun in nouns[-1:]):
        return not lower.endswith("ed") or lower not in lexicon.INVERTED
    if passive:
        return parts[passive.end() - 1] in lexicon.PROPER_PASSIVES
    verb, tag = parts[end - 1], tags[end - 1]
    if not lower.endswith(_SOFT_ENDINGS):
        return verb in lexicon.PROPER_VERBS
    if tag in "vzy":
        return lexicon.HAPPENING.isdisjoint(parts[: end + 2])
    if lower.endswith("ed"):
        return tag == "x"
    return complement is not None or tag == "x" or tags[end : end + 1] in ("i", "M", "#")


def _kind(name: str, lowered: Sequence[str]) -> str:
    """A guess of the kind from simple cues; mostly empty."""
    head, last = lowered[0], lowered[-1]
    if last in lexicon.ORGANIZATIONS or (head in lexicon.ORGANIZATIONS and name.split()[1:2] in (["of"], ["for"])):
        return "organization"
    if len(lowered) > 1 and (last in lexicon.PLACES or head in ("lake", "mount", "river", "cape", "fort")):
        return "place"
    if len(lowered) > 1 and (last in ("jr", "sr") or _INITIAL.search(name)):
        return "person"
    return ""

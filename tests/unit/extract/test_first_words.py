"""Whether the capitalised first word of a sentence is a name: first in a source, inside it and after a heading."""

from __future__ import annotations

import pytest

from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.records import Proposition

TITLE = "Orion Report"


def found(sentence: str, *, title: str = TITLE, text: str = "{}", headings: tuple[str, ...] = ()) -> Proposition:
    chunk = ChunkInput(text=text.format(sentence), title=title, headings=headings)
    (proposition,) = [
        each for each in LocalExtractor().extract([chunk])[0].propositions if each.text.endswith(sentence)
    ]
    return proposition


def facts(proposition: Proposition) -> list[tuple[str, str, str]]:
    return [(fact.subject, fact.predicate, fact.object) for fact in proposition.triples]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("{}", ()),
        ("The lamp was lit by Ann Hill. {} The door was shut by Carl Berg.", ()),
        ("# Places\n\n{}", ()),
        ("{}", ("History",)),
    ],
    ids=["first of a source", "inside", "after a heading", "under a heading"],
)
@pytest.mark.parametrize(
    ("sentence", "fact"),
    [
        # -ing
        ("Beijing is the capital of China.", ("Beijing", "is the capital of", "China")),
        ("Nanjing was the capital of the Ming dynasty.", ("Nanjing", "was", "the capital of the Ming")),
        ("Chongqing has 32 million people.", ("Chongqing", "has", "32 million people")),
        ("Reading is a town in Berkshire.", ("Reading", "is a town in", "Berkshire")),
        ("Boeing built the plane in 1969.", ("Boeing", "built", "the plane")),
        ("Boeing, a maker of planes, is based in Chicago.", ("Boeing", "is based in", "Chicago")),
        ("Beijing (the capital of China) is in Asia.", ("Beijing", "is in", "Asia")),
        ("Beijing and Nanjing are cities in China.", ("Beijing", "are cities in", "China")),
        ("Ealing is a district of London.", ("Ealing", "is a district of", "London")),
        ("Wyoming borders Montana.", ("Wyoming", "borders", "Montana")),
        ("Darjeeling lies in India.", ("Darjeeling", "lies in", "India")),
        ("Stirling Castle is in Scotland.", ("Stirling Castle", "is in", "Scotland")),
        ("Kipling wrote Kim in 1901.", ("Kipling", "wrote", "Kim")),
        ("Fleming discovered penicillin in 1928.", ("Fleming", "discovered", "penicillin")),
        ("Sterling fell against the dollar.", ("Sterling", "fell against", "the dollar")),
        ("Pickering was an astronomer from Boston.", ("Pickering", "was an astronomer from", "Boston")),
        ("Corning makes glass.", ("Corning", "makes", "glass")),
        ("Turing was born in London in 1912.", ("Turing", "was born in", "London")),
        ("Browning married Ada Roe in 1846.", ("Browning", "married", "Ada Roe")),
        ("Building Seven was sold in 1999.", ("Building Seven", "was sold in", "1999")),
        # -ed, -s, -ly and the endings of abstract nouns
        ("Mohammed was born in Mecca.", ("Mohammed", "was born in", "Mecca")),
        ("Ted founded Acme in 1990.", ("Ted", "founded", "Acme")),
        ("United Airlines has its seat in Chicago.", ("United Airlines", "has its seat in", "Chicago")),
        ("Paris is the capital of France.", ("Paris", "is the capital of", "France")),
        ("Venus is a planet.", ("Venus", "is", "a planet")),
        ("James founded Acme in 1990.", ("James", "founded", "Acme")),
        ("Texas is a state.", ("Texas", "is", "a state")),
        ("Italy is a country in Europe.", ("Italy", "is a country in", "Europe")),
        ("Emily wrote the book in 1999.", ("Emily", "wrote the book in", "1999")),
        ("Florence is the capital of Tuscany.", ("Florence", "is the capital of", "Tuscany")),
        ("Inverness is a city in Scotland.", ("Inverness", "is a city in", "Scotland")),
        # words that are also verbs, months or everyday nouns
        ("Mark founded Acme in 1990.", ("Mark", "founded", "Acme")),
        ("Will married Ann Hill in 1999.", ("Will", "married", "Ann Hill")),
        ("May was the prime minister of Britain.", ("May", "was the prime minister of", "Britain")),
        ("Rob works for Acme.", ("Rob", "works for", "Acme")),
        ("Grant won the election of 1868.", ("Grant", "won", "the election")),
        ("Bill was born in London.", ("Bill", "was born in", "London")),
        ("Turkey borders Greece.", ("Turkey", "borders", "Greece")),
        ("China is a country in Asia.", ("China", "is a country in", "Asia")),
        ("Rice University is in Houston.", ("Rice University", "is in", "Houston")),
        ("Rice was born in Houston.", ("Rice", "was born in", "Houston")),
        ("Washington crossed the Delaware River.", ("Washington", "crossed", "Delaware River")),
        ("Schwarzenegger also served in the Austrian Army.", ("Schwarzenegger", "served in", "Austrian Army")),
    ],
)
def test_a_first_word_before_its_finite_verb_is_a_name(
    sentence: str, fact: tuple[str, str, str], text: str, headings: tuple[str, ...]
) -> None:
    proposition = found(sentence, text=text, headings=headings)
    assert fact in facts(proposition)
    assert fact[0] in [mention.name for mention in proposition.mentions]
    assert not [each for each in facts(proposition) if each[0] == TITLE]


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        *(("Spelling is hard.", "Spelling"), ("Reading books is fun.", "Reading"), ("Filming began in Kochi.", "Filming")),
        *(("Working at Acme, she founded Orion Books in 1999.", "Working"), ("Will increased funding help?", "Will")),
        *(("May need help.", "May"), ("Parking is available at Acme House.", "Parking")),
        *(("Funding was provided by Orion Books.", "Funding"), ("Included is a map of London.", "Included")),
        *(("Players can buy Orion Books.", "Players"), ("Critics praised London in 1999.", "Critics")),
        *(("Defending champions John Roe and Ann Hill won.", "Defending"), ("Notable variants include Zajac.", "Notable")),
        *(("Newly built in 1999, it has a roof.", "Newly"), ("Construction began in 1990.", "Construction")),
        *(("Training programs offer jobs in London.", "Training"), ("Accessed May 2007.", "Accessed")),
        *(("King was born in Portland.", "King"), ("March is the third month.", "March")),
    ],
)  # fmt: skip
def test_participles_gerunds_plurals_and_offices_are_no_names(sentence: str, word: str) -> None:
    proposition = found(sentence)
    assert word not in [mention.name for mention in proposition.mentions]
    assert word not in [fact[0] for fact in facts(proposition)]


@pytest.mark.parametrize(
    ("sentence", "title", "expected"),
    [
        # A part of the title stays one; a participle, an office or a month without an article is none.
        ("Filming began in Kochi.", "Blue Lamp", [("Blue Lamp", "Filming began in", "Kochi")]),
        ("Funding was provided by Orion Books.", "Acme", [("Acme", "Funding was provided by", "Orion Books")]),
        ("Included is a map of London.", "Acme", []),
        ("King was born in Portland.", "Acme", []),
        ("March is the third month.", "Acme", []),
        # The last word of a name is the title itself.
        ("King has published 54 novels.", "Stephen King", [("Stephen King", "has published", "54 novels")]),
        ("Spring attended Orion College.", "Jack Spring", [("Jack Spring", "attended", "Orion College")]),
        ("Tourism was banned in 1990.", "Tourism in Nepal", [("Tourism in Nepal", "was banned in", "1990")]),
        ("Kolkata grew in 1990.", "History of Kolkata", [("Kolkata", "grew in", "1990")]),
    ],
)
def test_what_a_word_without_an_article_says_of_the_title(
    sentence: str, title: str, expected: list[tuple[str, str, str]]
) -> None:
    assert facts(found(sentence, title=title)) == expected

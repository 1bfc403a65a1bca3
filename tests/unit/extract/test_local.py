"""What the extractor by rules finds: the text of propositions, mentions, facts, topics, and what it leaves alone."""

from __future__ import annotations

import re
import time
from importlib import resources

import pytest

from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.extract.wording import word_lists
from hlgraph.ids import normalise_name
from hlgraph.records import Extraction, Proposition


def extract(text: str, title: str = "", *headings: str) -> Extraction:
    return LocalExtractor().extract([ChunkInput(text=text, title=title, headings=headings)])[0]


def only(text: str, title: str = "", *headings: str) -> Proposition:
    (proposition,) = extract(text, title, *headings).propositions
    return proposition


def names(text: str, title: str = "") -> list[str]:
    return [
        mention.name
        for proposition in extract(text, title).propositions
        for mention in proposition.mentions
        if not title or normalise_name(mention.name) != normalise_name(title)
    ]


def facts(text: str, title: str = "") -> list[tuple[str, str, str]]:
    found = extract(text, title)
    return [(t.subject, t.predicate, t.object) for p in found.propositions for t in p.triples]


class TestPropositionText:
    def test_title_and_heading_stand_in_front_of_a_sentence_that_does_not_name_them(self) -> None:
        text = "# Acme\n\n## Pricing\n\nIt costs five dollars.\nAcme has no free pricing plan.\n"
        found = [proposition.text for proposition in extract(text, "Acme").propositions]
        assert found == ["Acme, Pricing: It costs five dollars.", "Acme has no free pricing plan."]

    def test_the_headings_of_the_chunk_hold_until_it_has_its_own(self) -> None:
        text = "Blue is best.\n\n## Size\n\nLarge is best."
        found = [proposition.text for proposition in extract(text, "Shirts", "Shop", "Colour").propositions]
        assert found == ["Shirts, Colour: Blue is best.", "Shirts, Size: Large is best."]

    @pytest.mark.parametrize(
        "edition",
        [
            *("1.4.0", "[1.4.0] - 2024-05-02", "v2.0.0rc1", "Flask 2.3.1 (3 May 2024)", "Version 3.11, Released May 2, 2024"),
            *("2024-05-02", "2024", "Q3 2024", "May 2024", "3 May 2024", "May 3, 2024", "Unreleased", "[Unreleased]"),
        ],
    )  # fmt: skip
    def test_a_version_or_a_date_above_the_heading_stands_before_it(self, edition: str) -> None:
        assert (
            only("The lock is freed.", "Changes", edition, "Fixed").text
            == f"Changes, {edition}, Fixed: The lock is freed."
        )
        assert only("The lock is freed.", "Changes", edition).text == f"Changes, {edition}: The lock is freed."
        assert only("It came with 9.9.", "Changes", "Fixed", "Locks").text == "Changes, Locks: It came with 9.9."

    def test_the_versions_in_a_chunk_head_their_own_parts(self) -> None:
        text = (
            "# C\n\n## [2.0]\n\n### Removed\n\n- Ares.\n\n## [1.9]\n\n### Removed\n\n- Boreas.\n\n## Thanks\n\nTo all."
        )
        expected = ["C, [2.0], Removed: Ares.", "C, [1.9], Removed: Boreas.", "C, Thanks: To all."]
        assert [each.text for each in extract(text, "C").propositions] == expected
        later = text.partition("\n\n## [2.0]\n\n### Removed\n\n")[2]
        assert [each.text for each in extract(later, "C", "C", "[2.0]", "Removed").propositions] == expected

    @pytest.mark.parametrize(
        "heading", ["3", "1. Safety", "2.4 Safety of pumps", "12 May", "Part 2", "Year 3000", "e.g. this"]
    )
    def test_a_number_of_a_section_is_no_version(self, heading: str) -> None:
        assert only("The pump stops.", "Manual", heading, "Doors").text == "Manual, Doors: The pump stops."

    def test_a_place_named_without_its_state_still_gets_the_full_title(self) -> None:
        assert only("Helena is a suburb.", "Helena, Alabama").text == "Helena, Alabama: Helena is a suburb."
        assert only("The Beatles split in 1970.", "The Beatles (band)").text == "The Beatles split in 1970."

    def test_spans_are_exact_and_the_text_is_without_line_breaks_and_layout(self) -> None:
        text = "Intro  spans\ntwo lines here and more words. See **the [manual](http://a.org/(b))** now.\n\n- first\n- [x] second\n"
        found = extract(text).propositions
        assert [text[p.start : p.end] for p in found] == [
            "Intro  spans\ntwo lines here and more words.",
            "See **the [manual](http://a.org/(b))** now.",
            "first",
            "[x] second",
        ]
        assert [p.text for p in found] == [
            "Intro spans two lines here and more words.",
            "See the manual now.",
            "first",
            "[x] second",
        ]

    def test_rows_carry_the_labels_of_their_columns(self) -> None:
        text = "| City | Country |\n|---|---|\n| Paris | France |\n| Rome | |\n"
        found = extract(text, "Capitals").propositions
        assert [p.text for p in found] == ["Capitals: City: Paris; Country: France", "Capitals: City: Rome"]
        assert text[found[1].start : found[1].end] == "| Rome | |"
        assert [mention.name for mention in found[0].mentions] == ["Capitals", "Paris", "France"]

    def test_two_tables_keep_their_own_labels(self) -> None:
        text = "| A | B |\n|---|---|\n| 1 | 2 |\n\n| C | D |\n|---|---|\n| 3 | 4 |\n"
        assert [p.text for p in extract(text).propositions] == ["A: 1; B: 2", "C: 3; D: 4"]

    def test_rows_without_a_header_are_their_cells(self) -> None:
        assert [p.text for p in extract("| Paris | France |\n| Rome | Italy |\n").propositions] == [
            "Paris; France",
            "Rome; Italy",
        ]

    def test_code_is_one_proposition_with_the_sentence_that_introduces_it(self) -> None:
        text = "Install it:\n\n```bash\npip install Thing\nthing --Serve\n```\nDone with it.\n"
        found = extract(text, "Thing").propositions
        assert [p.text for p in found] == [
            "Install it: pip install Thing thing --Serve",
            "Thing: Done with it.",
        ]
        assert [mention.name for mention in found[0].mentions] == ["Thing"]

    @pytest.mark.parametrize(
        "text", ["", " \n", "# Only a heading\n", "***\n\n---", "- \n* \n", "```\n```", "😀 🎉 !!!", "|---|---|"]
    )
    def test_text_without_assertions_gives_no_proposition(self, text: str) -> None:
        assert extract(text, "Title").propositions == ()

    def test_a_repeated_sentence_is_one_proposition_at_its_first_place(self) -> None:
        assert [(p.text, p.start) for p in extract("Yes we can. No. Yes we can.").propositions] == [
            ("Yes we can.", 0),
            ("No.", 12),
        ]

    def test_long_titles_are_cut_and_html_entities_are_read(self) -> None:
        assert only("It rains.", "word " * 60).text.startswith("word word")
        assert len(only("It rains.", "word " * 60).text) < 150
        assert only("It rains.", "Black &amp; White").text == "Black & White: It rains."


class TestMentions:
    def test_every_proposition_mentions_the_title_and_the_first_one_its_other_names(self) -> None:
        first, second = extract("It opened in May. It closed.", "The Beach (film)").propositions
        assert [m.name for m in first.mentions] == ["The Beach", "The Beach (film)", "Beach"]
        assert [m.name for m in second.mentions] == ["The Beach"]

    @pytest.mark.parametrize(
        "title",
        [
            "How to install a printer",
            "report_final.pdf",
            "Introduction",
            "Is it true?",
            "12 things to do",
            "Ada is the Person of the Year",
        ],
    )
    def test_a_title_that_is_no_name_is_no_mention(self, title: str) -> None:
        assert only("all is well here.", title).mentions == ()

    @pytest.mark.parametrize("title", ["Who Framed Roger Rabbit", "When Harry Met Sally", "Zhōngguó", "東京都", "iPod"])
    def test_a_title_that_is_a_name_is_a_mention(self, title: str) -> None:
        assert [m.name for m in only("all is well here.", title).mentions][:1] == [title]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("He met Vasco da Gama and Ludwig van Beethoven there.", ["Vasco da Gama", "Ludwig van Beethoven"]),
            ("She left the University of California for J. K. Rowling.", ["University of California", "J. K. Rowling"]),
            ("It was in St. Louis, Missouri.", ["St. Louis", "Missouri"]),
            ("They follow Simon & Garfunkel at AT&T.", ["Simon & Garfunkel", "AT&T"]),
            ("He worked at the Food and Drug Administration.", ["Food and Drug Administration"]),
            ("France and Germany met Spain.", ["France", "Germany", "Spain"]),
            ("It is Meg Cabot's novel at King's College.", ["Meg Cabot", "King's College"]),
            ("Planet 24, a firm, made Toy Story 3.", ["Planet 24", "Toy Story 3"]),
            ("We read Disney's Frozen.", ["Disney", "Frozen"]),
            ("He saw Edward Stafford, 3rd Baron Stafford there.", ["Edward Stafford, 3rd Baron Stafford"]),
            ("By then the Duke of Kent had left.", ["Duke of Kent", "Kent"]),
            ("He admired Mr. Alan Turing and Dr Grace Hopper.", ["Alan Turing", "Grace Hopper"]),
            ("They watched President Barack Obama speak.", ["Barack Obama"]),
            ("It ran at the 1948 Summer Olympics.", ["1948 Summer Olympics"]),
            ("The 20th Century Fox film ended.", ["20th Century Fox"]),
            ("It is a London-based, non-English firm with an iPhone.", ["London", "iPhone"]),
            ("Il a vu l'Assemblée nationale à Paris.", ["Assemblée", "Paris"]),
            ("Он видел Эрмитаж в Москве.", ["Эрмитаж", "Москве"]),
        ],
    )
    def test_names_are_runs_of_capitals_joined_by_small_words(self, text: str, expected: list[str]) -> None:
        assert names(text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "However, this is common. Specimens were collected. Music is loud.",
            "The American and the British were there on Monday in June.",
            "I think He said No. The Company grew; the company paid.",
            "The President met the Company in the House.",
            "“I’m fine,” We'll say; they said He'd go and I've gone.",
            "What To Know About The New Tax Law Before Election Day",
            "THIS IS ALL IN CAPITALS AND SAYS NOTHING ABOUT NAMES",
        ],
    )
    def test_capitals_of_sentences_demonyms_calendar_and_offices_are_no_names(self, text: str) -> None:
        assert names(text) == []

    def test_the_first_word_is_a_name_where_the_chunk_knows_it(self) -> None:
        assert names("Zorblatt grows. We like Zorblatt.") == ["Zorblatt", "Zorblatt"]
        assert names("Zorblatt grows. We like it.") == []
        assert names("NASA grows fast.") == ["NASA"]

    def test_a_headline_names_what_the_chunk_knows(self) -> None:
        text = "# T\n\nWhy Zorblatt Will Never Again Sell Robots\n\nWe like Zorblatt a lot."
        assert names(text) == ["Zorblatt", "Zorblatt"]

    def test_surnames_and_acronyms_take_the_full_name_where_there_is_one(self) -> None:
        assert names("He knew Potter Stewart. We saw Stewart again.") == ["Potter Stewart", "Potter Stewart"]
        assert names("He knew Ann Stewart and Potter Stewart. We saw Stewart.")[-1] == "Stewart"
        text = "The World Health Organization (WHO) met. Later the WHO left."
        assert names(text) == ["World Health Organization", "WHO", "World Health Organization"]

    def test_the_person_of_the_article_is_known_by_longer_and_shorter_names(self) -> None:
        text = "Rita Louise Tower (born 1971) plays. Tower scored."
        found = extract(text, "Rita Tower").propositions
        assert [[m.name for m in p.mentions] for p in found] == [["Rita Tower", "1971"], ["Rita Tower"]]

    def test_kinds(self) -> None:
        text = 'On 4 July 1776 we saw Mr. Bean, Acme University, the River Cam and "The Great Escape" for $5 million.'
        kinds = {m.name: m.kind for m in only(text).mentions}
        assert kinds == {
            "4 July 1776": "date",
            "Bean": "person",
            "Acme University": "organization",
            "River Cam": "place",
            "The Great Escape": "work",
            "$5 million": "number",
        }

    @pytest.mark.parametrize(
        ("written", "name"),
        [
            ("June 20, 2010", "20 June 2010"),
            ("20th of June, 2010", "20 June 2010"),
            ("Jun. 2010", "June 2010"),
            ("2010-06-20", "2010-06-20"),
            ("20 juin 2010", "20 juin 2010"),
            ("the 1990s", "1990s"),
            ("the 19th century", "19th century"),
            ("44 BC", "44 BC"),
            ("2010年6月20日", "2010年6月20日"),
            ("the year 1999", "1999"),
        ],
    )
    def test_dates(self, written: str, name: str) -> None:
        (mention,) = only(f"it was on {written}.").mentions
        assert (mention.name, mention.kind) == (name, "date")

    def test_counts_and_months_alone_are_no_dates(self) -> None:
        assert names("about 1500 people came in May with 3 of 1,999 others.") == []

    def test_scripts_without_capitals(self) -> None:
        chinese = extract("《红楼梦》是曹雪芹的小说。红楼梦很长。", "红楼梦").propositions
        assert [[m.name for m in p.mentions] for p in chinese] == [["红楼梦"], ["红楼梦"]]
        japanese = only("Pythonは1991年にグイド・ヴァンロッサムによって公開された。")
        assert [m.name for m in japanese.mentions] == ["Python", "1991年", "グイド・ヴァンロッサム"]

    def test_german_nouns_are_no_names(self) -> None:
        text = "Der Hund ist in Berlin und die Katze ist auf dem Tisch. Das Haus wurde von Johann Wolfgang von Goethe gekauft."
        assert names(text) == ["Berlin", "Johann Wolfgang von Goethe"]

    def test_a_heading_is_a_mention_where_the_text_uses_it_as_a_name(self) -> None:
        text = "## Neo Graph\n\nWe run Neo Graph daily. It is fast.\n"
        assert [m.name for m in extract(text).propositions[1].mentions] == ["Neo Graph"]
        assert extract("## Early Days\n\nit was fast.\n").propositions[0].mentions == ()


class TestFacts:
    @pytest.mark.parametrize(
        ("text", "title", "expected"),
        [
            (
                "Joyce Brabner (born March 1, 1952) is a writer of political comics.",
                "Joyce Brabner",
                [("Joyce Brabner", "born", "1 March 1952"), ("Joyce Brabner", "is", "a writer of political comics")],
            ),
            (
                "Ada Roe (1 May 1769 – 14 June 1852) was a poet from Cork.",
                "Ada Roe",
                [
                    ("Ada Roe", "born", "1 May 1769"),
                    ("Ada Roe", "died", "14 June 1852"),
                    ("Ada Roe", "was", "a poet"),
                    ("Ada Roe", "was a poet from", "Cork"),
                ],
            ),
            (
                "She was born in Paris on 3 May 1950.",
                "Ada Roe",
                [("Ada Roe", "was born in", "Paris"), ("Ada Roe", "was born on", "3 May 1950")],
            ),
            (
                "Big Fish is a 2003 film directed by Tim Burton and written by John August, starring Ewan McGregor.",
                "Big Fish",
                [
                    ("Big Fish", "is", "a 2003 film"),
                    ("Big Fish", "directed by", "Tim Burton"),
                    ("Big Fish", "written by", "John August"),
                    ("Big Fish", "starring", "Ewan McGregor"),
                ],
            ),
            (
                "The film stars Gene Autry, Lynne Roberts and John Kellogg.",
                "Robin Hood",
                [("Robin Hood", "stars", name) for name in ("Gene Autry", "Lynne Roberts", "John Kellogg")],
            ),
        ],
    )
    def test_patterns(self, text: str, title: str, expected: list[tuple[str, str, str]]) -> None:
        assert facts(text, title) == expected

    @pytest.mark.parametrize(
        ("construction", "text", "title", "expected"),
        [
            (
                "a passive with two prepositions",
                "Acme Corp was founded by Ada Roe in 1950.",
                "",
                [("Acme Corp", "was founded by", "Ada Roe"), ("Acme Corp", "was founded in", "1950")],
            ),
            (
                "a second verb, and places that contain one another",
                "It was built by Ada Roe and moved to Paris, France.",
                "Big Fish",
                [
                    ("Big Fish", "was built by", "Ada Roe"),
                    ("Big Fish", "moved to", "Paris"),
                    ("Big Fish", "moved to", "France"),
                    ("Paris", "in", "France"),
                ],
            ),
            (
                "an apposition, and the verb after it",
                "Big Fish, a novel by Daniel Wallace, was published in 1998.",
                "Big Fish",
                [
                    ("Big Fish", "was published in", "1998"),
                    ("Big Fish", "is a novel by", "Daniel Wallace"),
                    ("Big Fish", "is", "a novel"),
                ],
            ),
            (
                "a relative clause, and a list",
                "Ada Roe, who was born in Cork, married Tim Burton and Ann Lee.",
                "",
                [
                    ("Ada Roe", "was born in", "Cork"),
                    ("Ada Roe", "married", "Tim Burton"),
                    ("Ada Roe", "married", "Ann Lee"),
                ],
            ),
            (
                "a date at the beginning",
                "In 1955, the band released Blue Sky.",
                "Big Fish",
                [("Big Fish", "released", "Blue Sky"), ("Big Fish", "released in", "1955")],
            ),
            (
                "two subjects",
                "Tim Burton and Ada Roe married in 1960.",
                "",
                [("Tim Burton", "married in", "1960"), ("Ada Roe", "married in", "1960")],
            ),
            (
                "a part of a name as the subject",
                "The wife of Tim Burton met John August.",
                "Big Fish",
                [("Tim Burton", "wife met", "John August")],
            ),
            (
                "a possessive subject",
                "Acme Corp's main office is Old Hall.",
                "",
                [("Acme Corp", "main office is", "Old Hall")],
            ),
            (
                "a possessive beside a name",
                "We met Tim Burton's wife Helena Carter.",
                "",
                [("Tim Burton", "wife", "Helena Carter"), ("Helena Carter", "is", "wife")],
            ),
            (
                "what belongs to the title",
                "His father was a baker.",
                "Ada Roe",
                [("Ada Roe", "father was", "a baker")],
            ),
            (
                "a noun phrase of the document",
                "The arches were built of slate in 1863.",
                "Halfmoon Bridge",
                [("Halfmoon Bridge", "arches were built of slate in", "1863")],
            ),
            (
                "a number",
                "It has a population of 5,300.",
                "Kempele",
                [("Kempele", "has", "a population of 5,300")],
            ),
            (
                "a verb in the present with its noun phrase",
                "Acme Corp owns three mills.",
                "",
                [("Acme Corp", "owns", "three mills")],
            ),
            (
                "a row about its first cell",
                "| City | Mayor | Gates |\n|---|---|---|\n| Paris | Ada Roe | 4 |\n",
                "Towns",
                [("Paris", "Mayor", "Ada Roe"), ("Paris", "Gates", "4")],
            ),
            (
                "a row about the title",
                "| Field | Value |\n|---|---|\n| Length | 31 km |\n",
                "Pellam Canal",
                [("Pellam Canal", "Length", "31 km")],
            ),
        ],
    )
    def test_constructions(
        self, construction: str, text: str, title: str, expected: list[tuple[str, str, str]]
    ) -> None:
        assert facts(text, title) == expected

    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("Ada Roe was not born in Paris.", "Ada Roe"),
            ("Ada Roe hasn't met Tim Burton.", "Ada Roe"),
            ("They said that it was late.", "Ada Roe"),
            ("He told them that Paris had fallen.", "the history of bread"),
            ("He was born in Paris.", "the history of bread"),
            ("Ada Roe married Tim Burton's sister.", "Ada Roe"),
            ("It was born in Paris.", ""),
            ("When Ada Roe left, Tim Burton came.", "Ada Roe"),
        ],
    )
    def test_nothing_is_guessed(self, text: str, title: str) -> None:
        assert facts(text, title) == []

    def test_values_and_complements_are_literals_and_names_are_mentioned(self) -> None:
        proposition = only("Acme Corp is a firm in Ohio. ", "Acme Corp")
        assert [(t.object, t.is_literal) for t in proposition.triples] == [("a firm", True), ("Ohio", False)]
        mentioned = {normalise_name(m.name) for m in proposition.mentions}
        assert {normalise_name(t.object) for t in proposition.triples if not t.is_literal} <= mentioned

    def test_a_long_line_is_a_list_and_states_nothing(self) -> None:
        assert facts("Ada Roe met Tim Burton " + "and then slept " * 120 + ".", "") == []

    def test_facts_set_the_kinds_of_their_names(self) -> None:
        text = "Big Fish is a film directed by Tim Burton. Tim Burton was born in Burbank, California. Acme Co is a company."
        kinds = {m.name: m.kind for p in extract(text, "Big Fish (film)").propositions for m in p.mentions}
        assert kinds["Big Fish"] == "work"
        assert kinds["Tim Burton"] == "person"
        assert kinds["Burbank"] == kinds["California"] == "place"
        assert kinds["Acme Co"] == "organization"


class TestTopics:
    def test_title_headings_and_phrases(self) -> None:
        text = "# Guide\n\nA red apple pie is good. The red apple pie is sold.\n\n## Oven\n\nIt is hot.\n"
        found = extract(text, "Baking")
        assert found.topics == ("Baking", "Guide", "Oven", "red apple pie")
        assert [p.topics for p in found.propositions] == [
            ("Guide", "red apple pie"),
            ("Guide", "red apple pie"),
            ("Oven",),
        ]

    def test_what_two_sentences_share_is_a_topic_and_what_one_has_is_none(self) -> None:
        first = "Ada Roe left the old town. She was ill. Ben Moro stayed in a big house. The old town was sold."
        second = "The mill was closed. It was old. Ada Roe saw it, and Ada Roe wept. In 1950, Ada Roe sold it."
        assert extract(first, "Baking").topics == ("Baking", "Ada Roe", "old town")
        assert [p.topics for p in extract(first, "Baking").propositions] == [
            ("Baking", "Ada Roe", "old town"),
            ("Baking", "Ada Roe"),
            ("Baking",),
            ("Baking", "old town"),
        ]
        assert extract(second, "Baking").topics == ("Baking", "Ada Roe")

    def test_topics_number_from_one_to_five(self) -> None:
        text = " ".join(f"The rare stones of Ada Roe lay near a big heap{'y' * i} place." for i in range(30))
        found = extract(text, "T", "a", "b", "c", "d", "e")
        assert found.topics == ("T", "c", "d", "e", "Ada Roe")
        assert all(p.topics for p in found.propositions)
        assert only("yes it does").topics == ("yes it does",)
        assert only("we met Ada Lovelace").topics == ("Ada Lovelace",)


class TestFingerprints:
    def test_input_fingerprint_covers_everything_that_the_rules_read(self) -> None:
        local = LocalExtractor()
        chunk = ChunkInput(text="a", title="t", headings=("h",), uri="u", key="k", position=1, chunk_count=2)
        same = ChunkInput(text="a", title="t", headings=("h",), uri="other")
        assert local.input_fingerprint(chunk) == local.input_fingerprint(same)
        others = [ChunkInput("b", "t", ("h",)), ChunkInput("a", "s", ("h",)), ChunkInput("a", "t", ("h", "i"))]
        assert len({local.input_fingerprint(other) for other in [chunk, *others]}) == 4
        assert local.fingerprint == "local/20"


@pytest.mark.parametrize(
    "unit",
    [
        '"',
        "A ",
        "(",
        "1,",
        "[a](",
        "**a ",
        "Bank and ",
        "a-",
        "Aa.",
        "1 May 1999, ",
        "Foo Bar ",
        "``a ",
        "J. ",
        "A'",
        "X (AB) ",
        "| a | b |\n",
        "```\nA\n",
    ],
)
def test_time_is_linear_whatever_the_text(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    started = time.process_time()
    extract(text, "Foo Bar", "Heading")
    assert time.process_time() - started < 5  # a quadratic step takes minutes


@pytest.mark.parametrize(
    "title", ["Minutes of the allotment committee", "Letter to a school", "Report on the new bank"]
)
def test_a_noun_inside_a_title_is_not_the_title(title: str) -> None:
    noun = title.rsplit(" ", 1)[-1]
    found = [each.text for each in extract(f"Bo Falk came. The {noun} did not agree.", title).propositions]
    assert not any(f"[{title}]" in each for each in found)


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("The dashed line shows it.", ()),
        ("Try a failed job.", ()),
        ("The company sold a failed bank.", ("past",)),
        ("The committee failed.", ("past",)),
        ("Vik [vik2019] claims that sound is enough.", ("said by Vik",)),
        ("The light was out, although the log says it was repaired.", ("past",)),
        ("Hals [3, 4] said that it was lost.", ("past", "said by Hals")),
    ],
)
def test_the_stance_of_participles_and_of_cited_authors(text: str, details: tuple[str, ...]) -> None:
    assert set(only(text).details) == set(details)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("| Year | Ferries |\n| --- | --- |\n| 2023 | 1200 |", ["2023"]),
        ("| Item | Founded |\n| --- | --- |\n| x | 1931 |", ["1931"]),
        ("| Item | Change |\n| --- | --- |\n| x | -12% |", ["-12%"]),
        ("| Item | Paid |\n| --- | --- |\n| x | TRUE |", []),
    ],
)
def test_the_values_of_cells_are_what_their_labels_say(row: str, found: list[str]) -> None:
    assert names(row) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Selon Marc Dupuis, la ville ne peut pas payer.", ["Marc Dupuis"]),
        ("Ohne BPA ist der Kocher nicht teuer.", ["BPA"]),
    ],
)
def test_the_first_word_of_a_sentence_in_another_language_is_no_part_of_a_name(text: str, found: list[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize("package", ["hlgraph.answer", "hlgraph.extract.local"])
def test_each_list_of_words_has_a_name_of_its_own_and_clean_lines(package: str) -> None:
    headings = re.findall(
        r"^# (\w+): ", resources.files(package).joinpath("words.txt").read_text("utf-8"), re.MULTILINE
    )
    lists = word_lists(package, "words.txt")
    assert list(lists) == headings, "a list with a name that another one has would hide it"
    lines = [line for some in lists.values() for line in some]
    assert all(lists.values())
    assert [line for line in lines if line != line.strip()] == [], "white space would be a part of a pattern"

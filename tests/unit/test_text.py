"""Sentences, blocks, tokens and words: examples in many scripts, and time that grows with the text only."""

from __future__ import annotations

import pytest
from growth import assert_linear

from hlgraph.text import BlockKind, blocks, content_words, count_tokens, sentences, words


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["The cat sat.", "Dogs ran!", "Why?", "Nobody knows"],
        ["Dr. Smith met Mr. J. R. R. Tolkien.", "They talked, e.g. about St. Louis."],
        [
            "The U.S. Army left the U.S. in 1990.",
            "It was 5 p.m. Eastern time.",
            "He lives in the U.S.",
            "She does not.",
        ],
        ["It costs $3.50 or 1.5 million.", "See Fig. 3 and No. 5 in Vol. II of the set.", "No.", "I won't."],
        ["He asked “Really?” and left.", "“No.”", "(She wept.)", "'Stop!' he said."],
        ["What?! yes.", "Wait...", "Or not… maybe.", "The end."],
        ["One.[12]", "Two.[3][4]", "Three.¹", "Four."],
        ["Warner Bros. Animation made it with Apple Inc.", "The firm grew."],
        ["Read http://example.com/a.b?Id=3.", "Use node.js or Foo.Bar.", "Done."],
        ["Pick plan B.", "He did."],
        ["Ada sold the mill.", "Ben Roe paid 5 mill. Kroner."],
        ["Done.", "2. Begin again.", "See Fig. 3.", "Then stop."],
    ],
)
def test_sentences_of_latin_prose(expected: list[str]) -> None:
    assert split(" ".join(expected)) == expected


def test_a_repeated_argument_ends_no_sentence() -> None:
    assert split("pump [OPTION]... [FILE]... It stops. Wait... Go.") == [
        "pump [OPTION]... [FILE]... It stops.",
        "Wait...",
        "Go.",
    ]


def test_two_blanks_end_a_sentence_before_a_small_letter() -> None:
    text = "Two lists are on zorb.  zorb-users is one, e.g.  for news.  Fig. 3 shows approx.\nten. eleven."
    assert split(text) == [
        "Two lists are on zorb.",
        "zorb-users is one, e.g.  for news.",
        "Fig. 3 shows approx.\nten. eleven.",
    ]


# A bar stands where a sentence ends.
ABBREVIATIONS = """\
Das Werk wurde am 3. Mai 2019 eröffnet.|Es kostete 5 Mio. Euro.
Der Umsatz stieg auf 2,3 Mrd. Euro.|Das ist ein Rekord.
Sie wohnt in der Königsstr. 5.|Er wohnt im 2. Stock.
Am 1. Januar trat die 3. Verordnung in Kraft.|Der 2. Weltkrieg endete 1945.
Er kam 1990.|Danach ging er.
Siehe Abs. 3 und Nr. 7 der Satzung.|Vgl. Kap. 4.
Die Fa. Braun u. Söhne lieferte z. B. Rohre, d. h. Leitungen.|Sie war neu.
Prof. Dr. med. Klara Weiß sprach.|Sie ist u. a. Ärztin.
Das Gerät wiegt ca. 5 kg.|Es ist neu.
Das gilt lt. Vertrag ab dem 15. September.|Danach nicht.
Er traf sie am Mo. 4. April.|Sie lachte.
De prijs is ca. 5 mln. euro.|Dat is veel.
De heer en mevr. De Vries kwamen.|Dhr. Jansen niet.
De brief van dhr. De Vries kwam a.s. maandag.|Hij was blij.
Prof. dr. J. van den Berg sprak o.a. over o.m. Utrecht.|Het was laat.
Hij werkt bij de N.V. Brask.|Zij niet.
El presidente de EE. UU. visitó Lima.|Llegó el martes.
La Sra. Gómez y el Sr. Pérez viven en la Avda. Sol núm. 5.|Son felices.
Ud. sabe que D. Quijote y Dña. Inés son de la pág. 4.|Es cierto.
El Dr. Ruiz nació en el s. XIX.|Murió en 1901.
M. Dupont et Mme Durand habitent au 5, av. Foch.|Ils partent.
Le prix est de 5 M€.|C'est cher.
Voir p. 5, chap. 3 et art. 4.|Fin.
Il vécut env. 80 ans av. J.-C. selon Tite.|Il mourut.
Le S.A.R. Prince et S.M. Reine vinrent.|Ce fut bref.
Mgr. Lefort et le Dr Morel ont écrit à MM. Petit et Blanc.|Ils ont répondu.
Il sig. Rossi e la sig.ra Bianchi vivono a Roma.|Sono felici.
L'avv. Verdi e l'ing. Neri parlano con il dott. Galli.|È tardi.
Vedi pag. 5 e art. 3.|Fine.
O Sr. Silva e a Sra. Costa moram na Av. Paulista.|São felizes.
O Exmo. Dr. Melo e a Profa. Lima vieram.|Foi bom.
Custou 5 mil. zł i ok. 3 tys. osób przyszło.|To dużo.
Prof. Nowak i dr Kowalski mieszkają na ul. Polnej 5.|Są z Warszawy.
Urodził się w 1990 r. w Krakowie.|Potem wyjechał.
Działo się to w XIX w. Warszawa rosła.|Koniec.
Por. art. 5 ust. 3 pkt. 2 ustawy.|Tak jest.
Он родился в 1990 г. в Москве.|Потом уехал.
Проф. Иванов и акад. Петров живут на ул. Мира, д. 5.|Они рады.
Это стоит 5 млн. руб. в год.|Дорого.
В 5 в. до н. э. Афины росли.|Это факт.
И. И. Иванов и А. С. Пушкин встретились.|Они говорили.
Han blev født den 3. maj 1990.|Han døde.
Den 5. December kom han.|Det var koldt.
Hr. Hansen og fru Jensen bor på Stuegade nr. 5.|De er glade.
Det kostede ca. 5 mio. kr. i alt.|Det er dyrt.
T.ex. Svensson och bl.a. Nilsson kom kl. 5.|De gick.
Sayın Dr. Yılmaz ve Prof. Demir geldi.|Sonra gitti.
Cumhuriyet 29. Ekim günü kuruldu.|Herkes sevindi.
Ada Falk works at Brask Inc.|Ben Moro works at Sarn.
She lives in Washington, D.C.|Tim Vale lives in Sarn.
He moved to the U.S.|Ben Moro followed.
The U.S. Senate and the U.K. Parliament met.|It was late.
Brask Inc. Chairman Tim Vale spoke.|He left.
Washington, D.C. Mayor Tim Vale spoke.|He left.
It opened at 5 p.m.|Tim Vale was there.
It opened at 5 p.m. Monday.|It closed.
He has a Ph.D.|Ben Moro does not.
St. Paul Ave. is long.|Mt. Hood is high.
We met on Jan. 5 and Feb. 7.|Then Gen. Moro left.
Lt. Col. Falk, Jr. was there.|So was Sen. Vale.
See Fig. 3 and Eq. 4.|Compare sec. 5.
J. R. R. Tolkien wrote it.|C. S. Lewis read it.
He ate apples, pears, etc.|Ben Moro did not.
It weighs 5 lbs.|Tim Vale carried it.
He plays for the FA.|Then he left.
In the U.S. House Speaker Tim Vale spoke.|It was late.
He is known as the Major of St. Lo.|Warner Bros. Records released it.
He reached the U.S. Pop Singles chart with a man called Doc.|Never eat there."""


@pytest.mark.parametrize("line", ABBREVIATIONS.splitlines())
def test_abbreviations_and_ordinals_of_eleven_languages(line: str) -> None:
    """Of these lines syntok 1.4.4 splits 24 right, pysbd 0.3.4 17, and 38 where it may try each language."""
    assert split(line.replace("|", " ")) == line.split("|")


CAPTIONS = """\
Table 3. Ships of the line|They sail.
**Figure 2.1.** Pumps.|They run.
Step 3. Open the valve.|Wait.
Kapitel 4. Der Krieg|Er begann.
It stands in Table 3.|Ships are big."""


@pytest.mark.parametrize("line", CAPTIONS.splitlines())
def test_the_number_of_a_caption_ends_no_sentence(line: str) -> None:
    text = line.replace("|", " " if line.count(".") > 2 else "\n\n")
    assert split(text) == line.split("|")


@pytest.mark.parametrize(
    "expected",
    [
        ["东京是日本的首都。", "真的吗?", "他说“好。”", "然后走了！", "完"],
        ["「はい。」と言った。", "そして帰った。"],
    ],
)
def test_sentences_of_scripts_without_spaces(expected: list[str]) -> None:
    assert split("".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["هل هذا صحيح؟", "نعم.", "هذا صحيح۔", "حسنا"],
        ["यह हिन्दी है।", "यह दूसरा वाक्य है॥", "अंत"],
        ["А. С. Пушкин родился в г. Москве.", "Т.е. поэт.", "Да!"],
        ["Die GmbH zahlt z.B. Steuern.", "Das ist bzw. war so."],
    ],
)
def test_sentences_of_other_scripts_and_languages(expected: list[str]) -> None:
    assert split(" ".join(expected)) == expected


def test_text_without_stops_falls_back_to_lines() -> None:
    assert split("ประเทศไทยเป็นประเทศ\nในเอเชียตะวันออกเฉียงใต้\n") == ["ประเทศไทยเป็นประเทศ", "ในเอเชียตะวันออกเฉียงใต้"]
    assert split("12 Main Street\nNew York\n10001") == ["12 Main Street", "New York", "10001"]


def test_a_stop_without_space_ends_a_sentence_only_before_a_common_word() -> None:
    assert split("It grew in both industries.The firm sold it.") == ["It grew in both industries.", "The firm sold it."]
    assert split("Call System.Console or Booking.Com now.") == ["Call System.Console or Booking.Com now."]


def test_spaced_semicolons_separate_list_items() -> None:
    assert split("Ada Lovelace, writer ; Charles Babbage, inventor") == [
        "Ada Lovelace, writer ;",
        "Charles Babbage, inventor",
    ]
    assert split("Il dort ; elle lit; He reads.") == ["Il dort ; elle lit; He reads."]


MARKDOWN = """\
Preface that was wrapped by hand at some width and therefore
goes on here. And ends.

# One #
## Two
First body
Title
=====
- item one. Its second sentence.
  goes on here
* item two
1) first
| a | b |
|---|---|
```py
# no heading

x = 1
```
After the code.
---
Last
"""


def test_blocks_of_markdown() -> None:
    found = [
        (block.kind.value, block.level, block.title, MARKDOWN[block.start : block.end]) for block in blocks(MARKDOWN)
    ]
    assert found == [
        ("prose", 0, "", "Preface that was wrapped by hand at some width and therefore\ngoes on here. And ends."),
        ("heading", 1, "One", "# One #"),
        ("heading", 2, "Two", "## Two"),
        ("prose", 0, "", "First body"),
        ("heading", 1, "Title", "Title\n====="),
        ("item", 0, "", "- item one. Its second sentence.\n  goes on here"),
        ("item", 0, "", "* item two"),
        ("item", 0, "", "1) first"),
        ("row", 0, "", "| a | b |"),
        ("row", 0, "", "|---|---|"),
        ("code", 0, "", "```py"),
        ("code", 0, "", "# no heading"),
        ("code", 0, "", "x = 1"),
        ("code", 0, "", "```"),
        ("prose", 0, "", "After the code."),
        ("rule", 0, "", "---"),
        ("prose", 0, "", "Last"),
    ]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("1 Aims\n======", 1),
        ("1 Aims\n******", 1),
        ("Aims\n-", 0),
        ("Aims\n--", 2),
        ("Aims\n~~~~", 3),
        ("Aims\n^^^^", 3),
        ("Aims and ends\n****", 0),
        ("Aims\n\n****", 0),
        ("Aims.\n*****", 0),
        ("One\n***", 0),
        ("- Aims\n******", 0),
    ],
)
def test_a_line_of_signs_as_long_as_the_line_above_makes_it_a_heading(text: str, level: int) -> None:
    assert next(blocks(f"{text}\n\nA sentence.")).level == level


def test_sentences_end_with_their_block() -> None:
    expected = ["# Title", "No stop here", "Next paragraph", "- item", "- item.", "Two"]
    assert split("# Title\nNo stop here\n\nNext paragraph\n- item\n- item. Two") == expected


def test_each_line_of_a_dialogue_is_a_block() -> None:
    lines = ["ANNA: Where did you put the key of the shed?", "BEN: Under the mat. I did not lose", "it at all."]
    assert [block.start for block in blocks("\n".join(lines))] == [0, len(lines[0]) + 1]
    assert len(list(blocks("It is as follows on this line of prose,\nNote: it goes on here."))) == 1


def test_an_unclosed_fence_is_plain_text() -> None:
    assert [block.kind for block in blocks("```\n# Heading\n")] == [BlockKind.PROSE, BlockKind.HEADING]


def test_one_line_paragraphs_differ_from_hand_wrapped_lines() -> None:
    long = "A paragraph that stands on one line. " * 6
    assert [block.is_loose for block in blocks(f"{long}\n{long}\nShort\nEnd")] == [True, True, True, False]
    assert len(list(blocks("wrapped at forty characters or so, and\nGoing on with a capital, and\nso on."))) == 1


def test_every_kind_of_line_end_is_one() -> None:
    for end in ("\n", "\r\n", "\r", "\u2028", "\f"):
        assert split(f"# A{end}- b{end}- c") == ["# A", "- b", "- c"]


def test_empty_and_blank_texts_have_no_blocks() -> None:
    for text in ("", " ", "\n\n", "\u3000\t\r\n\u00a0\x1c"):
        assert sentences(text) == []
        assert words(text) == []
        assert count_tokens(text) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don’t panic: O'Neill’s café", ["don't", "panic", "o'neill", "café"]),
        ("U.S.A. e.g. 3.14 1,000 COVID-19", ["u.s.a", "e.g", "3.14", "1,000", "covid", "19"]),
        ("STRASSE straße ﬁne ＡＢＣ", ["strasse", "strasse", "fine", "abc"]),
        ("हिन्दी की किताब", ["हिन्दी", "की", "किताब"]),
        ("iPhone手机很好 水", ["iphone", "手机", "机很", "很好", "水"]),
        ("서울은 수도", ["서울은", "수도"]),
        ("snake_case", ["snake", "case"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_content_words_leave_function_and_question_words_out() -> None:
    assert content_words("Where did the authors of this paper work, and why?") == ["authors", "paper", "work"]
    assert content_words("Où est la gare ?") == ["où", "est", "la", "gare"]


def test_tokens_of_a_text_are_at_most_those_of_its_parts() -> None:
    text = "internationalisation 123456789 ждёт 東京。ok½é"
    for cut in range(len(text)):
        assert count_tokens(text) <= count_tokens(text[:cut]) + count_tokens(text[cut:])
    assert count_tokens("ab cd") == count_tokens("ab") + count_tokens("cd")


def test_long_text_counts_like_a_short_one() -> None:
    assert count_tokens("some words. " * 10_000) == 10_000 * count_tokens("some words. ")


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "a",
        ".",
        ". ",
        ".)",
        '."',
        " ",
        "\n",
        "# ",
        "```\n",
        "~~~~\n```\n",
        "|",
        "A. ",
        "1.",
        "[1",
        "水。",
        "-",
        "a=\n==\n",
    ],
)
def test_time_is_linear(unit: str) -> None:
    def work(size: int) -> None:
        text = unit * (size // len(unit))
        sentences(text)
        words(text)

    assert_linear(work, 10_000, times=16, slack=5)

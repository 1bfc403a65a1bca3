"""Each unit of a chunk carries what its sense needs."""

import pytest

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.local import LocalExtractor
from hlgraph.extract.local._units import units
from hlgraph.records import Document

PUMP = "Never do any of the following while the pump runs:"


def texts(text: str, **more: str) -> list[str]:
    [extraction] = LocalExtractor().extract([ChunkInput(text, **more)])
    return [each.text for each in extraction.propositions]


@pytest.mark.parametrize("items", ["- {}\n- {}", "1. {}\n2. {}", "(a) {}\n(b) {}", "* {}\n\n* {}"])
@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_an_item_carries_the_lead_in_of_its_list(items: str, between: str) -> None:
    text = PUMP + between + items.format("Open the red valve.", "Touch the belt.") + "\n\nAfterwards it is safe."
    assert texts(text) == [f"{PUMP} Open the red valve.", f"{PUMP} Touch the belt.", "Afterwards it is safe."]


def test_each_list_has_its_own_lead_in() -> None:
    text = "Life of Ada Falk:\n\n- Born in Sarn\n\nLife of Ben Moro:\n\n- Born in Tolk\n\n1. Buy a pump."
    assert texts(text) == ["Life of Ada Falk: Born in Sarn", "Life of Ben Moro: Born in Tolk", "Buy a pump."]


def test_an_item_of_an_inner_list_carries_the_items_above_it() -> None:
    text = "Pressures:\n- Pump A:\n  - 40 bar at most\n- Pump B\n  - 60 bar at most"
    assert texts(text)[:1] == ["Pressures: Pump A: 40 bar at most"]
    assert texts(text)[-1] == "Pressures: Pump B: 60 bar at most"


def test_a_lead_in_and_an_item_above_may_run_over_lines() -> None:
    text = f"Read all of this before you begin. {PUMP[:29]}\n{PUMP[30:]}\n\n- Pumps of the old\n  yard\n  - Open them."
    assert texts(text)[1:] == [f"{PUMP} Pumps of the old yard", f"{PUMP} Pumps of the old yard: Open them."]


def test_indented_lines_below_a_short_line_carry_it() -> None:
    text = "Released in May 2022.\n\n3.8\n   The pump stops. It cools\n   down.\n\n   Wait.\n\nPort 9\n\n   Anchors.\n"
    assert texts(text) == [
        "Released in May 2022.",
        "3.8: The pump stops.",
        "3.8: It cools down.",
        "3.8: Wait.",
        "Port 9: Anchors.",
    ]


CHARTER = """\
1. Bodies and individuals

   Each decision is made by one of:
    1. The Members;
    2. The Chair.

   Most of it is here. It is short.

  1.1. General rules

    1. Nothing here obliges anyone.
    2. A person may hold posts.

3. The Members

  3.1. Powers

   Together, the Members may:
    1. Appoint the Chair.
    2. Issue documents and withdraw the older ones of them at any
       time.
       These include goals.
         1. A goal needs a majority.
    3. Decide about property.

What is the fee of a member who joins in the middle of the year, and
of one who leaves?

    It is 10 a year.

    Nobody pays twice.

Freedom:

    The text is free.

    So are copies.

The end is near.
"""


def test_texts_laid_out_by_indentation_have_the_lines_that_they_are_under() -> None:
    one, two, three = (
        "Bodies and individuals:",
        "1.1. General rules:",
        "The Members: 3.1. Powers: Together, the Members may:",
    )
    fee = "What is the fee of a member who joins in the middle of the year, and of one who leaves?"
    stated = [
        one[:-1],
        f"{one} Each decision is made by one of: The Members;",
        f"{one} Each decision is made by one of: The Chair.",
        f"{one} Most of it is here.",
        f"{one} It is short.",
        f"{one} {two} Nothing here obliges anyone.",
        f"{one} {two} A person may hold posts.",
        "The Members",
        f"{three} Appoint the Chair.",
        f"{three} Issue documents and withdraw the older ones of them at any time.",
        f"{three} These include goals.",
        f"{three} A goal needs a majority.",
        f"{three} Decide about property.",
        fee,
        f"{fee} It is 10 a year.",
        f"{fee} Nobody pays twice.",
        "Freedom: The text is free.",
        "Freedom: So are copies.",
        "The end is near.",
    ]
    assert [each.text for each in units(CHARTER, ())] == stated
    found = []
    for span in ContentDefinedChunker(32, 0).chunk(Document("a.txt", CHARTER)):
        found += [each.text for each in units(CHARTER[span.start : span.end], (), above=span.above)]
    assert [each for each in found if each in stated] == stated  # wherever the chunks begin


def test_terms_of_several_lines_and_of_inner_lists_end_where_their_text_does() -> None:
    text = "  get\n  get-all\n      Prints it.\n\n  put\n      Takes:\n\n      name\n          A word.\n\n  end\n      Stops.\n"
    assert [each.text for each in units(text, ())] == [
        "get get-all",
        "get, get-all: Prints it.",
        "put: Takes: name",
        "put: name: A word.",
        "end: Stops.",
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("A field of Standards-\nVersion says it.", "A field of Standards-Version says it."),
        ("It pre-\nand post-dates it.", "It pre- and post-dates it."),
        ("- `json` ([CSL\n  JSON](https://a.org) bibliography)", "json (CSL JSON bibliography)"),
        ("See it (in\nTolk) now.", "See it (in Tolk) now."),
    ],
)
def test_a_compound_that_is_divided_after_its_hyphen_is_whole(written: str, shown: str) -> None:
    assert texts(written) == [shown]


def test_an_outline_of_stars_has_its_levels() -> None:
    text = "* Changes in 1.2\n\n** Fix the pump.\n\n** Open a valve\n   of it\n\n*** by hand\n\n* Changes in 1.1\n\n** None"
    assert texts(text)[1:] == [
        "Changes in 1.2: Fix the pump.",
        "Changes in 1.2: Open a valve of it",
        "Changes in 1.2: Open a valve of it: by hand",
        "Changes in 1.1",
        "Changes in 1.1: None",
    ]


def test_a_lead_in_without_a_list_stays() -> None:
    assert texts("Install it:\n\nThen run it.") == ["Install it:", "Then run it."]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_a_question_and_its_answer_are_one_statement(between: str) -> None:
    text = f"**Q:** Is flood covered?{between}**A:** No. Only storm is.\n\nThe rest is in the contract."
    assert texts(text) == [
        "Q: Is flood covered? A: No.",
        "Q: Is flood covered? Only storm is.",
        "The rest is in the contract.",
    ]


def test_a_question_without_an_answer_stays() -> None:
    assert texts("Q: Is flood covered?") == ["Q: Is flood covered?"]


def test_questions_and_answers_line_by_line() -> None:
    assert texts("Q: Is it safe?\nA: Yes. Quite.\nQ: Is it dry?\nA: No.") == [
        "Q: Is it safe? A: Yes.",
        "Q: Is it safe? Quite.",
        "Q: Is it dry? A: No.",
    ]


@pytest.mark.parametrize("mark", ["{}", "**{}**", "- {}"])
def test_a_question_that_is_a_paragraph_stands_before_its_answer(mark: str) -> None:
    question = mark.format("Is hail covered?")
    text = f"The cover is wide.\n\n{question}\n\nOnly on roofs. Not on cars.\n\nThe rest is in the contract."
    alone = ["Is hail covered?", "Only on roofs.", "Not on cars."]
    joined = ["Is hail covered? Only on roofs.", "Is hail covered? Not on cars."]
    expected = alone if mark.startswith("-") else joined
    assert texts(text) == ["The cover is wide.", *expected, "The rest is in the contract."]


@pytest.mark.parametrize("after", ["# Fire", "- a new pump", "| a | b | c |", "Is fire?"])
def test_a_question_before_something_else_has_no_answer(after: str) -> None:
    assert not any("hail covered? " in each for each in texts(f"Is hail covered?\n\n{after}\n\nIt is not the case."))


@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize(
    "ask", ["What is not insured?", "WHICH RISKS ARE NOT INSURED?", "2. Was ist nicht versichert?"]
)
def test_a_list_answers_the_question_above_it_and_keeps_its_crosses(ask: str, between: str) -> None:
    asked = ask.removeprefix("2. ")
    said = texts(f"The cover is wide.\n\n{ask}{between}- Flood\n- Wear\n\nThe rest is in the contract.")
    assert said[-3:] == [f"{asked} Flood", f"{asked} Wear", "The rest is in the contract."]
    crossed = texts(f"The cover is wide.\n\n{ask}{between}✗ Flood\n✗ Wear and tear")
    assert crossed[-2:] == [f"{asked} ✗ Flood", f"{asked} ✗ Wear and tear"]


def test_ticks_and_crosses_below_each_other_are_one_list_and_other_signs_are_none() -> None:
    assert texts("The cover is:\n✗ pool\n✓ towels\n✘ parking")[-2:] == [
        "The cover is: ✓ towels",
        "The cover is: ✘ parking",
    ]
    assert texts("> ✓ flood\n> ✗ wear")[-1].endswith("✗ wear")
    assert texts("✂ cut here\n✈ flights to Sarn")[-1] == "✂ cut here ✈ flights to Sarn"


def test_the_last_sentence_of_an_item_leads_those_below_it() -> None:
    said = texts(
        "1. It fell.\n\n2. She says that the deck of it was wet. He denies:\n\n   (a) that it was wet;\n   (b) that it fell."
    )
    assert said[-2:] == ["He denies: that it was wet;", "He denies: that it fell."]
    kept = "2. Date: It sets the look of the day. The choices are:\n\n   - US\n   - UK"
    assert texts(kept)[-1] == "Date: It sets the look of the day. The choices are: UK"
    assert texts("1. Pay\n\n2. Ask the board\n\n- ~~Tea~~\n\n- Buy ink")[1:] == ["Ask the board", "Buy ink"]


def test_a_label_alone_on_its_line_ends_the_field_above_it() -> None:
    dose = "Adults:   one tablet up to three times a day\nChildren under 12:\n          must not take it"
    assert texts(dose) == ["Adults: one tablet up to three times a day", "Children under 12: must not take it"]
    told = "Warning: the pump may run if told by the\nBoard of the mill:\nAda Falk, Ben Moro and Cem Rey."
    assert texts(told) == [told.replace("\n", " ")]


def test_a_day_in_a_quotation_is_no_mark_of_an_item() -> None:
    assert texts("> der Termin am 15. April ist\n> vom 3. Mai an frei.")[-1].endswith(
        "am 15. April ist vom 3. Mai an frei."
    )
    assert texts("> 3. Oil it and close it.")[-1] == "Oil it and close it."


@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize("first", ["It is lost.", "It is lost, and nobody can say where it went after that."])
@pytest.mark.parametrize(("one", "other"), [("ANNA", "BEN"), ("Anna Falk", "Dr. Moro"), ("**Anna**", "**Ben 2**")])
def test_every_sentence_of_a_line_has_its_speaker(between: str, first: str, one: str, other: str) -> None:
    text = f"{one}: {first}{between}{other}: Under the mat. I never lost it."
    speaker = other.strip("*")
    assert texts(text)[-2:] == [f"{speaker}: Under the mat.", f"{speaker}: I never lost it."]


@pytest.mark.parametrize("mark", ["**{}.**", "**{}**.", "__{}:__", "**{}**:", "*{}.*", "- **{}.**"])
def test_every_sentence_below_a_heading_in_its_line_carries_it(mark: str) -> None:
    text = f"{mark.format('File size')} A file has at most 2 GB. Larger ones are refused.\n\nThe rest is free."
    assert texts(text) == [
        "File size: A file has at most 2 GB.",
        "File size: Larger ones are refused.",
        "The rest is free.",
    ]


def test_a_word_without_emphasis_is_a_heading_where_two_paragraphs_begin_with_one() -> None:
    text = "Boathouse. The roof was repaired. It is dry.\n\nStaff. It has a coach. She is new."
    assert texts(text) == [
        "Boathouse: The roof was repaired.",
        "Boathouse: It is dry.",
        "Staff: It has a coach.",
        "Staff: She is new.",
    ]
    assert texts("Boathouse. The roof was repaired.\n\nIt rains. The team has a coach.")[1] == "The roof was repaired."


@pytest.mark.parametrize(
    "first", ["**No.**", "**The gate is shut.**", "**Stop.", "Weather.", "**One two three four five six.**", "**7.**"]
)
def test_emphasis_at_the_start_of_a_line_that_names_nothing_is_no_heading(first: str) -> None:
    assert texts(f"{first} Use the door. It is open.")[-1] == "It is open."


def test_a_label_in_prose_is_no_speaker() -> None:
    assert texts("Remember: the pump is dry. The valve is open.")[-1] == "The valve is open."


@pytest.mark.parametrize(
    ("heading", "is_statement"),
    [
        ("The Orlen bridge was closed", True),
        ("Ilse Tarn becomes chair on 1 June", True),
        ("Pumps will be replaced in 2025", True),
        ("Opening hours", False),
        ("What is new", False),
        ("How to install", False),
        ("Using the API", False),
        ("Is it safe?", False),
        ("Why it was closed", False),
    ],
)
def test_a_heading_that_asserts_is_a_statement(heading: str, is_statement: bool) -> None:
    assert texts(f"# {heading}\n\nIt is dry.")[:-1] == ([heading] if is_statement else [])


def test_the_rows_of_a_long_table_have_labels_in_every_chunk() -> None:
    rows = [f"| Part {at} | {3 * at} |" for at in range(200)]
    document = Document("a.md", "\n".join(("# Parts", "", "| Part | Count |", "| --- | --- |", *rows)))
    spans = ContentDefinedChunker().chunk(document)
    assert len(spans) > 2
    found = {
        (document.text[span.start + each.start : span.start + each.end], each.text)
        for span in spans
        for each in LocalExtractor()
        .extract([ChunkInput(document.text[span.start : span.end], headings=span.headings, above=span.above)])[0]
        .propositions
    }
    assert {(row, f"Parts: Part: Part {at}; Count: {3 * at}") for at, row in enumerate(rows)} == found


def test_the_items_of_a_long_list_have_their_lead_in_in_every_chunk() -> None:
    items = [f"- Touch the belt of pump number {at} in hall {at % 7}." for at in range(120)]
    document = Document("a.md", "\n".join((PUMP, *items, "", "Afterwards it is safe.")))
    spans = ContentDefinedChunker().chunk(document)
    assert len(spans) > 2
    found = {
        each.text
        for span in spans
        for each in LocalExtractor()
        .extract([ChunkInput(document.text[span.start : span.end], above=span.above)])[0]
        .propositions
    }
    assert found == {f"{PUMP} {item[2:]}" for item in items} | {"Afterwards it is safe."}


def test_no_item_of_an_indented_list_carries_the_item_that_begins_its_chunk() -> None:
    items = "\n".join(f"    - pump {at} of the yard, in hall {at % 7}" for at in range(120))
    document = Document("a.md", f"{items}\n")
    spans = ContentDefinedChunker().chunk(document)
    chunks = [ChunkInput(document.text[span.start : span.end], above=span.above) for span in spans]
    assert len(chunks) > 2
    stated = {each.text for found in LocalExtractor().extract(chunks) for each in found.propositions}
    assert stated == {f"pump {at} of the yard, in hall {at % 7}" for at in range(120)}


def test_alternatives_of_a_synopsis_are_no_cells() -> None:
    line = "pump [[-V | --version] [{-o | --output} {FILE | FOLDER}] | --slow | --fast] yard"
    assert texts(line) == [line]


def test_the_words_of_a_title_need_no_antecedent() -> None:
    sentence = "The bridge was opened by the mayor on 12 May 1881."
    assert texts(sentence, title="The bridge") == [sentence]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Zorb was written by *Ada Falk* in `1999`.", "Zorb was written by Ada Falk in 1999."),
        ("It is ***very*** _fast_ and ~~not~~ slow.", "It is very fast and slow."),
        ('See [the manual](http://a.b/c_(d) "Manual") and <https://bsd.org>.', "See the manual and https://bsd.org."),
        ("It gives a [`Path`][std] of [the list](https://x.org/a ).", "It gives a Path of the list."),
        ("It runs on [Linux][lin] and [BSD][].[^1]\n[lin]: https://linux.org", "It runs on Linux and BSD."),
        ("**The first is bold. So is *it*, all of it.**", "The first is bold. So is it, all of it."),
        ("*Both are slanted. Of all of them.* **kwargs stay.", "Both are slanted. Of all of them. **kwargs stay."),
        ("[^1]: Measured by Ben Moro.", "Measured by Ben Moro."),
        ("[![Build](a.svg)](http://ci) ![The pump](p.png) was built.", "The pump was built."),
        ("The cell [1][2] of a[i][j] stays.", "The cell [1][2] of a[i][j] stays."),
        (
            "Use snake_case, __init__, 2 * 3 * 4, vector<T> and *args.",
            "Use snake_case, __init__, 2 * 3 * 4, vector<T> and *args.",
        ),
        ("Then `a*b*c`, ``x`` and `<b>` differ.", "Then a*b*c, x and <b> differ."),
        (
            "Press <kbd>Ctrl</kbd> or <b>see</b> <placeholder>.<br/>Done &amp; \\*dusted\\*.",
            "Press Ctrl or see <placeholder>. Done & *dusted*.",
        ),
        ("The <b> tag of C:\\Temp\\_x stays.", "The <b> tag of C:\\Temp\\_x stays."),
        ("> [!WARNING]\n> Never open it.", "Warning: Never open it."),
        (
            "<p>It stops.</p><ul><li>Seen on P-40</li><li>Not on P-20</li></ul>",
            "It stops. · Seen on P-40 · Not on P-20",
        ),
        (
            "[![Build\nis](a.svg)](http://ci)\nIt has a [list of\nparts](https://x.org/a), too.",
            "It has a list of parts, too.",
        ),
        ("Valve\n: A part that opens.", "Valve: A part that opens."),
        (":::tip Hint\nUse two cores of it all.\n:::", "Hint Use two cores of it all."),
    ],
)
def test_a_statement_has_the_words_that_a_reader_of_markdown_sees_and_the_span_of_the_source(
    written: str, shown: str
) -> None:
    [extraction] = LocalExtractor().extract([ChunkInput(written)])
    assert " ".join(each.text for each in extraction.propositions) == shown
    ends = (written, written.removesuffix("\n:::"), written.partition("\n[lin]")[0])
    assert extraction.propositions[-1].end in map(len, ends)


def test_the_heading_of_a_chunk_has_no_markup() -> None:
    assert texts("It pumps oil.", headings=("The **Zorb** [guide](https://x.org/g)",)) == [
        "The Zorb guide: It pumps oil."
    ]


@pytest.mark.parametrize(("cell", "value"), [("`-c`", "-c"), ("`a|b`", "a|b"), ("`a \\| b`", "a | b")])
def test_a_bar_in_code_does_not_divide_a_cell(cell: str, value: str) -> None:
    table = f"| Option | Default |\n| --- | --- |\n| {cell} | 3 |\n| `x` | 4 |"
    assert texts(table)[0] == f"Option: {value}; Default: 3"


@pytest.mark.parametrize("language", ["bash", ""])
def test_code_that_two_chunks_share_is_code_in_both(language: str) -> None:
    code = "\n".join(f"# Step {number} begins here\nrun the pump {number} --slowly" for number in range(60))
    document = Document("a", f"Run it.\n\n```{language}\n{code}\n```\n\nThen stop it.", "Pump")
    spans = ContentDefinedChunker(max_tokens=256).chunk(document)
    chunks = [
        ChunkInput(document.text[span.start : span.end], headings=span.headings, above=span.above) for span in spans
    ]
    assert len(chunks) > 2
    for extraction in LocalExtractor().extract(chunks):
        assert not [each.text for each in extraction.propositions if each.text.startswith("Step") or "`" in each.text]


def test_bars_in_code_make_no_row() -> None:
    assert texts("* The type is `a | null | b` since 2.0 came.") == ["The type is a | null | b since 2.0 came."]


def test_a_key_with_a_colon_and_its_value_are_a_pair() -> None:
    assert texts("|  |  |\n| --- | --- |\n| Status: | Base |\n| Source | mod.c |") == ["Status: Base", "Source: mod.c"]


@pytest.mark.parametrize(
    "line",
    [
        *("Annex: abbreviations", "Annex", "ANNEX II", "Annex IV Abbreviations", "Annex 2: abbreviations and terms"),
        *(
            "Appendix B - Forms",
            "Appendix B – Forms, plans and lists",
            "Appendix A.1: Forms",
            "APPENDIX C",
            "Schedule 2: Fees",
        ),
        *("Exhibit A: Lease of the mill", "Attachment No. 3 - Drawings", "Anhang: Abkürzungen", "Anlage 3 – Formulare"),
        *(
            "Anhang B Formulare",
            "Annexe II : Abréviations",
            "Anexo A. Formularios",
            "Apéndice 1: siglas",
            "Allegato 2: Moduli",
        ),
        *("Bijlage 1: Formulieren", "Bilaga A: Blanketter", "Załącznik nr 2: Formularze", "Приложение 1. Формы"),
    ],
)
def test_an_annex_heads_what_follows_it(line: str) -> None:
    assert texts(f"9. Scope\n\nIt holds here.\n\n{line}\n\nANSI is the institute.", title="Rules") == [
        "Rules, 9. Scope: It holds here.",
        f"Rules, {line}: ANSI is the institute.",
    ]


@pytest.mark.parametrize(
    "line",
    [
        *("Annex 2 applies to pumps", "Appendix B was removed", "Schedule: see below", "Schedule Monday: meeting"),
        *("Annex B is missing.", "Attachment: plan of the mill", "Annexes are attached", "annex: abbreviations"),
        *(
            "Appendix B - see also the forms we sent",
            "Exhibit: old pumps",
            "Anlage 3 fehlt",
            "Annex A: it is not here.",
        ),
        *("Scheduled 2: fees", "Schedule a visit", "Appendix B: Forms, plans, lists; and all that was sent"),
    ],
)
def test_a_sentence_about_an_annex_heads_nothing(line: str) -> None:
    assert texts(f"9. Scope\n\nIt holds here.\n\n{line}\n\nANSI is the institute.", title="Rules")[-1] == (
        "Rules, 9. Scope: ANSI is the institute."
    )


def test_a_list_of_annexes_has_no_headings() -> None:
    listed = "9. Scope\n\nAnnex A: Forms\n\nAnnex B: Fees\n\nThe mill keeps both."
    assert texts(listed, title="Rules") == [
        "Rules, 9. Scope: Annex A: Forms",
        "Rules, Annex B: Fees: The mill keeps both.",
    ]


@pytest.mark.parametrize("dots", [". . . . . . . . .", "............"])
def test_lines_of_a_table_of_contents_are_no_statements(dots: str) -> None:
    lines = [f"4.4 Customization of the rules {dots} 24", f"5.1 The compat file {dots} 29"]
    text = "\n\n".join(["Contents of the guide to the pumps", "\n".join(lines), "It pumps oil... every day."])
    assert texts(text) == ["Contents of the guide to the pumps", "It pumps oil... every day."]


def test_numbered_lines_without_marks_are_sentences_of_their_own() -> None:
    lines = (
        "Bug 760274 - The status bar forgets its text now and then",
        "Bug 798545 - Crash in the document dialog of a bill",
    )
    text = "\n".join([lines[0], f"{lines[1]} that\n             nobody has paid"])
    assert texts(text) == [lines[0], f"{lines[1]} that nobody has paid"]


def test_a_row_of_a_table_has_its_labels_wherever_a_chunk_begins_and_a_header_alone_is_no_statement() -> None:
    header = f"| {' | '.join(f'label number {number}' for number in range(12))} |\n|{' --- |' * 12}"
    row = f"| {' | '.join(f'value of the row {number}' for number in range(12))} |"
    text = f"{header}\n{row}"
    spans = ContentDefinedChunker().chunk(Document("a", text))
    assert len(spans) > 1
    found = [each for span in spans for each in texts(text[span.start : span.end], above=span.above)]
    assert found == ["; ".join(f"label number {number}: value of the row {number}" for number in range(12))]


@pytest.mark.parametrize("heading", ["Contents", "Table of Contents", "Inhaltsverzeichnis", "Sommaire"])
def test_lines_with_the_numbers_of_pages_below_the_heading_of_contents_are_no_statements(heading: str) -> None:
    listed = f"# {heading}\n\n1 Why a mill? 1\n\n2 Wheels 12\n\nPreface vii\n\nAda Falk wrote it."
    assert texts(listed) == [f"{heading}: Ada Falk wrote it."]
    assert texts("# Parts\n\nWheels 12") == ["Parts: Wheels 12"]


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        ("It costs ~~49.90~~ 39.90 euros.", ["It costs 39.90 euros."]),
        ("It costs <del>49.90</del> <ins>39.90</ins> euros.", ["It costs 39.90 euros."]),
        (
            "- Lions stay.\n- ~~Bears may come in.~~ (repealed)\n- [ ] ~~Dogs~~ (off)\n- <s>Cats too.</s>",
            ["Lions stay."],
        ),
        ("~~Bears may come in.~~", []),
    ],
)
def test_what_is_struck_out_is_not_stated(written: str, stated: list[str]) -> None:
    assert texts(written) == stated


WRITER = "On Mon, 3 Feb 2025 at 08:00, Bob Ray <b@x.org> wrote:"


def test_a_quotation_in_a_mail_has_its_writer_wherever_it_stands() -> None:
    text = f"{WRITER}\n\n> We cannot come on Sunday. We like it.\n\nI can come.\n\n> The hall costs 180 euros.\n\nFine then."
    assert texts(text) == [
        f"{WRITER} We cannot come on Sunday.",
        f"{WRITER} We like it.",
        "I can come.",
        f"{WRITER} The hall costs 180 euros.",
        "Fine then.",
    ]


@pytest.mark.parametrize(
    "writer", ["Op ma 3 feb 2025 om 09:12 schreef Ada Vos:", "Am 3.2.2025 um 9:12 schrieb Ada Vos <a@b.org>:"]
)
def test_a_quotation_in_a_quotation_has_its_own_writer(writer: str) -> None:
    text = f"{WRITER}\n\n> It is closed.\n\n> {writer}\n\n> > It is open.\n\nWe shall see that."
    assert texts(text) == [f"{WRITER} It is closed.", f"{writer} It is open.", "We shall see that."]


def test_a_quotation_of_an_article_has_the_lead_in_right_above_it_alone() -> None:
    text = "The mayor said:\n\n> It is closed.\n>\n> It stays so.\n\nThe bank was silent.\n\n> A river is a road."
    assert texts(text) == [
        "The mayor said: It is closed.",
        "The mayor said: It stays so.",
        "The bank was silent.",
        "A river is a road.",
    ]


def test_every_sentence_of_an_item_has_its_term() -> None:
    items = ("**Sill**: The lower edge of a gate. It is made of oak.", "-k, --keep: Keep jobs. Without it, they go.")
    text = "".join(
        f"- {item}\n" for item in (*items, "See https://a.org/b now. It helps.", "Open it: it is red. Shut it.")
    )
    assert texts(text) == [
        "Sill: The lower edge of a gate.",
        "Sill: It is made of oak.",
        "-k, --keep: Keep jobs.",
        "-k, --keep: Without it, they go.",
        "See https://a.org/b now.",
        "It helps.",
        "Open it: it is red.",
        "Shut it.",
    ]


def test_a_task_of_a_list_shows_whether_it_is_done() -> None:
    assert texts("# Plan\n\n- [x] Retry with backoff\n- [ ] Windows service\n  - [ ] installer") == [
        "Plan: [x] Retry with backoff",
        "Plan: [ ] Windows service",
        "Plan: [ ] Windows service: [ ] installer",
    ]


def test_roman_numbers_before_a_dash_are_the_items_of_a_law() -> None:
    text = "Esta Lei não se aplica:\n\nI - aos cães-guia;\n\nII – aos animais da polícia; e\n\nXIV - aos demais."
    assert [each.rpartition(": ")[0] for each in texts(text)] == ["Esta Lei não se aplica"] * 3


@pytest.mark.parametrize("heading", ["References", "7. Bibliography", "Literaturverzeichnis", "Références"])
def test_an_entry_of_a_bibliography_is_one_statement(heading: str) -> None:
    entry = "Hals, Greta (2004). Lakes of Norland. Teld Press. p. 44."
    assert texts(f"# {heading}\n\n- {entry}\n\n1. {entry[6:]}") == [f"{heading}: {entry}", f"{heading}: {entry[6:]}"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Ist der Kocher spülmaschinenfest?", "Nein, nur der Filter darf in die Maschine."),
        ("¿Cuánto dura en la nevera?", "Dos días, bien tapada."),
        ("Combien de temps dure la garantie ?", "Deux ans."),
    ],
)
def test_a_question_in_another_language_stands_before_its_answer(question: str, answer: str) -> None:
    rest = "Der Kocher ist nicht laut und die Garantie gilt auch in der Schweiz."
    assert texts(f"{question}\n\n{answer}\n\n## Mehr\n\n{rest}") == [f"{question} {answer}", f"Mehr: {rest}"]


@pytest.mark.parametrize("line", ["inkl. MwSt., zzgl. Versand", "1 cda. de aceite", "bspw. Milch, bijv. Melk"])
def test_more_abbreviations_end_no_sentence(line: str) -> None:
    assert texts(f"- {line}") == [line]


@pytest.mark.parametrize(
    "start",
    [
        "2025-07-01 06:00:00,012 INFO ",
        "[2025-07-01T06:00:00Z] ",
        "Jul  1 06:15:00 host ",
        "192.0.2.7 - ines ",
        "06:00:01 ",
    ],
)
def test_each_line_of_a_log_is_a_statement(start: str) -> None:
    lines = [f"{start}Valve {at} did not close in time, so it is tried again" for at in range(3)]
    assert texts("\n".join((*lines, "\tat Valve.java:88"))) == [" ".join(each.split()) for each in lines[:2]] + [
        f"{' '.join(lines[2].split())} at Valve.java:88"
    ]


@pytest.mark.parametrize("size", [100, 300, 1500])
def test_a_table_keeps_its_labels_however_long_its_lines_are(size: int) -> None:
    long = "x" * size
    table = f"| Part | Note {long} |\n| --- | --- |\n| Seal | red {long} |\n| Ring | blue |"
    assert texts(table) == [f"Part: Seal; Note {long}: red {long}", f"Part: Ring; Note {long}: blue"]


def test_each_field_of_a_form_is_a_statement() -> None:
    lines = (
        "Site:        Quay 3, Port of Tolk and its northern pier",
        "Date/time:   14 February 2025",
        "Reported by: Jan Ruys",
    )
    assert texts("\n".join(lines)) == [" ".join(line.split()) for line in lines]
    assert texts("The rule is long and it says this: never\nopen: the red valve of pump 12.") == [
        "The rule is long and it says this: never open: the red valve of pump 12."
    ]


def test_a_quoted_question_stands_before_its_answer_and_a_heading_has_one_colon() -> None:
    assert texts(f"{WRITER}\n\n> Is the number right?\n\nYes.\n\nIt is mine.") == [
        f"{WRITER} Is the number right? Yes.",
        "It is mine.",
    ]
    assert texts("# Call us if:\n\n- your sight gets worse") == ["Call us if: your sight gets worse"]


def test_a_numbered_line_in_capitals_is_the_heading_of_a_plain_text_unless_it_is_an_item() -> None:
    text = "1. WHAT HAPPENED\n   The tug struck it.\n\n1.1 OTHERS\n\nNone came then.\n\n2. DAMAGE\n   - Pier: none was left"
    assert texts(text) == [
        "1. WHAT HAPPENED: The tug struck it.",
        "1.1 OTHERS: None came then.",
        "2. DAMAGE: Pier: none was left",
    ]
    assert texts("1. WHITE RICE\n2. BLACK BEANS\n\nBuy it all.") == ["WHITE RICE", "BLACK BEANS", "Buy it all."]
    assert texts("(a) Open it.      Owner: Ruys     Due: May") == ["Open it. Owner: Ruys Due: May"]
    assert texts("It is short.\n12 USA WON\nit all.")[-1] == "12 USA WON it all."


CHAT = """[12.05.24, 18:02:11] Mia Berg: Is the bike here?
[12.05.24, 18:03:40] Jonas: No, it stands outside
[12.05.24, 18:05:15] Jonas: The lock is broken. I saw it.
Someone cut it.
[12.05.24, 18:06:00] Tariq A.: I did not"""


@pytest.mark.parametrize("stamp", ["[12.05.24, 18:0", "12/05/2024, 18:0"])
def test_a_message_of_a_chat_is_a_paragraph_and_each_sentence_names_its_writer(stamp: str) -> None:
    chat = CHAT if stamp[0] == "[" else CHAT.replace("[12.05.24, ", "12/05/2024, ").replace("] ", " - ")
    first, lock, *rest = texts(chat)
    assert first.startswith(stamp)
    assert first.endswith("Jonas: No, it stands outside")
    assert "Mia Berg: Is the bike here? " in first
    assert lock.endswith("Jonas: The lock is broken.")
    assert rest[:2] == ["Jonas: I saw it.", "Jonas: Someone cut it."]
    assert rest[2].endswith("Tariq A.: I did not")


def test_a_part_of_a_plain_text_is_headed_by_its_number_and_name() -> None:
    text = "1. Deposit\n\nIt is $200.\n\n2. Fuel\n\n2.1 It is not included.\n\n3. Refunds\n\n(a) None.\n(b) Half."
    assert texts(text, title="Hire") == [
        "Hire, 1. Deposit: It is $200.",
        "Hire, 2. Fuel: 2.1 It is not included.",
        "Hire, 3. Refunds: None.",
        "Hire, 3. Refunds: Half.",
    ]
    after = "(1) Das Jahr ist lang.\n\n2. Fuel\n\nNone is left."
    assert texts(after, title="Hire")[1] == "Hire, 2. Fuel: None is left."
    close = "1. Roof\nThe board takes Harrow. Four were in favour.\n\n2. Rents\n2.1 They rise.\n2.2 They rise once."
    assert texts(close, title="Minutes") == [
        "Minutes, 1. Roof: The board takes Harrow.",
        "Minutes, 1. Roof: Four were in favour.",
        "Minutes, 2. Rents: 2.1 They rise.",
        "Minutes, 2. Rents: 2.2 They rise once.",
    ]
    article = "§ 2 Mitglieder\n\n(1) Die Mitgliedschaft endet durch\n    a) Austritt,\n    b) Tod.\n"
    assert texts(article, title="Satzung") == [
        "Satzung, § 2 Mitglieder: Die Mitgliedschaft endet durch: Austritt,",
        "Satzung, § 2 Mitglieder: Die Mitgliedschaft endet durch: Tod.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "1. Apples\n\n2. Pears\n\nAll ripe.",
        "1. Apples and\npears that are ripe.\n\nAll ripe.",
        "12 March 2024\n\nAll ripe.",
        "3. Mai 2019\n\nReif.",
    ],
)
def test_a_numbered_item_and_a_date_head_nothing(text: str) -> None:
    assert len(texts(text)) == text.count("\n\n") + 1


@pytest.mark.parametrize("dots", [" ......... ", " . . . . . . . ", "          "])
def test_a_price_behind_dots_or_blanks_keeps_its_name(dots: str) -> None:
    colon = " " if dots.isspace() else ": "
    assert texts(f"Single room{dots}EUR 89\nSuite{dots}EUR 210") == [
        f"Single room{colon}EUR 89",
        f"Suite{colon}EUR 210",
    ]


def test_a_sentence_goes_on_over_a_page_and_a_french_quotation_keeps_its_end() -> None:
    pages = "The colony counted many birds in the year 2013,\n\f\nand the wardens ringed each of them."
    assert texts(pages) == [pages.replace("\n\f\n", " ")]
    quoted = "M. Lefèvre précise : « Les enfants ne sont pas admis. » Le tarif est de 3 €."
    assert texts(quoted) == [quoted[: quoted.index(" Le tarif")], "Le tarif est de 3 €."]


def test_the_items_of_a_quoted_list_carry_its_lead_in() -> None:
    assert texts("> Never:\n> - open it\n> - touch it") == ["Never: open it", "Never: touch it"]
    quoted = f"{WRITER}\n\n> We need:\n> - oil\n> - rope\n\n> Kim\n\n> Details:\n\n> The hall is open."
    needs = f"{WRITER} We need:"
    assert texts(quoted) == [
        f"{needs} oil",
        f"{needs} rope",
        f"{WRITER} Kim",
        f"{WRITER} Details:",
        f"{WRITER} The hall is open.",
    ]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize("inner", ["- {}\n- {}", "(i) {}\n(ii) {}", "1. {}\n2. {}", "• {}\n• {}"])
@pytest.mark.parametrize(("first", "last"), [("(a)", "(b)"), ("(2)", "(3)"), ("h)", "i)")])
def test_an_item_introduces_a_list_with_other_marks_that_is_as_indented(
    first: str, last: str, inner: str, between: str
) -> None:
    lead = "The flat has the following rooms:"
    lines = [f"{first} {lead}", *inner.format("two bedrooms;", "a kitchen.").split("\n"), f"{last} It is dry."]
    assert texts(between.join(lines)) == [f"{lead} two bedrooms;", f"{lead} a kitchen.", "It is dry."]


@pytest.mark.parametrize("mark", ["{}", "**{}**", "*{}*"])
def test_the_rows_of_a_table_have_its_caption(mark: str) -> None:
    table = "| Item | 2022 |\n| --- | --- |\n| Gifts | 12 |"
    text = f"# Finances\n\n{mark.format('Table 1: Costs in EUR')}\n\n[As of May]\n\n{table}\n\nIt grew.\n\n{table}"
    [extraction] = LocalExtractor().extract([ChunkInput(text)])
    rows = [each.text for each in extraction.propositions if "Gifts" in each.text]
    assert rows == ["Table 1: Costs in EUR: Item: Gifts; 2022: 12", "Finances: Item: Gifts; 2022: 12"]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_small_letters_with_full_stops_are_marks_where_a_clause_begins(between: str) -> None:
    lines = [
        "6. You may copy it if:",
        "a. it is free;",
        "b. it is signed:",
        "i. by hand or;",
        "ii. by key.",
        "7. Go on.",
    ]
    lead = "You may copy it if:"
    assert texts(between.join(lines)) == [
        f"{lead} it is free;",
        f"{lead} it is signed: by hand or;",
        f"{lead} it is signed: by key.",
        "Go on.",
    ]


@pytest.mark.parametrize("line", ["d. h. wenn es regnet", "c. 1850 people live there", "e. V. in Bonn"])
def test_an_abbreviation_that_begins_a_line_is_no_mark(line: str) -> None:
    text = f"The club of the town meets in the old hall on Sundays,\n{line}."
    assert texts(text) == [" ".join(text.split())]


def test_an_item_that_is_no_sentence_introduces_the_clauses_that_end_it() -> None:
    assert texts("(2) The deposit is\n\na) 900 euros;\n\nb) less otherwise.") == [
        "The deposit is: 900 euros;",
        "The deposit is: less otherwise.",
    ]
    assert texts("1. Buy milk\n- Call Tom") == ["Buy milk", "Call Tom"]


@pytest.mark.parametrize("colon", [":", ""])
def test_a_line_without_an_end_above_a_list_is_its_lead_in(colon: str) -> None:
    german = f"Nicht versichert sind{colon}\n\n- Frost\n\nVersichert sind{colon}\n\n- Feuer"
    assert texts(german) == ["Nicht versichert sind: Frost", "Versichert sind: Feuer"]
    assert texts("We closed the yard.\n\n- Frost") == ["We closed the yard.", "Frost"]
    assert texts("Present: 14 parents, Ms Lang (chair)\n\n1. School trip") == [
        "Present: 14 parents, Ms Lang (chair)",
        "School trip",
    ]


def test_clauses_and_short_lines_below_a_lead_in_carry_it() -> None:
    clauses = "The seller is not liable for:\n\n2.1 delay;\n\n2.2 loss of profit.\n\nThe buyer pays."
    lead = "The seller is not liable for:"
    assert texts(clauses) == [f"{lead} 2.1 delay;", f"{lead} 2.2 loss of profit.", "The buyer pays."]
    own = "2.1 The seller is not liable for:\n\n2.1.1 delay.\n\n2.2 The limit is $5."
    assert texts(own) == ["2.1 The seller is not liable for: 2.1.1 delay.", "2.2 The limit is $5."]
    present = "Present:\nKim Lund\nOtto Brandt\n\nAbsent:\nLea Moe\n\nKim spoke."
    assert texts(present) == ["Present: Kim Lund", "Present: Otto Brandt", "Absent: Lea Moe", "Kim spoke."]


def test_a_line_further_left_than_an_item_does_not_go_on_with_it() -> None:
    assert texts("v2.1\n  * Removed the option\nv2.0\n  * Changed it") == [
        "v2.1: Removed the option",
        "v2.0: Changed it",
    ]


def test_a_reply_carries_its_question_and_the_rest_of_the_paragraph_does_not() -> None:
    assert texts("Was he paid? No, never. The court sat in May. It rained.") == [
        "Was he paid? No, never.",
        "The court sat in May.",
        "It rained.",
    ]
    assert texts("Can I cancel? No. Orders are final. We ship in May.") == [
        "Can I cancel? No.",
        "Can I cancel? Orders are final.",
        "We ship in May.",
    ]


@pytest.mark.parametrize("code", ["```\n{}\n```", "```sh\n{}\n```", "    {}", "  {}", "\t{}"])
@pytest.mark.parametrize("before", ["", "First of all. ", "- Also: none\n\n"])
def test_code_carries_the_sentence_above_it_that_ends_in_a_colon(code: str, before: str) -> None:
    said = texts(f"{before}To check it, run:\n\n{code.format('sarn --check')}\n\nIt says OK.")
    assert said[-2:] == ["To check it, run: sarn --check", "It says OK."]


def test_names_of_the_sentence_above_code_are_mentions_and_words_of_the_code_are_not() -> None:
    [extraction] = LocalExtractor().extract([ChunkInput("Ada Falk starts it by:\n\n```\nBen Moro\n```\n")])
    assert [[mention.name for mention in each.mentions] for each in extraction.propositions] == [["Ada Falk"]]


@pytest.mark.parametrize("between", ["\n\n", "\n\nA sentence stands between.\n\n", "\n\n## Heading\n\n"])
def test_other_text_below_a_colon_does_not_carry_it(between: str) -> None:
    after = "The tank is red." if between == "\n\n" else "```\nsarn --check\n```"
    assert not any("run:" in text for text in texts(f"To check it, run:{between}{after}")[1:])


def test_code_has_its_lead_in_wherever_its_chunk_begins() -> None:
    lines = "\n".join(f"turn --valve {at} --hall {at % 7} --slowly" for at in range(40))
    text = f"It is a hall.\n\nTo open all of it:\n\n```\n{lines}\n```\n\n- It ends."
    spans = ContentDefinedChunker(60, 0).chunk(Document("a.md", text))
    found = [each.text for span in spans for each in units(text[span.start : span.end], (), above=span.above)]
    code = [each for each in found if "turn" in each]
    assert len(code) > 3
    assert all(each.startswith("To open all of it: turn") for each in code)
    assert found[-1] == "It ends."


def test_a_list_does_not_complete_a_line_of_the_page_before() -> None:
    text = "Notes: the valves\n\f\n- Red paint\n- Blue paint"
    assert [each.text for each in units(text, ())] == ["Notes: the valves", "Red paint", "Blue paint"]
    assert next(each.text for each in units(text.replace("valves", "valves:"), ())) == "Notes: the valves: Red paint"


def test_an_entry_of_changes_has_its_version_whatever_the_case_of_the_name() -> None:
    [extraction] = LocalExtractor().extract(
        [ChunkInput("# readxl 1.3.0\n\n## Other changes\n\nIt reads formulas now.")]
    )
    assert [each.text for each in extraction.propositions] == ["readxl 1.3.0, Other changes: It reads formulas now."]


def test_the_mark_of_a_note_behind_a_full_stop_ends_the_sentence() -> None:
    text = "Wear shoes.[^1] Bring hats.[^b-2] Go.\n\n<details><summary>If it rains</summary>\n\nIt moves.\n\n</details>"
    assert texts(text) == ["Wear shoes.", "Bring hats.", "Go.", "If it rains", "It moves."]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Is the valve shut? ☒ Yes ☐ No", "Is the valve shut? Yes"),
        ("Is the valve shut?  ☐ Yes  ☒ No", "Is the valve shut? No"),
        ("Fuel: ☐ Diesel ☑ Electric ☐ Petrol", "Fuel: Electric"),
        ("| Question | Answer |\n| --- | --- |\n| Shut? | ☐ Yes ☒ No |", "Question: Shut?; Answer: No"),
        ("☐ Open the valve", "☐ Open the valve"),  # not yet
    ],
)
def test_of_the_answers_of_a_form_only_those_that_are_ticked_are_stated(text: str, statement: str) -> None:
    assert texts(text) == [statement]


def test_a_line_with_a_box_is_no_part_of_the_line_above() -> None:
    assert texts("☐ Open the valve\n☒ Close the door") == ["☐ Open the valve", "☒ Close the door"]


@pytest.mark.parametrize(
    "text", ["Good:\n\n  no new service\n\nIt is dry.", "kilnctl - control the kiln\n\nIt is dry."]
)
def test_words_that_a_label_or_a_name_leads_are_no_fragment(text: str) -> None:
    assert len(texts(text)) == 2


def test_a_version_that_was_taken_back_stands_before_its_changes() -> None:
    for version in ("2.0.1 (2024-12-01) [YANKED]", "2.0.1 / 2024-12-01"):
        text = f"## {version}\n### Fixed\n- It stops at night."
        assert texts(text) == [f"{version}, Fixed: It stops at night."]


def test_a_colon_behind_the_mark_of_a_note_stays_and_goes_where_the_note_begins() -> None:
    assert texts("Not supported[^1]: Windows.\n\n[^1]: Since 0.4.") == ["Not supported: Windows.", "Since 0.4."]


def test_ticked_answers_below_a_question_answer_it() -> None:
    form = (
        "1. How good is it? (5 = very)\n\n☐ 1   ☐ 2   ☒ 4   ☐ 5\n\n2. Is it red?\n\n☒ Yes   ☐ No\n\n3. Which days?\n\n"
        "☒ Monday\n\n☐ Friday\n\n4. Remarks: none."
    )
    assert texts(form) == [
        "How good is it? (5 = very) 4",
        "Is it red? Yes",
        "Which days? ☒ Monday",
        "Which days? ☐ Friday",
        "Remarks: none.",
    ]


def test_code_below_a_table_is_not_led_by_what_leads_the_table() -> None:
    text = "Output:\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nrun it\n```"
    assert texts(text)[-1] == "run it"


@pytest.mark.parametrize("between", ["\n", "\n\n"])
@pytest.mark.parametrize("lead", ["Subsection (1) does not apply to—", "(2) Subsection (1) does not apply to—"])
def test_an_item_carries_a_lead_in_that_ends_in_a_dash_as_in_laws(lead: str, between: str) -> None:
    said = texts(f"{lead}{between}(a) rafts; or{between}(b) tugs.\n\nBoats pay.")
    lead = lead.removeprefix("(2) ")
    assert said == [f"{lead} rafts; or", f"{lead} tugs.", "Boats pay."]


def test_the_number_of_a_paragraph_is_no_sentence_also_behind_a_sign_of_markdown() -> None:
    text = "1\\. The Act applies. It is law.\n\n12\\) Boats pay."
    assert texts(text) == ["1. The Act applies.", "It is law.", "12) Boats pay."]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_answers_to_choose_from_have_their_question_and_lead_no_other_one(between: str) -> None:
    text = between.join(
        [
            "1. Which gas?",
            "A. Butane",
            "B. Chlorine",
            "C. Air\n",
            "2. When?",
            "A. By day",
            "B. At night\n",
            "A. Bell wrote it.",
        ]
    )
    said = texts(text)
    assert said[:5] == [
        "Which gas? A. Butane",
        "Which gas? B. Chlorine",
        "Which gas? C. Air",
        "When? A. By day",
        "When? B. At night",
    ]
    assert said[-1].endswith("A. Bell wrote it.")
    assert not said[-1].startswith("When")


@pytest.mark.parametrize(
    "name",
    [
        "Noteworthy changes in release 1.12 (2022-04-07) [stable]",
        "What's new in Python 3.12",
        "Changes in 2.0.1",
        "News for 1.4",
    ],
)
def test_a_heading_that_names_the_changes_of_a_version_stands_before_them(name: str) -> None:
    said = texts(
        f"# NEWS\n\n## {name}\n\n### Bug fixes\n\nIt stops at night.\n\n## News of the harbour\n\n### Boats\n\nOne sank."
    )
    assert said == [f"{name}, Bug fixes: It stops at night.", "Boats: One sank."]

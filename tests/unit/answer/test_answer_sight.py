"""What a piece need not say itself: what its source, its neighbours, its units and its labels say for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hlgraph.answer import extractive_answer
from hlgraph.records import Evidence, Source


def _of(texts: str, *, uri: str = "file:///a/doc.txt", title: str = "doc", **metadata: str) -> list[Evidence]:
    """The lines of a text as neighbouring statements of one source, each of which begins with the title."""
    source = Source(f"{hash(uri):032x}"[-32:], "c", uri, title, "sum", metadata)
    pieces, at = [], 0
    for number, line in enumerate(texts.splitlines()):
        text = f"{title}: {line}"
        pieces.append(Evidence(text, 1.0, "c" * 32, at, at + len(line), source, f"{number:032x}", why={"vector": 0.6}))
        at += len(line) + 1
    return pieces


_CLUB = "TARN ROWERS - NEWSLETTER\nOur trip to Sarn Rock drew 34 people.\nIt was led by Vera Lund.\nThe route is 13 km long.\n"
_CLUB += "The club has 112 members.\nA new pier was opened in August."
_LETTER = (
    "Dear Mr Falk,\nYou have been referred to us by Dr Moro.\nYou may eat before the scan.\nA visit costs 65 pounds."
)
_PEOPLE = {"from": "Ida Brask <ida@x.example>", "to": "Otto Falk <otto@x.example>"}
_LIFE = (
    "In 1889 she went to live with Dr Karl Moro, a surgeon.\nHe taught her Latin.\nShe stayed fourteen months in Cork."
)
_LIFE += "\nShe met Vera Lund and Ida Krone.\nShe paid for the boat."


@pytest.mark.parametrize(
    ("question", "said", "is_supported"),
    [
        ("Who led the trip to Sarn Rock?", "Vera Lund", True),
        ("Who led the trip to Tolk?", "", False),
        ("How long is the route to Sarn Rock?", "13 km", True),
        ("How many members do the Tarn Rowers have?", "112", True),
        ("When were the Tarn Rowers founded?", "", False),
    ],
)
def test_a_statement_is_about_what_the_lines_before_it_and_the_first_line_name(
    question: str, said: str, is_supported: bool
) -> None:
    answer = extractive_answer(question, _of(_CLUB), refuse=False)
    assert answer.is_supported is is_supported
    assert said in answer.sentences[0].text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who referred Otto Falk?", "Dr Moro"),
        ("How much does Ida Brask charge for a visit?", "65 pounds"),
        ("Can Otto Falk eat before the scan?", "Yes: "),
    ],
)
def test_you_is_the_recipient_of_a_message_and_its_sender_speaks(question: str, said: str) -> None:
    answer = extractive_answer(question, _of(_LETTER, title="Scan", **_PEOPLE), refuse=False)
    assert answer.is_supported
    assert said in answer.text


def test_a_pronoun_has_the_name_before_it_for_an_answer_and_none_if_there_are_two() -> None:
    evidence = _of(_LIFE, title="Ada Falk")
    taught = extractive_answer("Who taught Ada Falk Latin?", evidence, refuse=False)
    assert taught.is_supported
    assert "Karl Moro" in taught.text
    assert not extractive_answer("Who paid for the boat?", evidence, refuse=False).is_supported
    stay = extractive_answer("How long did Ada Falk stay in Cork?", evidence, refuse=False)
    assert stay.is_supported
    assert "fourteen months" in stay.sentences[0].text


_MANUAL = """The tank holds 4.5 litres.
Switch it on after four hours.
Measure the light at 575 nm.
Entry costs £6 from May to September.
It is not the pump, which was replaced by Vera Lund in March.
Items left behind are kept for a fortnight."""


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How much water does the tank of the dryer hold?", "4.5 litres"),
        ("At what wavelength is the light measured?", "575 nm"),
        ("What is the price of entry in July?", "£6"),
        ("Who replaced the pump in March?", "Vera Lund"),
        ("How long are items left behind kept?", "a fortnight"),
    ],
)
def test_a_unit_a_range_and_a_clause_say_what_is_asked(question: str, said: str) -> None:
    evidence = _of(_MANUAL, uri="file:///a/dryer_manual.txt", title="Nimbra")
    answer = extractive_answer(question, evidence, refuse=False)
    assert answer.is_supported
    assert said in answer.sentences[0].text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How much vanilla do I need?", "Ingredients: 200 g of flour, 80 g of sugar"),
        ("Which router supports Band 6E?", "The R7 supports Band 6 but not Band 6E."),
        ("What is the price of entry in December?", "Entry costs £6 from May to September."),
        ("How long did the strike last?", "The strike began, and the mill closed a year later."),
    ],
)
def test_what_a_statement_leaves_open_is_not_supported(question: str, text: str) -> None:
    assert not extractive_answer(question, _of(text), refuse=False).is_supported


_POOL = """The mast unit has a lamp.
Do not mount the unit on a chimney, since warm air bends it.
The gauge sits in the display.
The sum is the price, but never more than $6,500.
The lap water is kept at 79 °F.
The set consists of a mast and a bucket."""


@pytest.mark.parametrize(
    ("question", "is_supported"),
    [
        ("Why should the mast unit not be mounted on a chimney?", True),
        ("Why should the temporary unit not be mounted on a chimney?", False),
        ("Where is the gauge?", True),
        ("What is the highest sum?", True),
        ("What is the lowest sum?", False),
        ("What is the highest mast?", False),
        ("How warm is the lap water?", True),
        ("What parts does the set consist of?", True),
        ("When did Vera Lund die?", False),
    ],
)
def test_a_second_mention_a_place_and_a_limit_say_what_is_asked(question: str, *, is_supported: bool) -> None:
    evidence = _of(f"{_POOL}\nWhen he left in 1909, the shop passed to Vera Lund.")
    assert extractive_answer(question, evidence, refuse=False).is_supported is is_supported


@pytest.mark.parametrize(
    ("question", "text", "is_supported"),
    [
        ("Why was the play rejected?", "The play was turned down, because it is long.", True),
        ("Why was the play rejected?", "The play was praised, because it is long.", False),
        ("What is the level of tool 3.2?", "The level of tool 3.2.0 is 6.", True),
        ("What is the level of tool 3.2?", "The level of tool 3.1.0 is 6.", False),
        ("How long do apple rings take?", "Food: Apple rings; Time (hours): 7 to 9; Slice: 5", True),
        ("At what heat are apple rings dried?", "Food: Apple rings; Heat (°C): 57; Slice: 5", True),
        ("When does train 5 arrive at Orlen?", "Station: Orlen; Train 3: 9:41; Train 5: 11:41", True),
        ("When was Old Quarrel delivered?", "Cheese: Old Quarrel; Aged (months): 30; Wheels: 5", False),
        ("What is the password of the router?", "class User: id: str password: str", False),
        ("On which day is the fee debited?", "The fee is collected by debit on the 5th of each month.", True),
        ("How much does the USB 3 cable cost?", "The USB 3 cable is long.", False),
        ("How much does the USB 3 cable cost?", "The USB 3 cable is EUR 120.", True),
        ("Which is the highest peak in Orlen?", "A path leads up to the peak in Orlen.", False),
        ("How old is Biscuit?", "Biscuit pays the old price for 3 weeks.", False),
        ("How many farmers participated?", "37 farmers took part in the trial.", True),
        ("How much is paid per person?", "Each person is paid 30 euros.", True),
        ("How much is paid per mile?", "The rate that is paid is 0.35 euros per kilometre.", False),
        ("How warm is the main pool?", "The big pool is kept at 27 degrees.", True),
        ("How warm is the main pool?", "The big pool opened in May.", False),
        ("When was the match called off?", "The match was cancelled on 5 May.", True),
        ("When was the match called off?", "The match was played on 5 May.", False),
        ("Why is frying not allowed?", "Frying is prohibited because the fan is weak.", True),
        ("Why is frying not allowed?", "Frying is popular because the fan is strong.", False),
        ("How can I get rid of paint?", "Dispose of paint at the yard.", True),
        ("By how much may the rent go up?", "The rent is 980 euros.", False),
        ("By how much may the rent go up?", "The rent can be raised by at most 4 percent.", True),
        ("By how much did the rent increase?", "The rent increased in 2 cities.", False),
        ("How quickly must a loss be reported?", "A loss must be reported within two hours.", True),
        ("How quickly must a loss be reported?", "A loss must be reported to two clerks.", False),
        ("What does the trip cost?", "Parking costs 3 pounds.", False),
        ("How long does the operation take?", "The check-up takes 20 minutes.", False),
        ("How long does the operation take?", "The operation takes 20 minutes.", True),
        ("Who pays after six weeks?", "After six weeks the health insurer pays.", True),
        ("Who pays after six weeks?", "After six weeks it is paid.", False),
        ("Who sets the limit?", "If the limit of a resource is set to a value, it holds.", False),
        ("Who opened the shop?", "The old shop opened in 1990.", False),
        ("Where was Ada Falk's father born?", "Ada Falk was born in Sarn as a daughter of a smith.", False),
        ("Where was Ada Falk's father born?", "Ada Falk's father was born in Sarn.", True),
        ("Where was Ada Falk's father born?", "Ada Falk moved to Tolk; her father was born in Sarn.", True),
        ("What is the place of birth of Ada Falk?", "Ada Falk (1901, Sarn – 1980, Tolk) was a smith.", True),
        ("What is the place of birth of Ada Falk?", "Ada Falk moved to Sarn in 1920, the place of her shop.", False),
        ("Who runs the ferry?", "Ada Falk supported the ferry.", False),
        ("Who teaches swimming?", "Swimming lessons are given by Ada Falk.", True),
        ("Who teaches swimming?", "Ada Falk takes swimming lessons.", False),
        ("How heavy is the case?", "The kettle is 2 kg in weight.", False),
        ("How many holidays do employees get?", "Employees get 27 days of paid leave.", True),
        ("When do the holidays start?", "The start of the coach that leaves is at 8:15.", False),
        ("Where are the settings stored?", "The settings are stored in ~/.cache/tide.", True),
        ("Where are the settings stored?", "The settings are stored as text.", False),
        ("How old is Okoro?", "Okoro, 42, comes from Stenning.", True),
        ("What notice period applies?", "The notice period that applies is two weeks.", True),
        ("What should I do if it leaks?", "It leaks since the seal is old.", False),
        ("What should I do if it leaks?", "If it leaks: close the valve.", True),
        ("Why was she not admitted?", "They refused to admit her because she was a woman.", True),
        ("Why was she not admitted?", "They admitted her because she was a woman.", False),
        ("Why should I not swim in the river?", "Swimming in the river is dangerous because of the current.", True),
        ("Why should I not swim in the river?", "Swimming in the river is cheap because it is free.", False),
        ("What causes rust?", "Rust comes with salt and rain.", True),
        ("How do I switch off the lamp?", "To disable the lamp, hold the key.", True),
        ("Who is in charge of the keys?", "Ada Falk is responsible for the keys.", True),
        ("Who is in charge of the keys?", "Ada Falk has lost the keys.", False),
        ("How much holiday do employees get?", "Employees have a budget of 1,500 euros.", False),
        ("How much rent do tenants pay?", "Tenants pay 980 euros.", True),
        ("When was the bridge built?", "In 1860 the town council resolved to build a bridge.", False),
        ("When did the council resolve to build it?", "In 1860 the council resolved to build a bridge.", True),
        ("How many pupils has the school?", "The school of the head has two children.", False),
        ("How many children does Ada Falk have?", "Ada Falk has 30 pupils.", False),
        ("When was the pill invented?", "The first tablet computer was invented in 1989.", False),
        ("Who trained the coach?", "Ada Falk drove the coach to Sarn.", False),
        ("Who saved the child?", "Ada Falk wrote to the child.", False),
        ("Who deals with complaints?", "Ada Falk looks at complaints.", False),
        ("Who leads the team?", "Ada Falk managed to see the team.", False),
        ("How much does the dog weigh?", "The dog ate 2 kg of meat.", False),
        ("How much does the dog weigh?", "The dog is about 12 kg.", True),
        ("What causes the alarm?", "The alarm comes with two batteries.", False),
        ("What causes asthma?", "Ada Falk comes from Sarn and has asthma.", False),
        ("How many holidays are there in Sarn?", "There are 12 days of leave of absence in Sarn.", False),
        ("What is the temperature of the hall?", "The hall is turned by 90 degrees to the road.", False),
        ("What is the temperature of the lake?", "The lake is at a latitude of 45 degrees.", False),
        ("What is the temperature of the lake?", "The lake is at 20 degrees in May.", True),
        ("What is the speed limit in Sarn?", "Cars drove up to 90 km/h in Sarn.", False),
        ("What is the limit for a hotel?", "A hotel is paid up to 140 euros.", True),
        ("How old is Ada Falk?", "Ada Falk lives at Mill Road, 32, in Sarn.", False),
        ("How old is Ada Falk?", "Ada Falk lives in the house, 32, in Sarn.", False),
        ("Why did Ada Falk not marry Ben Moro?", "Ada Falk married Ben Moro because he was too rich.", False),
        ("Why was the bridge not built?", "The bridge was built to avoid floods because the old one failed.", False),
        ("Why was the match not cancelled?", "The match was cancelled because of snow.", False),
        ("What should I do if the lamp blinks?", "If the lamp blinks, press F2.", True),
        ("What should I do if the lamp blinks?", "If the lamp blinks: replace batteries.", True),
        ("What should I do if the lamp blinks?", "If the lamp blinks, batteries are empty.", False),
        ("What should I do before the scan?", "Drink two litres of water before the scan.", True),
        ("What can we do in Sarn?", "In Sarn, visitors swim in the lake.", True),
        ("By what time must I collect the dog?", "If you do not collect the dog within an hour, we call you.", False),
        ("How big is the unit?", "The deposit is returned within 21 days of the unit being emptied.", False),
        ("How big is the unit?", "The unit was built in 1990, and opens at 6 am on 3 May.", False),
        ("How big is the unit?", "The customer rents unit 118 at 40 Tannery Lane.", False),
        ("How big is the disk?", "The disk has 40 GB.", True),
        ("How large is Tarn?", "Tarn has a population of 4,000.", True),
        ("How big is the unit?", "The unit has five rooms.", True),
        ("How big is the unit?", "The unit has 30 to 40 square metres.", True),
        ("How large was the crowd?", "1500 people were in the crowd.", True),
        ("How fast is the ferry?", "The ferry takes two hours.", False),
        ("How often do I replace the blades?", "The blades should be changed every eight weeks.", True),
        ("Can I undo the migration?", "The migration cannot be undone.", True),
        ("Can I rewrite the note?", "The note may be rewritten.", True),
        ("Can the station remain outdoors?", "The station may stay outside.", True),
        ("May drivers work from home?", "Drivers may not work remotely.", True),
    ],
)
def test_phrases_versions_and_labels_with_units(question: str, text: str, *, is_supported: bool) -> None:
    assert extractive_answer(question, _of(text), refuse=False).is_supported is is_supported


_BOX = """The guide describes the kettle.
Its weight is 2 kg.
In the box: Kettle
In the box: Power base
In the box: Filter"""
_HOTELS = """Hotel: Harbour Inn; Rooms: 22; Double room (crowns): 150; Breakfast: yes
Hotel: Pension Lind; Rooms: 9; Double room (crowns): 110; Breakfast: no
Hotel: Hotel Gav; Rooms: 48; Double room (crowns): 190; Breakfast: yes"""


@pytest.mark.parametrize(
    ("question", "texts", "said"),
    [
        ("What is in the box?", _BOX, ["In the box: Kettle", "In the box: Power base", "In the box: Filter"]),
        ("Which hotels offer breakfast?", _HOTELS, ["Harbour Inn", "Hotel Gav"]),
        ("Which hotels offer a sauna?", _HOTELS, []),
        ("Which is dearer, Hotel Gav or Harbour Inn?", _HOTELS, ["Hotel Gav, 190; Harbour Inn, 150"]),
        ("What is the weight of the guide?", _BOX, ["Its weight is 2 kg."]),
        ("What is the weight of the manual?", _BOX, []),
    ],
)
def test_lists_and_rows_are_answers_as_a_whole(question: str, texts: str, said: list[str]) -> None:
    answer = extractive_answer(question, _of(texts), refuse=False)
    assert answer.is_supported is bool(said)
    assert all(each in answer.text for each in said)
    assert not said or "Lind" not in answer.text


@pytest.mark.parametrize(
    ("heading", "question", "is_supported"),
    [
        ("Childhood and study", "Where did Ada Falk study?", False),
        ("Childhood and study", "Where was Ada Falk born?", True),
        ("Study", "Where did Ada Falk study?", True),
    ],
)
def test_a_heading_of_two_things_is_no_label(heading: str, question: str, *, is_supported: bool) -> None:
    text = "Ada Falk was born in Sarn." if " and " in heading else "Ada Falk spent two years in Sarn."
    evidence = [replace(piece, headings=(heading,)) for piece in _of(text)]
    assert extractive_answer(question, evidence, refuse=False).is_supported is is_supported


def test_a_limit_of_age_denies_nothing_of_those_beyond_it() -> None:
    evidence = _of("Nobody under eighteen is admitted to the sauna.")
    assert not extractive_answer("Can a twenty-year-old use the sauna?", evidence, refuse=False).is_supported
    evidence = _of("Passwords shorter than 12 characters are rejected.")
    assert extractive_answer("Is a password of 10 characters accepted?", evidence, refuse=False).text.startswith("No: ")
    assert not extractive_answer("Is a password of 14 characters accepted?", evidence, refuse=False).is_supported


def test_a_negation_of_something_else_in_the_same_source_denies_nothing() -> None:
    evidence = _of("peek does not work with archives.", title="quillpack")
    assert not extractive_answer("Does quillpack accept long archives?", evidence, refuse=False).is_supported


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "Are electric grills allowed on balconies?",
            "Charcoal is no longer allowed on balconies; electric grills may still be used.",
        ),
        ("Is telemetry enabled by default in official builds?", "Unsupported builds never include telemetry."),
    ],
)
def test_a_denial_of_something_else_is_no_no(question: str, text: str) -> None:
    answer = extractive_answer(question, _of(text), refuse=False)
    assert not answer.is_supported
    assert not answer.text.startswith("No: ")


@pytest.mark.parametrize(
    ("question", "texts", "is_supported"),
    [
        ("Why did Ingrid Moe leave?", "Ingrid Moe was clerk.\nMs Moe left, because she moved to Cork.", True),
        (
            "Why did Ingrid Moe leave?",
            "Ingrid Moe met Karl Moe.\nThe yard was sold.\nMr Moe left, because he moved to Cork.",
            False,
        ),
        (
            "What is Forward Secure Sealing based on?",
            "Forward Secure Sealing (FSS) is on.\nFSS is based on a key.",
            True,
        ),
        (
            "What is FSS based on?",
            "Forward Secure Sealing (FSS) is on.\nForward Secure Sealing is based on a key.",
            True,
        ),
        (
            "What is FSA based on?",
            "Forward Secure Sealing (FSS) is on.\nForward Secure Sealing is based on a key.",
            False,
        ),
    ],
)
def test_a_surname_and_an_abbreviation_stand_for_the_whole_name(
    question: str, texts: str, *, is_supported: bool
) -> None:
    assert extractive_answer(question, _of(texts), refuse=False).is_supported is is_supported


def test_a_verb_without_its_object_says_nothing_of_the_object_in_the_title() -> None:
    for text, is_supported in (("The Kittiwake runs on batteries.", False), ("Merrow Lines runs it.", True)):
        assert (
            extractive_answer("Who runs the ferry?", _of(text, title="Ferry"), refuse=False).is_supported
            is is_supported
        )


def test_a_pronoun_whose_name_is_known_is_about_nobody_else() -> None:
    for born in (
        "She [Ada Falk] was born in Tolk.",
        "Ada Falk was born in Tolk.",
        "Ada was born in Tolk.\nHe knew Ada.",
    ):
        evidence = _of(f"Ben Moro met her in Sarn.\n{born}")
        assert not extractive_answer("Where was Ben Moro born?", evidence, refuse=False).is_supported
    mail = _of("Ida Krone will come on Monday.\nWe meet at noon.", title="Plan", **_PEOPLE)
    assert not extractive_answer("When will Ida Brask come?", mail, refuse=False).is_supported


def test_a_label_that_is_asked_for_answers_with_its_value() -> None:
    settings = _of("name: tollgate\nlanguage: Kotlin\ndepends_on: ledger, passbook, clockwork", title="service")
    answer = extractive_answer("What language is the service written in?", settings, refuse=False)
    assert answer.is_supported
    assert "Kotlin" in answer.sentences[0].text
    boat = _of("Boat: Selkie; Type: yawl; Berth: C1", title="boats")
    assert extractive_answer("At which berth does the Selkie lie?", boat, refuse=False).is_supported


@pytest.mark.parametrize(
    ("question", "texts", "head"),
    [
        ("Do children pay?", "Adults pay 7 pounds and children enter free.", "No"),
        ("Do adults pay?", "Adults pay 7 pounds and children enter free.", "Yes"),
        ("May I take photos with flash here?", "Photographs may be taken without flash.", "No"),
        ("Does a ten-year-old get in free?", "Children under twelve get in free.", "Yes"),
        ("Does a 13-year-old get in free?", "Children under twelve get in free.", "No"),
        ("Can a fifteen-year-old use the sauna?", "Nobody under eighteen is admitted to the sauna.", "No"),
        ("Is the glaze safe at 2,200 degrees?", "The glaze is safe at 2,190 degrees or more.", "Yes"),
        ("Is theft from tents covered?", "Theft is covered, with the exception of tents.", "No"),
        ("Can the filter go in the dishwasher?", "Wash the filter weekly.\nNever put it in the dishwasher.", "No"),
        (
            "Can the shop be reached by road?",
            "Vera runs a shop.\nAid was refused, because the shop can be reached by road.",
            "Yes",
        ),
    ],
)
def test_yes_and_no_by_clauses_ages_and_pronouns(question: str, texts: str, head: str) -> None:
    answer = extractive_answer(question, _of(texts), refuse=False)
    assert answer.is_supported
    assert answer.text.startswith(f"{head}: ")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Does the app work without a network?", "The app works without a network only in demo mode."),
        ("Does the app need a network?", "The app works without a network only in demo mode."),
        ("Are dogs allowed?", "Dogs are only allowed on the terrace."),
        ("Are dogs allowed?", "Only small dogs are allowed."),
        ("Is the museum open on Sundays?", "The museum is open on Sundays in summer only."),
        ("Can I pay by card?", "You can pay by card if the sum is above 10 euros."),
        ("Can I pay by card?", "You cannot pay by card if the sum is below 10 euros."),
        ("Can I pay by card?", "You cannot pay by card on Sundays."),
        ("Can children swim?", "Children may not swim alone, because the lake is deep."),
        ("Are pets allowed?", "Pets are allowed when they are on a lead."),
    ],
)
def test_what_holds_under_a_condition_is_neither_yes_nor_no(question: str, text: str) -> None:
    answer = extractive_answer(question, _of(text), refuse=False)
    assert (answer.is_supported, answer.text) == (True, f"Within limits: doc: {text} [1]")


@pytest.mark.parametrize(
    ("question", "text", "head"),
    [
        ("Are dogs allowed on the terrace?", "Dogs are allowed only on the terrace.", "Yes"),
        ("Is the software open source?", "The software is not only open source but also free.", "Yes"),
        ("Was the mill built in 1931?", "The mill, the only one in Tarn, was built in 1931.", "Yes"),
        ("Was Ada Falk in Cork?", "Ada Falk was in Cork when the war began.", "Yes"),
        ("Can the filter be washed?", "The filter cannot be washed and is replaced after three months.", "No"),
        ("Does the app run offline?", "The app runs offline even if the server is down.", "Yes"),
        ("Did Ada Falk win a prize?", "Ada Falk won the Sarn prize.", "Yes"),
        ("Did Ada Falk win a prize?", "Ada Falk has won nineteen lawsuits.", ""),
        ("Did Ada Falk write a book?", "Ada Falk wrote letters.", ""),
        ("Did Ada Falk write a book?", "Ada Falk wrote a novel.", "Yes"),
        ("Did Ada Falk direct a film?", "Ada Falk directed a play.", ""),
        ("Can I return a broken lamp?", "A lamp can be returned unless it is broken.", "No"),
        ("Do adults pay?", "Adults pay 7 pounds and children are only admitted with a ticket.", "Yes"),
        ("Can it be used without the wire?", "It mows by itself while the wire is powered.", ""),
        ("Can I enter without a ticket?", "A ticket is needed to enter.", "No"),
    ],
)
def test_a_limit_that_the_question_names_or_that_is_none_leaves_yes_and_no(question: str, text: str, head: str) -> None:
    answer = extractive_answer(question, _of(text), refuse=False)
    assert answer.text.startswith(f"{head}: doc: " if head else "doc: ")
    assert answer.is_supported is bool(head)

"""What is a statement, and what its details say of it: denied, said by whom, future, conditional."""

import pytest

from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.local import LocalExtractor
from hlgraph.records import Proposition

BEFORE, AFTER = "Acme Corp bought the mill in 1950.", "The mill was closed in 1960."


def found_in(text: str, title: str = "") -> tuple[Proposition, ...]:
    return LocalExtractor().extract([ChunkInput(text, title)])[0].propositions


def facts(text: str) -> list[tuple[str, str, str]]:
    return [(each.subject, each.predicate, each.object) for found in found_in(text) for each in found.triples]


@pytest.mark.parametrize(
    "text",
    [
        "Read more",
        "Sign up here to get the news in your inbox every Saturday.",
        "If you haven't, sign up here.",
        "CLICK HERE TO SIGN UP FOR THE NEWSLETTER",
        "Advertisement",
        "(Top photo of the mill: Ben Moro / Getty Images)",
        "The definition of elite",
        "Not so fast",
        "But what would you call the mill?",
        "“Who owns it?”",
    ],
)
def test_fragments_debris_and_bare_questions_are_no_statements(text: str) -> None:
    assert [found.text for found in found_in(f"{BEFORE}\n\n{text}\n\n{AFTER}")] == [BEFORE, AFTER]


@pytest.mark.parametrize(
    "text",
    [
        "People die.",
        "That can't happen.",
        "Write down the level at the start and at the end.",
        "The last question was always the same: where is the nearest place?",
        "The definition of elite.",  # what ends like a sentence is kept
        "GIH   Gannow Institute of Hydrology\nVRC   Velm River Commission",
        "There’s a lot to like.",
        "Dogs bark at night.",
        "Ada Roe and Ben Moro meet in Cork.",
        "Turn the red valve.",
        "Open hours: 9 to 5",
        "Length 31 km",
        "“Who owns it?” she asked.",
        "Read more books, said Ada Roe.",
        "Sie fragt nicht. Wer ist das?",
        "Die Halle am Fluss und die Brücke",
        "¿Quién es?",
    ],
)
def test_short_assertions_values_instructions_and_other_languages_stay(text: str) -> None:
    assert " ".join(found.text for found in found_in(f"{BEFORE}\n\n{text}\n\n{AFTER}")[1:-1]) == " ".join(text.split())


def test_a_list_and_a_chunk_with_nothing_else_stay() -> None:
    assert [found.text for found in found_in("- Red paint\n- Blue paint")] == ["Red paint", "Blue paint"]
    assert [found.text for found in found_in("Old red paint")] == ["Old red paint"]


def test_yes_and_no_carry_their_question() -> None:
    text = f"{BEFORE} Is flood covered? No, only storm is. {AFTER}"
    _, found, _ = found_in(text)
    assert found.text == "Is flood covered? No, only storm is." == text[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("Acme Corp buys mills.", ()),
        ("Acme Corp bought the mill.", ("past",)),
        ("Acme Corp did not buy the mill.", ("denied", "past")),
        ("Acme Corp hasn’t bought the mill.", ("denied",)),
        ("There is no evidence that Acme Corp bought the mill.", ("denied",)),
        ("There was nothing to indicate that Acme Corp bought the mill.", ("denied", "past")),
        ("Acme Corp denied that it bought the mill.", ("denied", "past")),
        ("Acme Corp bought not only the mill but the canal.", ("past",)),
        ("Acme Corp bought the mill, which was not old.", ("past",)),
        ("Acme Corp, which bought the mill, is old.", ()),
        ("The mill built by Acme Corp is old.", ()),
        ("When Ada Roe came, Acme Corp owns it.", ()),
        ("She has been at Acme Corp.", ()),
        ("They’ve bought Acme Corp.", ()),
        ("It wasn’t sold to Acme Corp.", ("denied", "past")),
        ("Ada Roe says the mill was old.", ("said by Ada Roe", "past")),
        ("Ada Roe said the mill is old.", ("said by Ada Roe",)),
        ("Ada Roe said that Acme Corp bought the mill.", ("said by Ada Roe", "past")),
        ("Acme Corp bought the mill, according to Ada Roe.", ("said by Ada Roe", "past")),
        ("According to a study published in May, the mill is old.", ("said by a study",)),
        ("“Acme Corp bought the mill,” said Ada Roe, its founder.", ("said by Ada Roe", "past")),
        ("Ada Roe, founder of Acme Corp, noted that the mill is old.", ("said by Ada Roe",)),
        ("The report says the mill is old.", ("said by The report",)),
        ("Acme Corp will buy the mill.", ("future",)),
        ("Acme Corp plans to buy the mill.", ("future",)),
        ("Acme Corp won't buy the mill.", ("denied", "future")),
        ("Acme Corp may buy the mill.", ("conditional",)),
        ("If Ada Roe agrees, Acme Corp would buy the mill.", ("conditional",)),
        ("Acme Corp bought the mill in May 1950.", ("past",)),
        ("On supported systems the mill is automatic.", ()),
        ("Unless stated otherwise, the mill is closed.", ("conditional",)),
        ("Closely related mills may work too.", ("conditional",)),
        ("Undo your botched changes at the mill.", ()),
        ("Acme Corp reportedly bought the mill.", ("past", "conditional")),
        ("Ada Roe said Acme Corp would not buy the mill.", ("denied", "said by Ada Roe", "future")),
        ("Ada Roe said she would close the mill if Acme Corp agreed.", ("said by Ada Roe", "conditional")),
        ("Work on the mill would have begun in May.", ("conditional",)),
        ("Had Acme Corp agreed, the mill would not have been sold.", ("denied", "past", "conditional")),
        ("She would later buy the mill.", ("past",)),
        ("Neighbours claim that the mill is old.", ("said by Neighbours",)),
        ("Her lawyer, Ben Moro, said the mill was old.", ("said by Ben Moro", "past")),
        ("The new owner, Ada Roe, said: “The mill is old.”", ("said by Ada Roe",)),
        ("The tenant had argued that the mill was old.", ("said by The tenant", "past")),
        ("Acme Corp never had a mill.", ("denied", "past")),
        ("By her will, the mill went to Acme Corp.", ("past",)),
        ("By her last will, the mill went to Acme Corp.", ("past",)),
        ("Nothing was sold in the mill.", ("denied", "past")),
        ("No mill was sold in 1950.", ("denied", "past")),
        ("The mill was not opened until 1950.", ("past",)),
        ("Acme Corp gets no money from Ada Roe.", ("denied",)),
        ("Acme Corp no longer owns the mill.", ("denied",)),
        ("If the mill is empty, nothing is sold.", ("denied", "conditional")),
        ("Er will die Mühle und die Brücke.", ()),
    ],
)
def test_details_of_a_statement(text: str, details: tuple[str, ...]) -> None:
    assert [found.details for found in found_in(text)] == [details]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Roe denied that Acme Corp acquired Moro Mills.",
        "Acme Corp denied that it acquired Moro Mills.",
        "Acme Corp denied it acquired Moro Mills.",
        "There is no evidence that Acme Corp acquired Moro Mills.",
        "There was nothing to indicate that Acme Corp acquired Moro Mills.",
        "If Acme Corp acquired Moro Mills, the canal was closed.",
        "Acme Corp allegedly acquired Moro Mills.",
        "Acme Corp never acquired Moro Mills.",
        "Acme Corp almost acquired Moro Mills.",
        "No mill of Acme Corp acquired Moro Mills.",
        "Acme Corp had nearly acquired Moro Mills.",
        "It is not true that Acme Corp acquired Moro Mills.",
        "Nobody believes that Acme Corp acquired Moro Mills.",
        "Ada Roe asked whether Acme Corp acquired Moro Mills.",
    ],
)
def test_what_is_denied_or_open_is_no_fact(text: str) -> None:
    assert not [fact for fact in facts(text) if "acquired" in fact[1] or fact[2] == "Moro Mills"]


@pytest.mark.parametrize(
    ("title", "text", "subject"),
    [
        ("Orlen Tower", "The church was sold to Acme Corp.", "church was sold to"),
        ("Orlen Tower", "The tower was sold to Acme Corp.", "was sold to"),
        ("A Day at the Tower", "The film was sold to Acme Corp.", "was sold to"),
    ],
)
def test_the_with_a_noun_is_the_title_only_if_the_title_is_such_a_thing(title: str, text: str, subject: str) -> None:
    [fact] = found_in(text, title)[0].triples
    assert (fact.subject, fact.predicate) == (title, subject)


def test_a_company_that_may_be_one_of_two_is_not_the_title() -> None:
    assert not found_in("Velm Bank bought Orlen Insurance. The company had lost money.", "Acme Report")[-1].triples


def test_a_modal_verb_holds_for_the_verbs_after_it() -> None:
    text = "Acme Corp may be acquired by Moro Mills and moved to Paris."
    assert [fact[1] for fact in facts(text)] == ["may be acquired by", "may be moved to"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada Roe bought the mill. She closed it.", "She [Ada Roe] closed it."),
        ("Ada Roe bought the mill. It was old. She closed it.", "She [Ada Roe] closed it."),
        ("Ada Roe bought the mill. In 1970, she closed it.", "In 1970, she [Ada Roe] closed it."),
        ("Ada Roe bought the mill. Her mill was closed.", "Her [Ada Roe’s] mill was closed."),
        ("Ada Roe bought the mill. “It is old,” she said.", "“It is old,” she [Ada Roe] said."),
        ("In the mill Lund broke her hand. She closed it.", "She [Lund] closed it."),
        ("They met singer Ada Roe in the mill. She closed it.", "She [Ada Roe] closed it."),
        ("Although she was old, Ada Roe bought the mill. She closed it.", "She [Ada Roe] closed it."),
        ("“Ada Roe bought the mill. She closed it.”", "She [Ada Roe] closed it.”"),
        ("Acme Corp bought the mill. The company closed it.", "The company [Acme Corp] closed it."),
        ("Acme Corp bought the mill. The company's boss closed it.", "The company [Acme Corp]'s boss closed it."),
        (
            "The Orlen Bridge was opened in 1950. In 1960, the bridge was closed.",
            "In 1960, the bridge [Orlen Bridge] was closed.",
        ),
        ("Red Sky is a film by Ada Roe. The movie was praised.", "The movie [Red Sky] was praised."),
        ("Acme Corp is a company in Cork. It closed the mill.", "It [Acme Corp] closed the mill."),
        ("Velm United is a football club in Cork. They closed it.", "They [Velm United] closed it."),
        ("Trade in Acme Corp was slow. It said the mill is closed.", "It [Acme Corp] said the mill is closed."),
        ("Ada Roe met Eve Lund. She closed the mill.", "She closed the mill."),
        ("Ada Roe met a singer. She closed the mill.", "She closed the mill."),
        ("Ada Roe sold it to him. He closed the mill.", "He closed the mill."),
        ("Ben Roe sold it to him. He closed the mill.", "He closed the mill."),
        ("Her husband Ben Roe left. She closed the mill.", "She closed the mill."),
        ("She saw that Ada Roe left. She closed the mill.", "She closed the mill."),
        ("“I saw that Ada Roe said so,” she writes. She closed the mill.", "She closed the mill."),
        ("Eva Lund is his sister. He closed the mill.", "He closed the mill."),
        ("Acme Corp bought Moro Ltd. The company closed it.", "The company closed it."),
        ("Acme Corp is a company in Cork. The company car was sold.", "The company car was sold."),
        (
            "Red Sky and Blue Sky are films. Red Sky is a film. Blue Sky is a film. The film was praised.",
            "The film was praised.",
        ),
        (
            "Acme Corp is a company in Cork. It is clear that the mill was closed.",
            "It is clear that the mill was closed.",
        ),
        ("Acme Corp bought the mill. He closed it.", "He closed it."),
        ("Ada Roe bought the mill.\n\nEve Lund bought the yard.\n\nShe closed it.", "She closed it."),
        ("Ada Roe bought the mill. Eve Lund bought the yard. She closed it.", "She closed it."),
        ("Velm Bank bought Orlen Insurance in 1950. The company closed it.", "The company closed it."),
        ("Red Sky is a film by Ada Roe. Until 1974 it was banned.", "Until 1974 it [Red Sky] was banned."),
        ("Ada Roe bought the mill. Born in Cork, she closed it.", "Born in Cork, she [Ada Roe] closed it."),
        ("Their union, Mill Voice, left. Ada Roe said it is old. She closed it.", "She [Ada Roe] closed it."),
        ("The mill was sold. Its chairman is Ada Roe. She closed it.", "She [Ada Roe] closed it."),
        ("Acme Corp bought the mill. It was closed.", "It was closed."),
        ("Ada Roe bought the mill.\n\n# Later\n\nShe closed it.", "She closed it."),
    ],
)
def test_an_antecedent_stands_in_brackets_where_it_is_certain(text: str, expected: str) -> None:
    found = found_in(text, "What has become of the mills?")[-1]
    assert found.text.endswith(f": {expected}") or found.text == expected
    assert text[found.start : found.end].split(maxsplit=1)[0] == expected.split(maxsplit=1)[0]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Ada Roe", "Ada Roe is a singer. She met Eve Lund.", "She [Ada Roe] met Eve Lund."),
        ("Ada Roe", "Roe met Eve Lund. She closed it.", "She [Ada Roe] closed it."),
        ("Ada Roe (singer)", "Ada Roe is a singer. She closed it.", "She [Ada Roe (singer)] closed it."),
        ("Red Sky", "Red Sky is a film by Ada Roe. It was praised.", "It [Red Sky] was praised."),
        ("Ada Roe", "Ada Roe is a singer. Eve Lund met her. She closed it.", "Ada Roe: She closed it."),
        ("Ada Roe", "Ada Roe is a singer. Her father was a baker. He closed it.", "Ada Roe: He closed it."),
        ("Red Sky", "Red Sky is a film. The plot is old. It was praised.", "Red Sky: It was praised."),
        ("Ada Roe", "Ada Roe is a singer. Her teacher was Eve Lund. She closed it.", "Ada Roe: She closed it."),
        (
            "Weingut Roe",
            "Weingut Roe sells wine. It was bought by Eva Roe’s father. She left.",
            "Weingut Roe: She left.",
        ),
        (
            "Comet Roe",
            "Comet Roe was seen by Eva Lund. The comet is red. It will return.",
            "Comet Roe: It will return.",
        ),
        ("Ben Roe", "Ben Roe is a singer. He left. The mill went to a cousin. He closed it.", "Ben Roe: He closed it."),
        ("Comet Roe", "Comet Roe was discovered by Eva Lund. It will return.", "It [Comet Roe] will return."),
    ],
)
def test_the_title_is_an_antecedent_if_the_sentences_before_are_about_it(title: str, text: str, expected: str) -> None:
    found = found_in(text, title)[-1]
    assert found.text == expected
    assert {fact.subject for fact in found.triples} <= ({title.partition(" (")[0]} if "[" in expected else set())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- Anna Lund, chair.\n- She succeeds Karl Brand.", "She [Anna Lund] succeeds Karl Brand."),
        (
            "The board:\n\n- Anna Lund, director.\n- She succeeds Karl Brand.",
            "The board: She [Anna Lund] succeeds Karl Brand.",
        ),
        ("1. Anna Lund chairs it. She succeeds Karl Brand.", "She [Anna Lund] succeeds Karl Brand."),
        ("- Anna Lund, chair.\n- Her term ends in May.", "Her [Anna Lund’s] term ends in May."),
        ("- Anna Lund, chair.\n- Eve Moro, clerk.\n- She succeeds Karl Brand.", "She succeeds Karl Brand."),
        ("- Anna Lund and Eve Moro.\n- She succeeds Karl Brand.", "She succeeds Karl Brand."),
        ("- Anna Lund, chair; her sister is clerk.\n- She succeeds Karl Brand.", "She succeeds Karl Brand."),
        ("Board:\n\n- Anna Lund, chair.\n\nStaff:\n\n- She succeeds Karl Brand.", "Staff: She succeeds Karl Brand."),
        ("- Anna Lund, chair.\n\nThe mill was sold.\n\n- She succeeds Karl Brand.", "She succeeds Karl Brand."),
        ("Anna Lund left.\n\n- She succeeds Karl Brand.", "She succeeds Karl Brand."),
        ("- The chair.\n- She succeeds Karl Brand.", "She succeeds Karl Brand."),
        ("- Anna Lund, chair.\n- He succeeds Karl Brand.\n- She is old.", "She is old."),
    ],
)
def test_a_pronoun_of_an_item_has_the_one_person_of_the_items_before(text: str, expected: str) -> None:
    assert found_in(text, "What has become of the mills?")[-1].text.endswith(f": {expected}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The van is repaired on Monday. It comes on Wednesday.", "It [the van] comes on Wednesday."),
        ("The old red van was sold. It was built in 1950.", "It [the old red van] was built in 1950."),
        ("Our mill burned in 1950. Its roof fell.", "Its [our mill’s] roof fell."),
        ("The van comes. It is repaired in May. It leaves in June.", "It [the van] leaves in June."),
        ("The van is in the garage. It comes on Wednesday.", "It comes on Wednesday."),
        ("The van needs fuel. It comes on Wednesday.", "It comes on Wednesday."),
        ("The van of Brask is late. It comes on Wednesday.", "It comes on Wednesday."),
        ("The van is late. It is cold.", "It is cold."),
        ("The van is late. It is clear that we wait.", "It is clear that we wait."),
        ("The van is late. It depends on the road.", "It depends on the road."),
        ("The van is late. It was Monday.", "It was Monday."),
        ("The vans are late. It comes on Wednesday.", "It comes on Wednesday."),
        ("The driver is late. It comes on Wednesday.", "It comes on Wednesday."),
        ("The van is late.\n\nIt comes on Wednesday.", "It comes on Wednesday."),
        ("The van is late. Nobody knows. It comes on Wednesday.", "It comes on Wednesday."),
        ("“The van is late. It comes on Wednesday.", "It comes on Wednesday."),
        ("The problem is that nobody came. It comes on Wednesday.", "It comes on Wednesday."),
    ],
)
def test_it_is_the_only_thing_of_the_sentence_before(text: str, expected: str) -> None:
    found = found_in(text, "What has become of the mills?")[-1]
    assert found.text.endswith(f": {expected}")
    assert not any("van" in mention.name for mention in found.mentions)


def test_a_resolved_pronoun_is_a_mention_and_the_subject_of_facts() -> None:
    found = found_in("Ada Roe bought the mill. She moved to Paris.")[-1]
    assert "Ada Roe" in [mention.name for mention in found.mentions]
    assert [(each.subject, each.predicate, each.object) for each in found.triples] == [("Ada Roe", "moved to", "Paris")]

"""An answer without a model: the best evidence, cited, or the admission that there is none."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import hlgraph
from hlgraph.answer import extractive_answer
from hlgraph.answer.constraints import Statements, constraints_of
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.verify import verified
from hlgraph.records import Document, Evidence, Source
from hlgraph.testing.embedder import WordEmbedder

_NUMBER = itertools.count()


def _evidence(text: str, **why: float | str) -> Evidence:
    source = Source("s" * 32, "c", "doc:1", "Title", "sum")
    return Evidence(text, 1.0, "c" * 32, 0, len(text), source, f"{next(_NUMBER):032x}", why=why)


_BRIDGE = _evidence("The Aldane Bridge was designed by Mara Quill.")
_QUILL = _evidence("Mara Quill was born in Tessing.")
_WEATHER = _evidence("It rained all winter.")


def test_sentences_are_numbered_in_the_order_of_the_answer() -> None:
    answer = extractive_answer("Who designed the Aldane Bridge, and where was Quill born?", [_QUILL, _BRIDGE])
    assert answer.is_supported
    assert answer.text == f"{_QUILL.text} [1] {_BRIDGE.text} [2]"
    assert [(item.number, item.evidence) for item in answer.citations] == [(1, _QUILL), (2, _BRIDGE)]


def test_every_number_in_the_text_is_a_citation_and_there_are_at_most_so_many() -> None:
    evidence = [_evidence(f"The bridge number {name} is painted {name}.") for name in ("red", "blue", "green", "pink")]
    for count in (1, 3, 9):
        answer = extractive_answer(
            "Which colours do the bridges have, is each bridge painted?", evidence, sentences=count
        )
        numbers = [int(found) for found in re.findall(r"\[(\d+)\]", answer.text)]
        assert numbers == [item.number for item in answer.citations] == list(range(1, min(count, 4) + 1))


def test_evidence_that_shares_nothing_with_the_question_is_left_out() -> None:
    answer = extractive_answer("Where was Mara Quill born?", [_WEATHER, _QUILL])
    assert [item.evidence for item in answer.citations] == [_QUILL]
    assert answer.text == f"{_QUILL.text} [1]"


@pytest.mark.parametrize("evidence", [[], [_WEATHER], [_evidence("It is what it was."), _evidence("...")]])
def test_a_question_without_support_is_answered_so(evidence: list[Evidence]) -> None:
    answer = extractive_answer("Who designed the Aldane Bridge?", evidence)
    assert (answer.is_supported, answer.text, answer.citations) == (False, NOT_FOUND, ())
    assert answer.question == "Who designed the Aldane Bridge?"


@pytest.mark.parametrize("why", [{"cosine": 0.55}, {"vector": 0.9}, {"statement": "text", "rerank": 0.9}, {}])
def test_closeness_in_meaning_alone_supports_nothing(why: dict[str, float | str]) -> None:
    answer = extractive_answer("Did it rain?", [_evidence("Heavy precipitation fell in January.", **why)])
    assert not answer.is_supported
    if answer.citations:
        assert answer.text == "Heavy precipitation fell in January. [1] No statement says *rain*."


def test_what_decides_a_question_of_yes_or_no_is_no_want_of_evidence() -> None:
    answer = extractive_answer("Do dogs pay?", [_evidence("Dogs travel free on a lead.", cosine=0.3)])
    assert answer.is_supported
    assert answer.text.startswith("No: ")


# A question, the one piece of evidence, and the constraint that it does not meet; None where it answers.
NEAR_MISSES = [
    ("Who designed the Aldane Bridge?", "The Aldane Bridge was designed by Mara Quill.", None),
    ("Who designed the Tessing Bridge?", "The Aldane Bridge was designed by Mara Quill.", "Tessing"),
    ("Who designed the Aldane Bridge in 1932?", "Mara Quill designed the Aldane Bridge in 1931.", "1932"),
    ("Who painted the Aldane Bridge?", "The Aldane Bridge was designed by Mara Quill.", "painted"),
    ("Who wrote Pride of Lions?", "Pride of Lions is a novel by Morgan Llywelyn.", None),
    ("Who directed Ip Man 4?", "Ip Man 2 was directed by Wilson Yip, 4 years later.", "Man 4"),
    ("What is the count of Part 150?", "Part: Part 50; Count: 150", "Part 150"),
    ("What is the count of Part 150?", "Part: Part 150; Count: 450", None),
    (
        "Who was crowned Emperor of Austria?",
        "Otto, Crown Prince of Austria, an emperor of art, was crowned.",
        "Emperor of Austria",
    ),
    ("When was Mara Quill born?", "Mara Quill (3 May 1881 – 4 June 1950) was an engineer.", None),
    ("When was Mara Quill born?", "Mara Quill designed the bridge in 1931.", "born"),
    ("What is the occupation of Mara Quill?", "Mara Quill was an engineer.", None),
    ("How high is the Aldane Bridge?", "The Aldane Bridge is 12 metres high.", None),
    ("How long is the Aldane Bridge?", "For its first 90 m the Aldane Bridge is of stone.", ""),
    ("How long is the Aldane Bridge?", "Name: Aldane Bridge; Length: 90 m", None),
    ("How long was the Aldane Bridge closed?", "The Aldane Bridge was closed for 3 days.", None),
    ("How high is the Aldane Bridge?", "The high Aldane Bridge opened in 1931.", ""),
    ("Who acquired Sarn?", "Brask denied that it acquired Sarn.", ""),
    ("Did Brask acquire Sarn?", "Brask denied that it acquired Sarn.", ""),
    ("When did the bridge fall?", "The bridge fell in 1881.", None),
    ("What time does the hall open?", "The hall opens at 9 am.", None),
    ("What did Brask deny?", "Brask denied that it acquired Sarn.", None),
    ("What colour is the pump?", "The pump is blue.", None),
    ("Who built the lighthouse?", "The lighthouse was built in 1821 by two brothers.", None),
    ("Which pressure must never be exceeded?", "The pressure must never exceed 6 bar.", None),
    ("When is the rent due?", "The rent is due on the third working day.", None),
    ("How high was the loss?", "The loss was 2.4 million euro.", None),
    ("How high was the loss?", "The loss was noted in 2020.", ""),
    ("What is the customer number of Oda Vinter?", "Customer: Oda Vinter; Since: 2021", None),
    ("What is the customer number of Oda Vinter?", "Customer: Oda Vinter; Paid: yes", ""),
    ("Where is Gate A?", "Gate A: north entrance", None),
    ("What is Ada Falk's occupation?", "Ada Falk (born 5 September 1952) is a British politician.", None),
    ("What is Ada Falk's occupation?", "Ada Falk, politician and poet (died 1907)", None),
    ("What is Ada Falk's occupation?", "She [Ada Falk] worked as a miller.", None),
    ("What is Ada Falk's occupation?", "Dame Ada Falk, FRS (born 1950), is a physician.", None),
    ("What is Ada Falk's profession?", "Name: Ada Falk; Profession: miller", None),
    ("What is Ada Falk's occupation?", "Ada Falk is a member of the Liberal Party.", ""),
    ("What is Ada Falk's occupation?", "Red Sky is a film directed by Ada Falk.", ""),
    ("What is Ada Falk's occupation?", "Ada Falk led the mill in 1990.", "occupation"),
    ("What is Ada Falk's occupation?", "The film by Ada Falk was a success.", ""),
    ("In what city was Ada Falk born?", "Ada Falk (December 14, 1942 – March 6, 2010) was an American miller.", ""),
    (
        "In what city was Ada Falk born?",
        "Ada Falk (Bonn, December 14, 1942 – March 6, 2010) was an American miller.",
        None,
    ),
    ("What is Ada Falk's phone number?", "Her [Ada Falk’s] phone number is 555-1234.", None),
    ("Where is the serial number?", "The serial number is printed under the case.", None),
    ("Where can I find the fire plan?", "The fire plan is taped to the door of the hall.", None),
    ("Where is the pump?", "The pump is serviced in the spring.", ""),
    ("Where can I find the pump?", "The serial number is printed on the back of the pump.", ""),
    ("Where is the number of the pump?", "The number is printed on the back of the pump.", None),
    ("Where is the driver?", "The manual was given to the driver.", ""),
    ("What is the occupation of Ada Falk?", "Ben Moro is a cousin of Ada Falk.", ""),
    ("What is the job of Ada Falk?", "Ada Falk was a miller.", None),
    ("What is Ada Falk's occupation?", "Ada Falk, FRS was a physician.", None),
    ("What is Ada Falk's occupation?", f"Ada Falk visited{', AB' * 60}; she rested.", "occupation"),
    ("Who was killed by Ben Moro?", "Ada Falk killed Ben Moro.", ""),
    ("Who was killed by Ada Falk?", "Ada Falk killed Ben Moro.", None),
    ("How long is the notice period of the lease?", "The lease may be ended with three months' notice.", None),
    ("How long is the cancellation period?", "Cancellation is free within 14 calendar days.", None),
    ("How long is the opening period?", "The opening is in the period of the war.", ""),
    ("When does the ferry leave?", "The ferry departs at 5:50.", None),
    ("When is the installation of the pump?", "The pump will be installed on 3 May.", None),
    ("Which tickets are refundable?", "Unused tickets are refunded.", None),
    ("Who is the general manager?", "The manager of the generation is Ada Falk.", "general"),
    ("How high was the profit for 2023?", "Accounts 2023: In 2022 the profit was 5 million.", ""),
    ("How high was the profit for 2023?", "Accounts 2023: The profit was 5 million euros.", None),
    ("How much did Brask ask for a key?", "Sarn asked 50 euros for a key, and Brask 70 euros for a lock.", ""),
    ("How much did Brask ask for a lock?", "Sarn asked 50 euros for a key, and Brask 70 euros for a lock.", None),
    ("How much did Sarn ask for a key?", "Sarn asked 50 euros for a key, and Brask 70 euros for a lock.", None),
    ("How old is the boiler?", "The boiler dates from 1991.", None),
    ("How old is the boiler?", "The boiler failed in 1991.", ""),
    ("How is the tool classified?", "The tool is not subject to controls, and so is classified as B.", None),
    ("Which items are not covered?", "Theft and fire are covered.", ""),
    ("Which bus stops at the museum?", "The museum: Bus 14 stops in front of it.", None),
    ("When was the Solis 1 introduced?", "It [Solis 2] was introduced in 2022 as the successor of the Solis 1.", ""),
    ("When was the Solis 2 introduced?", "It [Solis 2] was introduced in 2022 as the successor of the Solis 1.", None),
    ("How is the tool classified?", "The tool is not classified, and so is subject to controls.", ""),
    ("Which group lets its members read?", "Members of the group Audit may read.", None),
    ("How many messages may come in 30 seconds?", "10000 messages may come in 30s.", None),
    ("How many messages may come in 3 seconds?", "10000 messages may come in 30s.", "3"),
    ("Does Kim work on Tuesday?", "Day: Tue; Person: Kim; Work: no", None),
    ("Which option was removed?", "Removed: The option --fast.", None),
    ("Quel est le tarif des groupes ?", "Le tarif réduit est de 3,50 €.", "groupes"),
    ("¿Quién pintó el puente?", "El puente se inauguró en 2019.", "pintó"),
    ("Ab welchem Alter kann man eintreten?", "Man kann ab einem Alter von 10 Jahren eintreten.", None),
    ("Combien de poires faut-il ?", "Il faut 4 poires et 2 œufs.", None),
    ("À quelle température est la salle ?", "La salle est à 18 °C.", None),
    ("À quelle température est la salle ?", "La salle est grande.", "température"),
    ("灯台の色は何ですか？", "灯台は1821年に建てられた。", "色"),
    ("灯台の設計者は誰ですか？", "灯台の設計者は田中一郎である。", None),
    ("Does the editor support emacs?", "The editor supports vim.", "emacs"),
    ("Wer entwarf die Aldane-Brücke?", "Mara Quill entwarf die Aldane-Brücke.", None),
    ("Does the client support HTTP/2?", "The HTTP client httpx supports both HTTP/1.1 and HTTP/2.", None),
    ("Does the client support HTTP/2?", "The HTTP client httpx supports HTTP/1.1.", "http/2"),
    ("Does the pump run on h2o?", "The pump runs on h2 and water.", "h2o"),
    ("What was the tool previously named?", 'The tool was previously named "lookdog", see the guide.', None),
    ("What was the tool previously named?", "The tool was previously named after a dog.", ""),
    ("Which Python versions does the tool require?", "The tool requires Python 3.10 - 3.15.", None),
    ("Which Python versions does the tool require?", "Section 3.1: The tool requires Python.", "versions"),
    ("Who wrote the editor?", "The features of the editor are: Easy to write: Completion everywhere.", ""),
    ("Who wrote the editor?", "The editor was written by: Ada Falk", None),
    ("Who wrote the editor?", "Author, who wrote the editor: Falk", None),
    ("What is the tool used for?", "The tool is used by teams at Sarn.", ""),
    ("Who created Netz?", "Netz is a Python package for the creation of graphs.", ""),
    ("Who created Netz?", "Netz is a creation of Ada Falk.", None),
    ("Who renovated the pool?", "The pool was built by Else Marn and renovated in 2016.", ""),
    ("Who built the pool?", "The pool was built by Else Marn and renovated in 2016.", None),
    ("Who renovated the pool?", "The pool was built in 1974 and renovated by Else Marn.", None),
    ("Who renovated the pool?", "The pool was built and renovated by Else Marn.", None),
    ("Who created Netz?", "Better, copy Netz on GitHub and create a request.", ""),
    ("Who created Netz?", "Netz was created by Ada Falk.", None),
    ("What is the latest version of Netz?", "Get Netz from https://sarn.org/netz-${version}.zip.", ""),
    ("What is the latest version of Netz?", "The latest version of Netz is 3.1.", None),
    ("What is the tool used for?", "The tool is used for tests.", None),
    ("What is the tool used for?", "The tool is used to find faults.", None),
    ("When is the rent due?", "The rent is due on the fifth day of each month.", None),
    ("When is the rent due?", "The rent is due to the landlord.", ""),
    ("How long does the tart bake?", "Baking the tart takes 45 minutes.", None),
    ("How long was the tart baked?", "Baking the tart takes 45 minutes.", None),
    ("At what temperature is the tart baked?", "The tart is baked for 45 minutes at 180 °C.", None),
    ("At what temperature is the tart baked?", "The tart is baked for 45 minutes.", "temperature"),
    ("How many pears do I need?", "Ingredients: 250 g flour, 4 pears, 2 eggs.", None),
    ("How many plums does the tart need?", "Ingredients of the tart: 250 g flour, 4 pears, 2 eggs.", "plums"),
    ("Who bought Sarn Mills?", "Sarn Mills: His daughter Ada Falk took over and built a kiln.", "bought"),
    ("Who bought Sarn Mills?", "In 1990 Ada Falk took over Sarn Mills.", None),
    ("How many days of leave are there after four years?", "Leave of three months is granted every four years.", ""),
    ("How many days of leave are there after four years?", "After four years there are 27 days of leave.", None),
    ("How many days of leave are there after four years?", "Years of service: four; Days of leave: 27", None),
    ("How much does the AQ-310 cost?", "Pump: AQ-310; Value: 5.2 kg", ""),
    ("How much does the AQ-310 cost?", "Pump: AQ-310; Price: 89.00", None),
    ("How much is the AQ-310?", "The AQ-310 weighs 5.2 kg.", ""),
    ("How much is the AQ-310?", "The AQ-310 is sold for 89 euros.", None),
    ("How much did Norda pay for the yard?", "Norda bought the yard for 2.4 million crowns.", None),
    ("How much water does the pump move?", "The pump moves 11,000 litres of water an hour.", None),
    ("How long is the tram line?", "The tram line has 14 stops; its trams are to run every eight minutes.", ""),
    ("How long is the tram line?", "The tram line runs for 9 km.", None),
    ("How long is the tram line?", "Tram line: 9 km, 14 stops.", None),
    ("How long is the warranty for commercial use?", "Warranty: three years; two years for commercial use.", None),
    ("Which filter is recommended for ponds?", "For garden ponds the filter kit AF-2 is recommended.", None),
    ("Which filter is recommended for ponds?", "The filter kit is recommended for ponds.", ""),
    ("How many tablets may I take within 24 hours?", "Do not take more than two tablets within 24 hours.", None),
    ("How many children had Edith Marrow?", "Edith Marrow had no children.", None),
    ("How many children had Edith Marrow?", "Edith Marrow had no house.", "children"),
    ("Who is the coach of Rovers?", "Rovers beat Athletic: Athletic's coach Pete Larkin complained.", ""),
    ("Who is the coach of Rovers?", "Rovers beat Athletic: Rovers' coach Hanne Dahl was glad.", None),
    ("Who writes the report?", "Dana: great. Who writes the report?", ""),
    ("Who painted the roofs?", "Roofs painted white were cooler.", ""),
    ("Who painted the roofs?", "The roofs, painted by Ada Falk, were cooler.", None),
    ("Who translated the Mosses?", "The Mosses appeared in 1952 and was translated into five languages.", ""),
    ("Who voted against the tram?", "The council voted 31 to 18 for the tram.", ""),
    ("Who voted against the tram?", "Only Ada Falk voted against the tram.", None),
    ("Who issued invoice 17?", "Ada Falk cancelled invoice 17 and issued invoice 18.", ""),
    ("Who issued invoice 18?", "Ada Falk cancelled invoice 17 and issued invoice 18.", None),
    ("How many ports does the R7 have?", "Connect a computer to the port LAN 1 of the R7.", ""),
    ("How many ports does the R7 have?", "The R7 has 4 ports.", None),
    ("When did the bridge open?", "The house of the bridge is open on market days.", ""),
    ("When did the bridge open?", "The bridge opened in 1868.", None),
    ("When did the bridge open?", "The bridge was opened on Saturday.", None),
    ("When does the bridge open?", "The bridge is open from 8 am.", None),
    ("When did the council open it?", "In 1868 the council decided to open it.", None),
    ("What did Ada Falk die of?", "Ada Falk (1868-1941) was a botanist.", ""),
    ("What did Ada Falk die of?", "Ada Falk died of pneumonia.", None),
    ("How long did the walk take?", "The walk was attended by 34 members.", ""),
    ("How long did the walk take?", "The walk took four hours.", None),
    ("How long did Ada Falk lead it?", "Ada Falk led it from 1990 to 1996.", None),
    ("How many people work at Sarn Mills?", "Sarn Mills opens at 6.30 am.", ""),
    ("How many people work at Sarn Mills?", "Sarn Mills has 112 employees.", None),
    ("Who pays 60 percent of the cost?", "It will cost 212 million euros, of which the state pays 60 percent.", None),
]


@pytest.mark.parametrize(("question", "text", "unmet"), NEAR_MISSES)
def test_every_constraint_of_a_question_must_be_met(question: str, text: str, unmet: str | None) -> None:
    answer = extractive_answer(question, [_evidence(text)])
    assert answer.is_supported is (unmet is None)
    assert (unmet or "") in answer.uncovered or not unmet
    if unmet:
        assert f"*{unmet}*" in answer.text


FORMS = [
    (
        "Was the Aldane Bridge designed by Mara Quill?",
        ["The Aldane Bridge was designed by Mara Quill."],
        "Yes: The Aldane",
    ),
    (
        "Wasn't the Aldane Bridge designed by Mara Quill?",
        ["The Aldane Bridge was designed by Mara Quill."],
        "Yes: The Aldane",
    ),
    ("Did the Aldane Bridge open in 1932?", ["The Aldane Bridge opened in 1931."], "No: The Aldane"),
    ("Was Ben Moro a member in 1980?", ["Ben Moro was a member from 1977 to 1994."], "Yes: Ben"),
    ("Was Ben Moro a member in 2010?", ["Ben Moro was a member from 1977 to 1994."], "No: Ben"),
    ("Is Ben the younger brother of Tim?", ["Ben is the elder brother of Tim."], "No: Ben"),
    ("Is New Tessing part of Vell?", ["New Tessing is not part of Vell."], "No: New"),
    ("Are goods refunded without the box?", ["Goods are not refunded without the box."], "No: Goods"),
    ("Are goods refunded without the box?", ["Goods are refunded without the box."], "Yes: Goods"),
    ("Is entry possible without a ticket?", ["Entry without a ticket is not possible."], "No: Entry"),
    (
        "Is Mara Quill a painter?",
        ["Mara Quill was born in Tessing."],
        "Mara Quill was born in Tessing. [1] No statement says *painter*.",
    ),
    ("How many spans has the Aldane Bridge?", ["The Aldane Bridge has 12 arched spans."], "12: The Aldane"),
    (
        "Which opened first, Gannow Light or Halfmoon Bridge?",
        ["The Halfmoon Bridge opened in 1868.", "Gannow Light opened in 1821."],
        "Gannow Light, 1821; Halfmoon Bridge, 1868 [1] [2]",
    ),
    (
        "Which is longer, Gannow Bridge or Halfmoon Bridge?",
        ["Halfmoon Bridge is 120 m long.", "Gannow Bridge, of 1821, has a length of 1,200 m."],
        "Gannow Bridge, 1200; Halfmoon Bridge, 120 [1] [2]",
    ),
    (
        "Which is longer, Gannow Bridge or Halfmoon Bridge?",
        ["Halfmoon Bridge is 120 m long."],
        "No statement names *Gannow*.",
    ),
]


@pytest.mark.parametrize(("question", "texts", "start"), FORMS)
def test_an_answer_has_the_form_that_its_question_asks_for(question: str, texts: list[str], start: str) -> None:
    answer = verified(extractive_answer(question, [_evidence(text) for text in texts]))
    assert answer.text.startswith(start)
    assert answer.is_supported is ("No statement" not in answer.text)


# A question, and pieces of evidence that have all its words only together.
SCATTERED = [
    (
        "Did Rufus Amber found Gannow Light?",
        ["Amber Yard: The other was never found.", "Gannow Light is by Rufus Amber."],
    ),
    (
        "Is Gannow Bridge longer than Halfmoon Bridge?",
        ["Gannow Bridge has a longer series.", "Halfmoon Bridge is old."],
    ),
    (
        "Which came first, Gannow Light or Halfmoon Bridge?",
        ["Gannow Light opened in 1821.", "Two rafts struck the Halfmoon Bridge in 1866."],
    ),
    (
        "Who taught Ada Falk mathematics?",
        ["The Tessing School taught mathematics from 1852 on.", "Ada Falk died in Tessing."],
    ),
]


@pytest.mark.parametrize(("question", "texts"), SCATTERED)
def test_what_no_source_says_as_a_whole_is_not_supported(question: str, texts: list[str]) -> None:
    pieces = [_evidence(text) for text in texts]
    pieces[1] = replace(pieces[1], source=replace(pieces[1].source, id="t" * 32, title="Tessing"))
    answer = extractive_answer(question, pieces)
    assert not answer.is_supported
    assert not answer.text.startswith(("Yes: ", "No: "))


# A question, a statement, and whether that says yes or no; neither is not supported.
VERDICTS = [
    ("Is toll still taken at the Tarn Bridge?", "A toll house stands at the Tarn Bridge.", ""),
    ("Is toll still taken at the Tarn Bridge?", "Toll was taken at the Tarn Bridge until 1912.", "No"),
    ("Is toll taken at the Tarn Bridge?", "Toll is taken at the Tarn Bridge.", "Yes"),
    ("Is the museum open on Mondays?", "The museum is open daily except Mondays.", "No"),
    ("Is the museum open on Mondays?", "The museum is open every day but Mondays.", ""),
    ("Is war covered?", "The cover does not include: war", "No"),
    ("May I touch the belt?", "Never do this while the pump runs: Touch the belt.", "Within limits"),
    ("Is Ada Falk the mayor?", "Ada Falk was the mayor until 1990.", ""),
    ("Has the bridge been closed?", "The bridge will be closed in June.", ""),
    ("Was the bridge closed?", "The bridge was almost closed in 1990.", ""),
    ("Did Ada Falk win the prize?", "Ada Falk failed to win the prize.", ""),
    ("Did Ada Falk win the prize?", "Ben Moro beat Ada Falk to win the prize.", ""),
    ("Did the board approve the plan?", "It is unclear whether the board approved the plan.", ""),
    ("Did the board approve the plan?", "The board may approve the plan.", ""),
    ("May the board approve the plan?", "The board may approve the plan.", "Yes"),
    ("Is theft covered?", "Theft is covered unless the door was open.", "Within limits"),
    ("Is a passport required?", "No passport is required.", "No"),
    ("Is Brask a part of Sarn?", "Neither Brask nor Tarn is a part of Sarn.", "No"),
    ("Was Ada Falk born before 1900?", "Ada Falk was born in 1881.", "Yes"),
    ("Was Ada Falk born after 1900?", "Ada Falk was born in 1881.", "No"),
    ("Is theft covered?", "Q: Is theft covered? A: No.", "No"),
    ("Is theft covered?", "Is theft covered? Yes, within a day.", "Yes"),
    ("Is hail covered?", "Is hail covered? Only on roofs of stone.", ""),
    ("Does the fee cover parking?", "The fee does not cover meals.", ""),
    ("Is the pump approved for petrol?", "The pump is not approved for water.", ""),
    ("Is the pump approved for water?", "The pump is not approved for water.", "No"),
    ("In 2017, was soccer the most played sport?", "In 2017 soccer was the third-most played sport.", "No"),
    ("Is the office open on Fridays?", "The office is open from Monday to Thursday.", "No"),
    ("Is the office open on Wednesdays?", "The office is open from Monday to Thursday.", "Yes"),
    ("Is the office open on Sundays?", "The office is open Friday to Monday.", "Yes"),
    ("Is the sauna open in July?", "The sauna is closed from June to August.", "No"),
    ("Is the sauna open in May?", "The sauna is closed from June to August.", ""),
    ("Are tips paid?", "Fees are paid, tips are not.", "No"),
    ("Are fees paid?", "Fees are paid, tips are not.", "Yes"),
    ("Are fines paid?", "Fees are paid, tips are not.", ""),
    ("Can the lamp be replaced?", "The lamp can be replaced; the glass may be replaced by an expert.", "Yes"),
    ("Can the glass be replaced?", "The lamp can be replaced; the glass was unclear until 1990.", ""),
    ("Is the museum open in December?", "The museum is open from April to October.", "No"),
    ("Is the shop open on Fridays?", "The office is open from Monday to Thursday.", ""),
    ("Can the P40 be used for dirty water?", "The P80 is used for dirty water, the P40 only for clear water.", ""),
    ("Can the P80 be used for dirty water?", "The P80 is used for dirty water, the P40 only for clear water.", "Yes"),
    ("Did Ada Falk escape?", "Ada Falk escaped in 1851.", "Yes"),
    ("Did Ada Falk drown?", "Ada Falk escaped to drown.", ""),
    ("Is subletting allowed?", "Subletting is prohibited.", "No"),
    ("May the tenant sublet the hall?", "The tenant may not sublet the hall.", "No"),
    ("Is swimming allowed?", "Swimming is prohibited.", "No"),
    ("Was Ada Falk arrested?", "Ada Falk’s driver was arrested.", ""),
    ("Was Ada Falk arrested?", "Her [Ada Falk’s] driver was arrested.", ""),
    ("Was the driver of Ada Falk arrested?", "Her [Ada Falk’s] driver was arrested.", "Yes"),
    ("Was the roof broken?", "The tenant claimed that the roof was broken.", ""),
    ("Will the mill be sold?", "The owner has not confirmed that the mill will be sold.", ""),
    ("Was the yard closed?", "The yard was supposed to be closed.", ""),
    ("Does the hall have a lift?", "The hall lacks a lift.", "No"),
    ("Did Brask Ltd sue Sarn Ltd?", "Sarn Ltd sued Brask Ltd in 1990.", ""),
    ("Did Brask Ltd sue Sarn Ltd?", "Sarn Ltd was sued by Brask Ltd in 1990.", "Yes"),
    ("Was Brask Ltd sued by Sarn Ltd?", "Sarn Ltd sued Brask Ltd in 1990.", "Yes"),
    ("Was Brask Ltd sued by Sarn Ltd?", "Brask Ltd sued Sarn Ltd in 1990.", ""),
    ("Was Ada Falk born in Sarn?", "Ada Falk was born in Tolk and died in Sarn.", ""),
    ("Was Ada Falk born in Sarn?", "Ada Falk was born in Tolk, not in Sarn.", "No"),
    ("Did Ada Falk work in Sarn?", "Ada Falk worked in Tolk and Sarn.", "Yes"),
    ("Did Brask Ltd buy Sarn Ltd?", "Brask Ltd bought Sarn Ltd in 1990 and will open a yard.", "Yes"),
    ("Will Brask Ltd buy Sarn Ltd?", "Brask Ltd bought a yard in 1990 and may buy Sarn Ltd.", ""),
    ("Can opened boxes be sold?", "Title: Opened boxes cannot be sold.", "No"),
    ("Is the yard closed?", "The yard is for sale, but the mill is closed.", ""),
    ("Is the mill closed?", "The yard is for sale, but the mill is closed.", "Yes"),
    ("Is the roof safe?", "Critics doubt that the roof is safe.", ""),
    ("Was anybody hurt in Cork?", "Nobody was hurt in Cork.", "No"),
    ("Did Ada Falk meet Ben Moro?", "Ben Moro met Ada Falk in 1990.", "Yes"),
    ("May the crane be used by two persons?", "The crane: Do not stand on the top two steps.", ""),
    ("Was the bridge opened in 1934?", "The bridge was not opened until 1937.", "No"),
    ("Were the minutes approved?", "The minutes were approved without changes.", "Yes"),
    ("Is smoking forbidden?", "Smoking may be harmful in May.", ""),
    ("Was Ben Moro a member in 1980?", "From 1977 to 1994 Ben Moro was a member.", "Yes"),
    ("Did the council accept the plan?", "The council rejected the plan.", "No"),
    ("Did the council accept the plan?", "The council rejected the budget.", ""),
    ("Did the council accept the plan to mend the roof?", "The plan was rejected by the council.", "No"),
    ("May the hall be used?", "Use of the hall is forbidden.", "No"),
    ("May the hall be used?", "Use of the yard is forbidden.", ""),
    ("Is the sauna open?", "The pool is closed.", ""),
    ("Is water allowed in the hall?", "Food is not allowed in the hall.", ""),
    ("Is food allowed in the hall?", "Food is not allowed in the hall.", "No"),
    ("Are cats allowed?", "Pets are not allowed, except cats.", "Yes"),
    ("Are cats allowed?", "Pets are not allowed, except one cat.", "Yes"),
    ("Are pets allowed?", "Pets are not allowed, except cats.", "No"),
    ("Are dogs allowed?", "Pets are not allowed, except cats.", ""),
    ("Is electricity included?", "Heating and water are included; electricity is not.", "No"),
    ("Is water included?", "Heating and water are included; electricity is not.", "Yes"),
    ("Was the budget approved?", "The budget for 2027 was approved with one vote against.", "Yes"),
    ("Does the kit still support Python 3.8?", "The kit of 2015 supports Python 3.9.", ""),
    ("Does the kit still support Python 3.8?", "The kit was released on 06/22/2015 and has support for Python.", ""),
    ("Does the rope carry 30 kg?", "The rope carries 25 kg.", "No"),
    ("Does the tool need Rust?", "Title, Use: Otherwise, the tool needs Rust.", ""),
    ("Does Netz depend on Klick?", "Netz used to depend on Klick.", ""),
    ("Is Netz used to draw graphs?", "Netz is used to draw graphs.", "Yes"),
    ("Does Netz draw graphs?", "Netz is used to draw graphs.", "Yes"),
    ("May dogs enter?", "Dogs may not enter without a lead.", ""),
    ("Did Lena order the slates?", "Lena, please order the slates for 3,900 euro.", ""),
    ("Is Otto an admin?", "name: Otto; admin: false; active: true", "No"),
    ("Is Otto an admin?", "name: Otto; admin: true", "Yes"),
    ("Does it have an offline mode?", "features offline_mode: false", "No"),
    ("Does it have an offline mode?", "features offline_mode: true", "Yes"),
    ("Can children take Velorin?", "Keep Velorin out of the reach of children.", ""),
    ("Is ethanol flammable?", "Ethanol is flammable, so no open flame may be near.", "Yes"),
    ("Is ethanol flammable?", "Ethanol may be flammable, so keep away from flames.", ""),
    ("Is the translation complete?", "The translation is incomplete.", "No"),
    ("Is the translation complete?", "The translation is complete.", "Yes"),
    ("Is the bread made with sugar?", "The bread is made without sugar.", "No"),
    ("Is the bread made with sugar?", "The bread is made with sugar.", "Yes"),
    ("Is the bread made without sugar?", "The bread is made without sugar.", "Yes"),
    ("Can I take photos with flash?", "Photographs may be taken without flash.", "No"),
    ("May I lend my card?", "The card is personal and may not be lent.", "No"),
    ("Did Brask sell the yard?", "Brask never sold the yard.", "No"),
    ("Does the Solis 1 have a timer?", "Does it have a timer? The Solis 2 has one, the Solis 1 does not.", "No"),
    ("Does the Solis 2 have a timer?", "Does it have a timer? The Solis 2 has one, the Solis 1 does not.", "Yes"),
    ("Does the Solis 3 have a timer?", "Does it have a timer? The Solis 2 has one, the Solis 1 does not.", ""),
    ("Does the R7 support Wi-Fi 6E?", "The R7 supports Wi-Fi 6 but not Wi-Fi 6E.", "No"),
    ("Does the R7 support Wi-Fi 6?", "The R7 supports Wi-Fi 6 but not Wi-Fi 6E.", "Yes"),
    ("Does the editor read TOML?", "The editor reads JSON, not TOML.", "No"),
    ("Does the rule apply to guests?", "The rule applies to all members except guests.", "No"),
    ("Does the rule apply to members?", "The rule applies to all members except guests.", ""),
    ("Is the bakery open?", "All shops are open except the bakery.", "No"),
    ("Are all shops open?", "All shops are open except the bakery.", ""),
    ("Did Ada vote against it?", "Nobody except Ada voted against it.", "Yes"),
    ("Will the tram reach the airport?", "The Greens demanded that the tram reach the airport.", ""),
    ("Is there a tram to the airport?", "Members called for a tram to the airport.", ""),
    (
        "Is the glaze safe if it is fired to 1,300 degrees?",
        "The glaze is safe if fired to at least 1,200 degrees.",
        "Yes",
    ),
    (
        "Is the glaze safe if it is fired to 2,300 degrees?",
        "The glaze is safe if fired to at least 2,200 degrees.",
        "Yes",
    ),
    (
        "Is the glaze safe if it is fired to 1,100 degrees?",
        "The glaze is safe if fired to at least 1,200 degrees.",
        "No",
    ),
    ("Does the wall end at Sarn?", "The wall rounds Sarn and goes on to Tolk.", ""),
    ("Does the wall end at Sarn?", "The wall ends at Sarn.", "Yes"),
]


# A bound in a question of yes or no, and the value that a statement has.
BOUNDS = [
    ("Was Ivo Brandt older than 70 when he died?", "Ivo Brandt died in 1903, aged 71.", "Yes"),
    ("Is Mara Quill over 60?", "Mara Quill is 64 years old.", "Yes"),
    ("Is Mara Quill over 60?", "Mara Quill has 64 cows.", ""),
    ("Does the pump weigh more than 50 kg?", "The pump weighs 62 kg and needs 40 litres of oil.", "Yes"),
    ("Does the pump weigh more than 62 kg?", "The pump weighs 62 kg.", "No"),
    ("Does the pump weigh at least 62 kg?", "The pump weighs 62 kg.", "Yes"),
    ("Does the pump weigh less than 70 kg?", "The pump weighs 62 kg.", "Yes"),
    ("Is the pump no heavier than 50 kg?", "The pump weighs 62 kg.", "No"),
    ("Does the pump weigh more than 50 kg?", "The pump weighs at least 55 kg.", "Yes"),
    ("Does the pump weigh more than 50 kg?", "The pump weighs at least 45 kg.", ""),
    ("Does the pump weigh more than 50 kg?", "The pump weighs less than 40 kg.", "No"),
    ("Does the pump weigh more than 50 kg?", "The pump does not weigh 62 kg.", ""),
    ("Is the tower higher than 30 metres?", "The tower is 38 m high.", "Yes"),
    ("Is the Tarn Bridge longer than 30 m?", "The Tarn Bridge is 38 m high.", ""),
    ("Is the warranty longer than two years?", "The warranty is three years.", "Yes"),
    ("Is the warranty longer than two years?", "The warranty lasts 24 months.", ""),
    ("Is the notice period longer than one month?", "The notice period is three months.", "Yes"),
    ("Does the ticket cost less than 10 euros?", "The ticket costs €12.", "No"),
    ("Does the Pro plan have more than 5 users?", "Plan: Pro; Price: $25; Users: 10", "Yes"),
    ("Is the timeout greater than 30?", "timeout: 45", "Yes"),
    ("Does Tessing have more than 5,000 inhabitants?", "Tessing has 5.1 million inhabitants.", "Yes"),
    ("Was the revenue in 2023 more than 5 million?", "The revenue was 6.2 million in 2023.", "Yes"),
    ("Was the revenue in 2022 more than 5 million?", "The revenue was 6.2 million in 2023.", ""),
    ("Is the fee above 3 percent?", "The fee is 2.5%.", "No"),
    ("Is the temperature below -10 degrees?", "The temperature is -15 degrees.", "Yes"),
    ("Is the max speed above 200 km/h?", "The max speed is 180 km/h.", "No"),
    ("Did the bridge open by 1870?", "The bridge opened in 1868.", "Yes"),
    ("Did the bridge open after 1868?", "The bridge opened in 1868.", "No"),
    ("Was the law passed before 1990?", "The law was passed on 3 May 1992 and changed in 1995.", ""),
    ("Has the shop been open since 1990?", "The shop has been open since 1985.", ""),
    ("Does the delivery take longer than 3 days?", "The delivery takes 3 to 4 days.", ""),
    ("Does the delivery take longer than 2 days?", "The delivery takes 3 to 4 days.", "Yes"),
    ("Is the delivery faster than 5 days?", "The delivery takes 3 days.", ""),
    ("Is the salary above 3,000 euros?", "The salary is between 2,500 and 2,900 euros.", "No"),
    ("Can I carry more than 20 kg?", "You can carry up to 23 kg.", "Yes"),
    ("Can I carry 20 kg?", "You can carry 23 kg.", ""),
    ("Does the battery last 10 hours?", "The battery lasts 12 hours.", ""),
    ("Can goods be returned within 10 days?", "Goods can be returned within 14 days.", "Yes"),
    ("Can goods be returned within 30 days?", "Goods can be returned within 14 days.", "No"),
    ("Can goods be returned after 14 days?", "Goods can be returned within 14 days.", ""),
    ("Can goods be returned within 14 days?", "Goods can be returned after 14 days.", ""),
    ("Is the score above 1,500?", "The score is 1,620.", "Yes"),
    ("Can goods be returned after 14 days?", "Goods can be returned after 14 days.", "Yes"),
    ("Are orders delivered within 5 days?", "Orders are delivered within 3 days.", "Yes"),
    ("Are dogs over 10 kg allowed?", "Dogs up to 10 kg are allowed.", "No"),
    ("Are dogs under 10 kg allowed?", "Dogs up to 10 kg are allowed.", "Yes"),
    ("Are children under 12 free?", "Children under 14 are free.", "Yes"),
    ("Must children under 10 be accompanied?", "Children under 12 must be accompanied.", "Yes"),
    ("Is membership free for people under 26?", "Membership is free for people under 30.", "Yes"),
    ("Is membership free for people over 30?", "Membership is free for people under 30.", "No"),
    ("Are children under 16 free?", "Children under 14 are free.", ""),
    ("Do children over 10 pay?", "Children over 12 pay.", ""),
    ("Were more than 100 people hurt in the Tarn Flood?", "Nine people were hurt in the Tarn Flood.", "No"),
    ("Was the mill not built before 1900?", "The mill was built in 1871.", ""),
    ("Is it open after 6 pm?", "It is open until 8 pm.", ""),
    ("Can I work from home four days a week?", "You can work from home up to three days a week.", "No"),
    ("Can I work from home two days a week?", "You can work from home up to three days a week.", "Yes"),
    ("Can it be used without the lid?", "Never do any of the following: use it without the lid.", "No"),
    ("May the fee be raised by 5 percent?", "The fee may be raised by at most 3 percent.", "No"),
    ("Does Tarn support Python 3.9?", "Tarn, 2.3: Removed support for Python 3.9.", "No"),
    ("Does Tarn support S3?", "Encrypted volumes are not supported by Tarn.", ""),
    ("Are dogs allowed in Birch House?", "In Birch House dogs are allowed.", "Yes"),
    ("Are dogs allowed in Birch House?", "In May dogs are allowed in Birch House.", "Yes"),
    ("Does the J2 cost more than 200 EUR?", "model: J2; power (W): 1100; price (EUR): 249", "Yes"),
    ("Is the museum open on Mondays?", "The museum: Day: Monday; Hours: closed", "No"),
    ("Do I need a network to use the tool?", "The tool works without a network.", "No"),
    ("Do I need a key to open the door?", "The door opens without a sound with a key.", ""),
    ("Is the pool indoors?", "The pool has seats outside.", ""),
    ("Do I need a ticket for the tram?", "Whoever rides on the tram without a ticket pays 60 euros.", ""),
    ("Does the stove come with a cartridge?", "A cartridge is not included with the stove.", "No"),
    ("Will the town get a new pool?", "The town council voted by six to two against a new pool.", ""),
    ("Will I be asleep during the operation?", "You stay awake during the operation.", "No"),
    ("Does the tool run on Windows?", "Windows is not supported by the tool.", "No"),
    ("Does the tool run on Windows?", "Windows is not tested with the tool.", ""),
    ("Are dogs allowed in the park?", "The number of dogs in the park is limited.", ""),
    ("Did Brask win?", "Sarn beat Brask.", ""),
    ("Does the fee include a guide?", "A map is not included in the fee.", ""),
    ("Can I get my money back for a day pass?", "Day passes are not refunded.", "No"),
    ("Is the fine over 100 euros?", "The fine is no more than 80 euros.", "No"),
    ("Is the fine over 50 euros?", "The fine is no more than 80 euros.", ""),
    ("Is the fine over 50 euros?", "The fine is no less than 60 euros.", "Yes"),
    ("Is the wall thicker than 30 cm?", "The wall is 20 cm thick.", "No"),
    ("Is the wall thicker than 30 cm?", "The wall is 20 m long.", ""),
    ("Are parcels over 31 kg accepted?", "Parcels over 30 kg are not accepted.", "No"),
    ("Are parcels over 29 kg accepted?", "Parcels over 30 kg are not accepted.", ""),
    ("Does the lift carry more than 400 kg?", "The lift carries at most 500 kg.", "Yes"),
    ("Does the battery last at least 10 hours?", "The battery lasts up to 12 hours.", ""),
    ("Has Ada Falk been the chair since 2012?", "Ada Falk became the chair in 2015.", ""),
    ("Has the bridge been repaired since 2012?", "The bridge was repaired in 2015.", "Yes"),
    ("Was Ada Falk older than 80 when she died?", "Ada Falk died at 77.", "No"),
]


@pytest.mark.parametrize(("question", "text", "said"), [*VERDICTS, *BOUNDS])
def test_yes_and_no_are_what_the_statement_says(question: str, text: str, said: str) -> None:
    answer = verified(extractive_answer(question, [_evidence(text)]))
    assert answer.text.partition(": ")[0] == said if said else not answer.text.startswith(("Yes: ", "No: "))
    assert answer.is_supported is bool(said)


def test_what_is_done_elsewhere_is_no_yes_for_the_place_of_the_heading() -> None:
    for text, start in (("Trainees work in the office.", "Trainees"), ("Trainees work from home.", "Yes: ")):
        piece = replace(_evidence(text), headings=("Working from home",))
        assert extractive_answer("Do trainees work from home?", [piece]).text.startswith(start)


def test_what_holds_at_another_place_is_no_yes_for_that_of_the_heading() -> None:
    texts = ("In Elm Court dogs are allowed.", "Until then, dogs remain forbidden in Birch House.")
    pieces = [replace(_evidence(text), headings=("Dogs in Birch House",)) for text in texts]
    assert extractive_answer("Are dogs allowed in Birch House?", pieces).text == f"No: {texts[1]} [1]"


@pytest.mark.parametrize(
    ("question", "heading", "said"),
    [
        ("Does Tarn 2.10 have an offline mode?", "Removed", False),
        ("Does Tarn 2.10 have an offline mode?", "Added", True),
        ("Was the offline mode of Tarn 2.10 removed?", "Removed", True),
        ("Does Tarn 2.10 have an offline mode?", "What is not included", False),
        ("Does Tarn 2.10 have a dark mode?", "Removed", None),
    ],
)
def test_what_stands_under_a_heading_of_what_is_gone_is_not_there(
    question: str, heading: str, said: bool | None
) -> None:
    piece = _evidence(f"Tarn, 2.10, {heading}: Offline mode")
    answer = extractive_answer(question, [replace(piece, headings=("2.10", heading))])
    assert answer.is_supported is (said is not None)
    assert answer.text.startswith("Yes: " if said else "No: ") is (said is not None)


# A question, and statements of one paragraph of which one decides, though another one is closer to the question.
DECIDING = [
    (
        "Was anybody hurt in the crash of the barge?",
        ["The barge of the crash was old.", "Nobody was hurt in the barge's crash."],
        "No: Nobody",
    ),
    (
        "Was anybody hurt in the crash of the barge?",
        ["The barge of the crash was old.", "Nobody was hurt."],
        "No: Nobody",
    ),
    (
        "Is the museum at Tarn Point closed on Mondays?",
        ["The museum at Tarn Point is old.", "It is closed on Mondays."],
        "Yes: It",
    ),
    (
        "Is the museum at Tarn Point closed on Mondays?",
        ["The museum at Tarn Point is old.", "A bar is closed on Mondays."],
        "",
    ),
    ("Is there a café?", ["Is there a café?: There is a bar.", "Is there a café?: No."], "No: "),
    ("Is there a café?", ["Is there a café?: There is a bar."], ""),
    ("Is the pool open?", ["The pool is large.", "The sauna is closed."], ""),
]


@pytest.mark.parametrize(("question", "texts", "start"), DECIDING)
def test_the_statement_that_decides_comes_first(question: str, texts: list[str], start: str) -> None:
    pieces: list[Evidence] = []
    for text in texts:
        at = pieces[-1].end + 1 if pieces else 0
        headings = ("Is there a café?",) if "café" in text else ()
        pieces.append(replace(_evidence(text), start=at, end=at + len(text), headings=headings))
    answer = verified(extractive_answer(question, pieces))
    assert answer.text.startswith(start)
    assert answer.is_supported is bool(start)
    assert start or not answer.text.startswith(("Yes: ", "No: "))


def test_the_statement_whose_range_has_the_number_answers() -> None:
    tiers = (
        "Orders up to 1,000 euros are approved by the team lead.",
        "Orders from 1,000 to 10,000 euros are approved by the head of department.",
        "Orders over 10,000 euros are approved by the board.",
        "Ada Falk was the chair from 2010 to 2019.",
        "Ben Moro has been the chair since 2019.",
    )
    asked = [f"Who approves an order of {amount} euros?" for amount in ("500", "5,000", "20,000")]
    answers = [verified(extractive_answer(question, [_evidence(text) for text in tiers])) for question in asked]
    assert [(answer.text, answer.is_supported) for answer in answers] == [(f"{text} [1]", True) for text in tiers[:3]]
    chair = verified(extractive_answer("Who was the chair in 2015?", [_evidence(text) for text in tiers]))
    assert (chair.text, chair.is_supported) == (f"{tiers[3]} [1]", True)


# A question, statements of one source, and whether the first of the answer answers it.
ASSERTIONS = [
    (
        "How many people died in Sarn in the Tarn Flood?",
        ["Nine people died at Tolk in the Tarn Flood.", "Sarn is low."],
        False,
    ),
    ("How many people died in Sarn in the Tarn Flood?", ["Nine people died at Sarn in the Tarn Flood."], True),
    ("When did Ada Falk become director?", ["Ada Falk (26 May 1866 – 3 May 1944) was director."], False),
    ("When was Ada Falk born?", ["Ada Falk (26 May 1866 – 3 May 1944) was director."], True),
    ("Who has led the choir since 2019?", ["Ben Moro led the choir and retired in 2019."], False),
    ("How many windows does the mill have?", ["The mill has one in eight of the wind."], False),
    ("Which systems does chrony run on?", ["Its systems run on Chrome."], False),
    ("How long is the flood wall?", ["The flood wall was left within twenty minutes."], False),
    ("How long is the flood wall?", ["The flood wall is 2.6 km long."], True),
    ("How long is the lunch break?", ["The lunch break is thirty minutes."], True),
    (
        "Who wrote the novel that Red Sky is based on?",
        ["Another film based on that novel, Red Sky, was by Ada Falk."],
        False,
    ),
    ("What is marl?", ["Install marl: it is easy."], False),
    ("What is marl?", ["Marl is an earth of lime and clay."], True),
    ("Who is Ada Falk?", ["Ada Falk (born 1942) is a pilot."], True),
    ("Who is Ada Falk?", ["Ben Moro met Ada Falk in Sarn."], False),
    ("Who is the mayor?", ["The mayor of it all is Ada Falk."], True),
    ("When was the yard closed?", ["The board plans to close the yard in 1990."], False),
    ("When will the yard be closed?", ["The board plans to close the yard in 1990."], True),
    ("When was the yard closed?", ["The yard was closed in 1990 and will be sold in 1995."], True),
    ("When was the bridge opened?", ["The bridge was not opened until 1937."], True),
    ("Who won the prize?", ["Ada Falk failed to win the prize."], False),
    ("Who failed to win the prize?", ["Ada Falk failed to win the prize."], True),
    ("Who led the choir until 1990?", ["Ada Falk led the choir from 1990."], False),
    ("Who opened the hall?", ["Ada Falk said that the hall was old.", "Nobody opened the hall."], False),
    ("Who printed Red Sky?", ["The book Red Sky was printed in Cork."], False),
    ("Who printed Red Sky?", ["The book Red Sky was printed by the tenant."], True),
    ("Who repairs the gate?", ["Tenants who live here repair the gate."], True),
    ("How many cups of the first tea does it hold?", ["It does hold 60 cups of the last tea."], False),
    (
        "Who led the choir until 1990?",
        ["Ada Falk led the choir from 1990.", "Ben Moro led the choir until 1990."],
        True,
    ),
    ("Who sued Sarn Ltd?", ["Sarn Ltd sued Ada Falk in 1990."], False),
    ("Who sued Sarn Ltd?", ["Sarn Ltd was sued by Ada Falk in 1990."], True),
    ("Where was Ada Falk born?", ["Her [Ada Falk’s] husband was born in Cork."], False),
    ("Who said that the crop was good?", ["The crop was poor, said Ben Moro."], False),
    ("When was Tarn founded?", ["Until 1974 it was a part of Tarn.", "It was founded in 1213."], False),
    ("When did Ben Moro die?", ["Ben Moro sailed to Java in 1702.", "He died there."], False),
    ("How much does the P60 weigh?", ["The P40 weighs 11 kg.", "The P60 delivers 60 litres."], False),
    (
        "How many spans has the bridge?",
        ["The bridge was sold for 91 pounds.", "The spans of the bridge are red."],
        False,
    ),
    ("Who is the mayor of Tarn?", ["The mayor, Ada Falk, has a dog.", "A road leads to Tarn."], False),
    ("Who is the mayor of Tarn?", ["The mayor of Tarn is Ada Falk."], True),
    ("Which pump is heavier, the red pump or the blue pump?", ["The red pump is new.", "The blue pump is old."], False),
    ("Who was ordered to pay?", ["The insurer was ordered to pay the costs."], True),
    ("Who locked the gate?", ["Ada locked the gate and left."], True),
    ("Who locked the gate?", ["She locked the gate and left."], False),
    ("When is the contract void?", ["The contract is void if the seal is broken."], True),
    ("When can I leave the club?", ["You can leave the club at any time."], True),
    ("Where must we assemble?", ["We must assemble at the north gate."], True),
    ("Where must we assemble?", ["We must assemble at once."], False),
    ("What does version 4 add?", ["Version 4 adds a map."], True),
    ("Why did the mill close?", ["The mill closed in May 1999."], False),
    ("Why did the mill close?", ["The mill closed because of a flood."], True),
    ("How old was Ada Falk?", ["Ada Falk was in office for 12 years."], False),
    ("How old was Ada Falk?", ["Ada Falk was 71 years old."], True),
    (
        "How many tons of coal did the mine yield?",
        ["The mine did yield 90 tons of gold.", "The mine also had coal."],
        False,
    ),
    ("How many tons of gold did the mine yield?", ["The mine did yield 90 tons of gold."], True),
    ("When did Brask Ltd sue Sarn Ltd?", ["Sarn Ltd sued Brask Ltd in 1990."], False),
    (
        "When did Ada mac Falk beat and kill Ben mac Falk?",
        ["Ben mac Falk beat and killed Ada mac Falk in 1490."],
        False,
    ),
    ("When did Ada mac Falk beat and kill Ben mac Falk?", ["Ada mac Falk beat and killed Ben mac Falk in 1490."], True),
    ("How many kilograms does the ladder carry?", ["The ladder carries 150 kg."], True),
    (
        "Who voted against the grant for the Tarn Band?",
        ["Ada Falk proposed a grant for the Tarn Band.", "In Tarn, for the Band, three voted."],
        False,
    ),
    (
        "What is the dose of Norvil for children under 12 years?",
        ["The dose of Norvil is 40 mg.", "Norvil is not for children under 12 years."],
        False,
    ),
    ("When did Ben Moro marry?", ["Ben Moro met Ada Falk in 1990.", "Ben Moro wanted to marry."], False),
    ("Which river does the Tarn join?", ["The river joins the Tarn."], False),
    ("Which river does the Tarn join?", ["The Tarn joins the river Sarn."], True),
    ("How often must the filter be cleaned?", ["The filter must be cleaned once a week."], True),
    ("How often must the filter be cleaned?", ["The 2 sides of the filter must be cleaned."], False),
    ("How many grams of silver did the mine yield?", ["The mine did yield 90 grams of gold."], False),
    ("Who is the daughter of Ada Falk?", ["Ben Moro is the son of Ada Falk."], False),
    ("What is the nationality of Ada Falk?", ["Ada Falk is a German painter."], True),
    ("Which French town has a mill?", ["The German town Tolk has a mill."], False),
    ("Who may repair the pump?", ["The pump may be repaired by trained experts."], True),
    ("Who may repair the pump?", ["The pump may be repaired by hand."], False),
    ("Where does Ada Falk work?", ["The place of work of Ada Falk is Cork."], True),
    ("What does version 8 need?", ["Version 8 requires a map."], True),
    ("When are taxis allowed?", ["Taxis may be used after 22:00."], True),
    ("Which company owns the mill?", ["The mill is owned by Brask Ltd."], True),
    ("How many beds has the old ward?", ["The new ward has 48 beds."], False),
    ("How many beds has the old ward?", ["The old ward has 48 beds."], True),
    ("Who seconded the motion of Ben Moro?", ["Ada Falk, not Ben Moro, seconded the motion of Carla Voss."], False),
    ("Who seconded the motion of Ben Moro?", ["Ada Falk seconded the motion of Ben Moro."], True),
    ("Who voted for the plan?", ["Ada Falk voted against the plan."], False),
    ("Who voted for the plan?", ["Ada Falk voted for the plan."], True),
    ("Who sings Out Here on My Own?", ["Ada Falk, on her own, sings here."], False),
    ("Who sings Out Here on My Own?", ["Ada Falk sings Out Here on My Own."], True),
    ("Which fee does subletting cost?", ["To sublet costs a fee of 90 pounds."], True),
    ("Who is the president of Brask Ltd?", ["Ada Falk is the chair of Brask Ltd."], False),
    ("How soon must a lost radio be reported?", ["A lost radio must be reported within 24 hours."], True),
    ("How soon must a lost radio be reported?", ["A lost radio must be reported."], False),
    ("Who has to insure the crane?", ["The Hirer shall insure the crane."], True),
    ("Who insured the crane?", ["The Hirer shall insure the crane."], False),
    ("What must be insured by the Hirer?", ["The Hirer shall insure the crane."], True),
    ("What is the name of the skipper?", ["The skipper is Ada Falk."], True),
    ("What is the name of the skipper?", ["The skipper was questioned on Monday."], False),
    ("Which version added a map?", ["3.1.0: Added a map."], True),
    ("Which version added a map?", ["3.5 people added a map."], False),
    ("Which version removed the map?", ["3.1.0: The map will be removed in 4.0."], False),
    ("When was Tarn 3.1.0 released?", ["Tarn 3.1.0 (2024-02-19): Added a map."], True),
    ("When was Tarn 3.1.0 released?", ["Tarn 3.1.0: Added a map of 2024."], False),
    ("What is the phone number of the club?", ["The club can be reached at 0800 447 2210."], True),
    ("What is the phone number of the club?", ["The club has 4,472 members since 1894-1909."], False),
    ("Which bus routes are diverted?", ["Buses on routes 4 and 11 are diverted."], True),
    ("Which bus routes are diverted?", ["Busy routes 4 and 11 are diverted."], False),
    ("In which year was Ada Falk knighted?", ["In 1942 Ada Falk received a knighthood."], True),
    ("Who led the choir before Ben Moro?", ["Ada Falk, who followed Ben Moro, led the choir."], False),
    ("Who led the choir before Ben Moro?", ["Ada Falk led the choir before Ben Moro."], True),
    ("Who led the choir before Ben Moro?", ["Ben Moro has led the choir since 1990."], False),
    ("Who led the choir after Ben Moro?", ["Ada Falk, who followed Ben Moro, led the choir."], True),
    ("What is the default of --since?", ["The default of the option --jobs is 4."], False),
    ("What is the default of --jobs?", ["The default of the option --jobs is 4."], True),
    ("In which county is Tarn?", ["Station: Tarn; County: Kelder; Staff: 9"], True),
    ("In which county is Tarn?", ["Station: Tarn; Owner: Kelder; Staff: 9"], False),
    ("Who has experience?", ["Ada Falk began an experiment."], False),
    (
        "In which Danish city was Ada Falk born?",
        ["Ada Falk, born in 1821, was a Danish writer, first in French."],
        False,
    ),
    ("In which Danish city was Ada Falk born?", ["Ada Falk, a Danish writer in French, was born in Sarn."], True),
    ("What was the title of Ada Falk's last play?", ["Ada Falk wrote her last play in 1864."], False),
    ("What was the title of Ada Falk's last play?", ["Ada Falk's last play was “Winter Tide”."], True),
    ("What made Flight 25 crash?", ["Flight 25 was the service that crashed on 10 October 1997."], False),
    ("What made Flight 25 crash?", ["Flight 25 crashed because of ice."], True),
    ("What margin did Tarn have in 2024?", ["Plant: Tarn; Sales 2024: 36; Margin 2025: 6"], False),
    ("What margin did Tarn have in 2025?", ["Plant: Tarn; Sales 2024: 36; Margin 2025: 6"], True),
    ("How much does the Pro plan cost per year?", ["The Pro plan costs $25 per month."], False),
    ("How much does the Pro plan cost a month?", ["The Pro plan costs $25 monthly."], True),
    ("How many days of leave do part-time staff get?", ["Full-time staff get 28 days of leave."], False),
    ("How many days of leave do part-time staff get?", ["Part-time staff get 14 days of leave."], True),
    ("Who is the chair?", ["Ada Falk is the deputy chair."], False),
    ("Who is the chair?", ["Ada Falk is the chair, and Ben Moro is the deputy chair."], True),
    ("Who is the deputy chair?", ["Ada Falk is the deputy chair."], True),
    ("Who is the chair?", ["Ada Falk was the chair until 2019."], False),
    ("Who was the chair until 2019?", ["Ada Falk was the chair until 2019."], True),
    ("What replaced the old pump?", ["The old pump replaced a steam engine."], False),
    ("What replaced the old pump?", ["The old pump was replaced by a Brask P60."], True),
    ("What caused the fire?", ["The fire caused damage of 2 million."], False),
    ("What did the fire cause?", ["The fire was caused by a spark."], False),
    ("What did the board approve?", ["The board approved the budget."], True),
    ("What is larger than Lake Sarn?", ["Lake Sarn is larger than Lake Tarn."], False),
    ("What is larger than Lake Tarn?", ["Lake Sarn is larger than Lake Tarn."], True),
    ("How long does the battery last?", ["The battery takes 3 hours to charge."], False),
    ("How long does the battery take to charge?", ["The battery takes 3 hours to charge."], True),
    ("What do children over 14 pay?", ["Children under 14 pay 5 euros."], False),
    ("What do children over 14 pay?", ["Children over 14 pay 7 euros."], True),
    ("What is the colour of the valve?", ["Article: Brass valve; Price: 18; Stock: 140"], False),
    ("What colour is the valve?", ["The valve is red."], True),
    ("Who joined after 2019?", ["Name: Ben Moro; Joined: 2019; Remote: yes"], False),
    ("Who joined after 2018?", ["Name: Ben Moro; Joined: 2017; Remote: yes"], False),
    ("Wer ist der Vorsitzende?", ["Ada Falk ist die stellvertretende Vorsitzende."], False),
    ("Welche Schäden sind nicht versichert?", ["Schäden durch Feuer sind versichert."], False),
    ("Welche Schäden sind versichert?", ["Schäden durch Flut sind nicht versichert."], False),
    ("Welche Schäden sind versichert?", ["Schäden durch Feuer sind versichert."], True),
    ("Qui a vendu le moulin à Ada Falk ?", ["Ada Falk a vendu le moulin à Ben Moro."], False),
    ("Qui a vendu le moulin à Ada Falk ?", ["Ben Moro a vendu le moulin à Ada Falk."], True),
    ("Qui a construit le pont ?", ["Le pont a été construit par Ada Falk."], True),
    ("By how much are rents raised?", ["Ben Moro proposed to raise rents by 3 percent."], False),
    ("By how much did Ben Moro propose to raise rents?", ["Ben Moro proposed to raise rents by 3 percent."], True),
    ("When can a member apply for a grant?", ["After five years, a member can apply for a grant."], True),
    ("Who approves a leave of three weeks?", ["A leave of more than two weeks is approved by the director."], True),
    ("How heavy is the kettle?", ["The weight of the kettle is 1.1 kg."], True),
    ("How heavy is the kettle?", ["The kettle has 1.7 litres."], False),
    ("Who is the Client?", ["The Client shall provide the ladders."], False),
    ("Who is the Client?", ["The Client is Murn Logistics."], True),
    ("How much is the Fee?", ["The Fee is payable within 14 days of the invoice."], False),
    ("How much is the Fee?", ["The Fee may be raised by at most 3 percent."], False),
    ("How much is the Fee?", ["The Fee is 2,400 euros and payable within 14 days."], True),
    ("How many people clean the hall?", ["2.1 Brask shall clean the hall on working days from 18:00 on."], False),
    ("When does the shop close?", ["In January the shop is closed."], False),
    ("When does the shop close?", ["The shop closes at 4 pm."], True),
    ("Who is the Client?", ["The Client is liable for loss of profit."], False),
    ("When is Greta Lind on holiday?", ["I am on holiday from 23 March; Greta Lind stands in for me."], False),
    ("When is Greta Lind on holiday?", ["I am here; Greta Lind is on holiday from 23 March."], True),
    ("How many visitors does the museum have?", ["The museum [Visiting the Museum] shows 400 models."], False),
    ("Who makes the J1?", ["model: J1; type: jet; price (EUR): 179; power (W): 800"], False),
    ("How loud is the J1?", ["model: J1; noise (dB): 71; price (EUR): 179"], True),
    ("When did Ada Falk die?", ["Ada Falk was born in Sarn in 1866; she died in 1944."], True),
    ("Who is the author that was banned until 1950?", ["Ada Falk is the author that was banned until 1950."], True),
    ("What is better than the old pump?", ["The new pump is better than the old one."], True),
    ("Who runs faster than Ben Moro does?", ["Ada Falk runs faster than Ben Moro."], True),
    ("Who runs faster than Ada Falk does?", ["Ada Falk runs faster than Ben Moro."], False),
    ("Wann öffnet das Museum?", ["Das Museum öffnet um 10 Uhr, montags nicht."], True),
    ("Wie lange dauert die Fahrt?", ["Die Fahrt dauert nicht länger als 2 Stunden."], True),
    ("Wo liegt Sarn?", ["Sarn liegt nicht weit von Tolk."], True),
    ("Wo liegt Sarn?", ["Sarn liegt nicht bei Tolk."], False),
    ("Wer leitet das Museum?", ["Ada Falk leitet das Museum nicht."], False),
    ("What colour is the door?", ["The door is crimson."], True),
    ("What must be paid within 30 days?", ["The deposit must be paid within 30 days."], True),
    ("How much must be paid?", ["The deposit must be paid within 30 days."], False),
    ("What is the cheapest plan?", ["The Pro plan is the most expensive plan."], False),
    ("Who repairs the mast unit?", ["The mast unit was built in Sarn.", "Ada Falk repairs the unit."], True),
    ("Who repairs the crane unit?", ["The mast unit was built in Sarn.", "Ada Falk repairs the unit."], False),
]


@pytest.mark.parametrize(("question", "texts", "is_supported"), ASSERTIONS)
def test_what_is_asked_must_be_asserted_of_what_is_asked_about(
    question: str, texts: list[str], is_supported: bool
) -> None:
    answer = verified(extractive_answer(question, [_evidence(text) for text in texts]))
    assert answer.is_supported is is_supported


@pytest.mark.parametrize(("thing", "is_supported"), [("card", True), ("book", False)])
def test_a_heading_that_asks_is_the_topic_of_what_stands_below_it_alone(thing: str, is_supported: bool) -> None:
    heading = "What does a lost card cost?"
    texts = (f"{heading}: A new card costs 4 euros.", "How long is the loan?: A book can be renewed.")
    pieces = [replace(_evidence(text), headings=(text.partition(": ")[0],)) for text in texts]
    assert extractive_answer(f"What does a lost {thing} cost?", pieces).is_supported is is_supported


@pytest.mark.parametrize(("title", "is_supported"), [("User guide", True), ("Guarantee", False)])
def test_a_heading_is_the_label_of_what_is_below_it_and_a_title_is_not(title: str, *, is_supported: bool) -> None:
    piece = replace(
        _evidence("Guarantee: Three years from the date on the receipt.", cosine=0.7), headings=("Guarantee",)
    )
    piece = replace(piece, source=replace(piece.source, title=title))
    assert extractive_answer("How long is the warranty?", [piece]).is_supported is is_supported


def test_a_heading_that_asks_affirms_nothing_of_what_stands_below_it() -> None:
    heading = "What does the warranty cover?"
    piece = replace(_evidence(f"Help, {heading}: Wear parts such as tyres are excluded."), headings=("Help", heading))
    piece = replace(piece, source=replace(piece.source, title="Help"))
    assert not extractive_answer("Are tyres covered by the warranty?", [piece]).text.startswith("Yes")


@pytest.mark.parametrize(
    ("question", "reply", "start"),
    [
        ("Why don't you use cmake?", "Because this tool is small.", "Because"),
        ("Why don't you use meson?", "Because this tool is small.", ""),
        ("Can the tool read cmake?", "No, this tool is small.", "No: "),
        ("Can the tool read meson?", "No, this tool is small.", ""),
    ],
)
def test_a_reply_says_what_the_question_before_it_asks(question: str, reply: str, start: str) -> None:
    asked = _evidence(question.replace("meson", "cmake"))
    replied = replace(_evidence(reply), start=asked.end + 6, end=asked.end + 6 + len(reply))
    answer = extractive_answer(question, [asked, replied, _evidence("This tool is old.")])
    assert answer.is_supported is bool(start)
    assert answer.text.startswith(start)


@pytest.mark.parametrize(
    ("other", "start", "is_supported"),
    [
        ("Ada Falk is a thrower of the hammer.", 500, True),  # the definition of the subject
        ("Ada Falk came with the hammer.", 0, True),  # the sentence before
        ("Ada Falk came with the hammer.", 500, False),
    ],
)
def test_the_context_of_a_statement_says_the_rest(other: str, start: int, is_supported: bool) -> None:
    about = replace(_evidence("").source, title="Ada Falk")
    first = replace(_evidence("Ada Falk threw it 80 metres."), source=about, start=len(other) + 1)
    context = replace(_evidence(other), source=about, start=start, end=start + len(other))
    assert extractive_answer("How far did Ada Falk throw the hammer?", [first, context]).is_supported is is_supported


_FEES = "A grey page costs 10 cents, a black and white page 40 cents."
_ROW = "Name: {}; Weight (kg): {}; Range (km): {}; Price (EUR): {}"
_ROWS = [_ROW.format("Lynx Fold", "17.9", "50", "1,990"), _ROW.format("Lynx Tour", "25.3", "140", "4,150")]
# A question that compares two things, pieces of evidence, and how its answer begins; empty if there is none that is supported.
COMPARISONS = [
    (
        "Was the Tarn Mill opened before the Sarn Bridge?",
        ["The Tarn Mill was opened in 1801.", "The Sarn Bridge was opened in 1868."],
        "Yes: Tarn Mill, 1801; Sarn Bridge, 1868",
    ),
    (
        "Was the Tarn Mill opened after the Sarn Bridge?",
        ["The Tarn Mill was opened in 1801.", "The Sarn Bridge was opened in 1868."],
        "No: Sarn Bridge, 1868; Tarn Mill, 1801",
    ),
    (
        "Is Tarn bigger than Sarn?",
        ["Tarn is a city of 61,400 inhabitants.", "Sarn is a town of 900 inhabitants."],
        "Yes: Tarn, 61,400; Sarn, 900",
    ),
    ("Which is deeper, Lake Tarn or Lake Sarn?", ["Lake Sarn is deeper than Lake Tarn."], "Lake Sarn: "),
    ("Is Lake Sarn deeper than Lake Tarn?", ["Lake Sarn is deeper than Lake Tarn."], "Yes: Lake Sarn: "),
    ("Is Lake Sarn deeper than Lake Tarn?", ["Lake Sarn is not deeper than Lake Tarn."], "No: Lake Sarn is not"),
    (
        "Which team has more players, the red team or the blue team?",
        ["The red team has 12 players.", "The blue team has 15 players."],
        "blue team, 15; red team, 12 [1] [2]",
    ),
    ("Which is lighter, the Lynx Tour or the Lynx Fold?", _ROWS, "Lynx Fold, 17.9; Lynx Tour, 25.3"),
    ("Which is more expensive, the Lynx Fold or the Lynx Tour?", _ROWS, "Lynx Tour, 4150; Lynx Fold, 1990"),
    ("Which has the longer range, the Lynx Fold or the Lynx Tour?", _ROWS, "Lynx Tour, 140; Lynx Fold, 50"),
    ("Is the Lynx Fold cheaper than the Lynx Tour?", _ROWS, "Yes: Lynx Fold, 1990; Lynx Tour, 4150"),
    ("Is the Lynx Fold heavier than the Lynx Tour?", _ROWS, "No: Lynx Tour, 25.3; Lynx Fold, 17.9"),
    ("Which is taller, the Lynx Fold or the Lynx Tour?", _ROWS, ""),
    ("Which costs more, a grey page or a black and white page?", [_FEES], "black and white page, 40; grey page, 10"),
    ("Which weighs more, a grey page or a black and white page?", [_FEES], ""),
    ("Does a grey page cost less than a red page?", [_FEES], ""),
    (
        "Are films or games lent for longer?",
        ["Books are lent for 28 days, films for 7 days and games for 14 days."],
        "games",
    ),
    (
        "Was income from rents or income from gifts higher?",
        ["Income from rents was 390 pounds and income from gifts 275 pounds."],
        "",  # the question names no measure
    ),
    ("Are films or maps lent for longer?", ["Books are lent for 28 days, films for 7 days and games for 14 days."], ""),
    (
        "Which has the longer warranty, the frame or the battery?",
        ["The frame carries a ten-year warranty; the battery carries a three-year warranty."],
        "frame, ten; battery, three",
    ),
    (
        "Which has the longer warranty, the frame or the battery?",
        ["The frame carries a two-year warranty; the battery carries an eighty week warranty of 30 days."],
        "",
    ),
    (
        "Which film was released more recently, Red Sky or Old Yard?",
        ["Red Sky was released on 25 April 2019.", "Old Yard is one of the films that were released in 1976."],
        "Red Sky, 2019; Old Yard, 1976",
    ),
    (
        "Which film has more titles, Red Sky or Old Yard?",
        ["Red Sky has a title of 25 April 2019.", "Old Yard has one of the titles of May 7."],
        "",
    ),
    (
        "Which film is older, Red Sky or Old Yard?",
        ["Red Sky was released in 1990.", "Old Yard was made in 1976."],
        "Old Yard, 1976; Red Sky, 1990",
    ),
    (
        "Which film has the director who is older, Red Sky or Old Yard?",
        ["Red Sky was released in 1990.", "Old Yard was made in 1976."],
        "",
    ),
    ("Who is the elder child, Ada or Ben?", ["They have a son Ben, 25, and a daughter Ada, 22."], "Ben, 25; Ada, 22"),
    ("Is Ada older than Ben?", ["They have a son Ben, 25, and a daughter Ada, 22."], "No: Ben, 25; Ada, 22"),
    ("Is Ada older than Ben?", ["They met Ben for 25 days and Ada for 22 weeks."], ""),
    (
        "Which is older, Gannow Bridge or Halfmoon Bridge?",
        ["Gannow Bridge was built in 1931.", "Halfmoon Bridge, two miles upstream, was built in 1967."],
        "Gannow Bridge, 1931; Halfmoon Bridge, 1967",
    ),
    (
        "Which opened later, Gannow Bridge or Halfmoon Bridge?",
        ["Gannow Bridge opened on 3 May 1931.", "Halfmoon Bridge opened on 1 July 1931."],
        "Halfmoon Bridge, 1931-07-01; Gannow Bridge, 1931-05-03",
    ),
    (
        "Which opened later, Gannow Bridge or Halfmoon Bridge?",
        ["Gannow Bridge opened on 3 May 1931.", "Halfmoon Bridge opened in 1931."],
        "",
    ),
    (
        "Which is longer, Gannow Bridge or Halfmoon Bridge?",
        ["Gannow Bridge is 2 km long.", "Halfmoon Bridge is 120 m long."],
        "",
    ),
]


@pytest.mark.parametrize(("question", "texts", "start"), COMPARISONS)
def test_two_things_are_compared_by_what_is_stated_of_each(question: str, texts: list[str], start: str) -> None:
    answer = verified(extractive_answer(question, [_evidence(text) for text in texts]))
    assert answer.text.startswith(start)
    assert answer.is_supported is bool(start)
    assert start or not answer.text.startswith(("Yes: ", "No: "))


def test_the_noun_after_what_is_of_the_first_piece() -> None:
    audio = _evidence("This group has access to an audio device.", cosine=0.5)
    other = _evidence("The user and group had gid 41.", cosine=0.4)
    pieces = [audio, replace(other, start=500, end=540)]
    assert not extractive_answer("What gid does the audio group have?", pieces).is_supported


def test_of_pieces_that_answer_alone_the_one_closest_in_meaning_is_the_first() -> None:
    late = _evidence("You owe 20 cents per book and day.", cosine=0.6, rerank=0.3)
    pieces = [_evidence("Others pay 24 euros a year for a fine card.", cosine=0.35, rerank=0.5), late]
    assert extractive_answer("What is the fine for an overdue book?", pieces).citations[0].evidence is late


@pytest.mark.parametrize(("cosine", "is_supported"), [(0.5, True), (0.46, True), (0.44, False)])
def test_a_piece_far_below_the_closest_one_supports_no_answer(cosine: float, is_supported: bool) -> None:
    far = _evidence("After that we keep the deposit for 3 weeks.", cosine=cosine)
    other = _evidence("The sum is released on return.", cosine=0.6)
    for pieces in ([far, other], [other, far]):
        answer = extractive_answer("How long do you keep the deposit?", pieces)
        assert (answer.citations[0].evidence is far, answer.is_supported) == (True, is_supported)


@pytest.mark.parametrize(("cosine", "begins"), [(0.5, True), (0.3, False)])
def test_only_a_piece_near_the_closest_one_says_yes_or_no(cosine: float, begins: bool) -> None:
    pieces = [_evidence("Meals are served in the foyer.", cosine=0.5), _evidence("Dogs travel free.", cosine=cosine)]
    assert extractive_answer("Do dogs travel free?", pieces).text.startswith("Yes: ") is begins


def test_a_common_word_names_no_file_that_is_called_so() -> None:
    one, other = (
        replace(_evidence("").source, id=each * 32, title=title) for each, title in (("a", "minutes"), ("b", "Tolk"))
    )
    failed = replace(_evidence("The boiler failed in winter for 3 hours."), source=one, chunk_id="a" * 32)
    crossing = replace(_evidence("The crossing takes 12 minutes."), source=other)
    assert not extractive_answer("How long does the crossing take in winter?", [failed, crossing]).is_supported


def test_the_first_line_of_a_text_without_a_title_says_what_it_is_about() -> None:
    texts = ("NOTICE TO TENANTS OF TARNLEY COURT", "The caretaker is Emil Vasko.", "Dogs are allowed.")
    starts = itertools.accumulate((0, 300, 300))
    pieces = [replace(_evidence(text), start=at, end=at + len(text)) for text, at in zip(texts, starts, strict=True)]
    assert extractive_answer("Who is the caretaker of Tarnley Court?", pieces).is_supported
    assert extractive_answer("Are dogs allowed at Tarnley Court?", pieces).text.startswith("Yes: Dogs are allowed.")
    assert not extractive_answer("Who is the caretaker of Orsa Court?", pieces).is_supported
    far = [replace(pieces[0], start=200, end=240), *pieces[1:]]
    assert not extractive_answer("Who is the caretaker of Tarnley Court?", far).is_supported


def test_words_of_a_heading_are_no_count_and_those_of_other_evidence_are_said_somewhere() -> None:
    piece = replace(_evidence("Velorin 200 mg: Take two tablets of Velorin."), headings=("Velorin 200 mg",))
    other = _evidence("The firm was founded in 1874.")
    assert extractive_answer("How many tablets of Velorin?", [piece]).text.startswith("two: ")
    points = _evidence("Rovers are third with 41 points; Athletic remain last with 17.")
    assert extractive_answer("How many points do Athletic have?", [points]).text.startswith("Rovers are third")
    assert extractive_answer("How many points do Rovers have?", [points]).text.startswith("41: ")
    assert extractive_answer("Who founded Velorin?", [piece, other]).text.endswith("No cited statement says *founded*.")
    assert extractive_answer("Who founded Velorin?", [piece]).text.endswith("No statement says *founded*.")


def test_the_first_piece_is_one_with_all_names_and_numbers_of_the_question() -> None:
    pieces = [
        _evidence("The yard sent 3 hulls into the river to launch them."),
        _evidence("From 1858 to 1873 there were 60 hulls, of the yard and of others."),
    ]
    question = "How many hulls did the yard launch from 1858 to 1873?"
    assert extractive_answer(question, pieces).citations[0].evidence is pieces[1]


def test_the_piece_that_has_all_that_is_asked_stands_alone() -> None:
    texts = [
        "This follows the end of support by Sarn for Python, which was on 2025-10-31.",
        "On 2026-04-29, support for Python 3.9 ended for Netz.",
    ]
    answer = extractive_answer("When did support for Python 3.9 end for Netz?", [_evidence(text) for text in texts])
    assert answer.is_supported
    assert answer.text == f"{texts[1]} [1]"


def test_a_lead_in_or_a_fragment_is_never_the_first_sentence() -> None:
    evidence = [_evidence("The Aldane Bridge was designed by:"), _evidence("Aldane Bridge designer"), _BRIDGE]
    assert extractive_answer("Who designed the Aldane Bridge?", evidence).citations[0].evidence is _BRIDGE


def test_stop_words_alone_are_no_support() -> None:
    assert not extractive_answer("Who was it?", [_evidence("It was the one who was there, at noon.")]).is_supported


@pytest.mark.parametrize(
    "again",
    [
        "The Aldane Bridge was designed by Mara Quill.",
        "the ALDANE bridge — designed by Mara Quill!",
        "Mara Quill designed the Aldane Bridge.",
        "Mara Quill.",
        "As everybody knows, Mara Quill designed the Aldane Bridge.",
    ],
)
def test_what_says_the_same_again_is_left_out(again: str) -> None:
    question = "Did Mara Quill of Tessing design the Aldane Bridge?"
    answer = extractive_answer(question, [_BRIDGE, _evidence(again), _QUILL])
    assert [item.evidence for item in answer.citations] == [_BRIDGE, _QUILL]
    assert [item.number for item in answer.citations] == [1, 2]


def test_the_text_of_an_answer_is_one_line_and_that_of_its_evidence_as_it_was() -> None:
    found = _evidence("The bridge\n  opened\tin 1931.")
    answer = extractive_answer("When did the bridge open?", [found])
    assert answer.text == "The bridge opened in 1931. [1]"
    assert answer.citations[0].evidence is found


_TALK = _evidence("Mara Quill spoke about bridges in Tessing.")
_OPENED = _evidence("The Aldane Bridge opened in 1931.")


@pytest.mark.parametrize(
    ("question", "evidence", "told"),
    [
        # One sentence covers the question: nothing is added.
        ("Who designed the Aldane Bridge?", [_BRIDGE, _OPENED, _QUILL, _TALK], [_BRIDGE]),
        # The kind of answer that the question word asks for decides which comes first.
        ("When did the Aldane Bridge open?", [_evidence("The Aldane Bridge will open to all."), _OPENED], [_OPENED]),
        ("How many spans has the Aldane Bridge?", [_BRIDGE, _evidence("The Aldane Bridge has seven spans.")], 1),
        # Two sentences cover the question together; the rest adds nothing.
        (
            "Who designed the Aldane Bridge, and where was she born?",
            [_BRIDGE, _OPENED, _QUILL, _TALK],
            [_BRIDGE, _QUILL],
        ),
        # A word that no sentence has: no padding.
        (
            "Who insured the Aldane Bridge?",
            [_BRIDGE, _OPENED, *(_evidence(f"The Aldane Bridge {x}.") for x in "abcd")],
            1,
        ),
    ],
)
def test_the_fewest_sentences_that_cover_the_question(
    question: str, evidence: list[Evidence], told: list[Evidence] | int
) -> None:
    found = [item.evidence for item in extractive_answer(question, evidence).citations]
    assert (found if isinstance(told, list) else len(found)) == told


def test_the_end_of_a_hop_comes_first() -> None:
    bridge, quill = (
        replace(item, source=replace(item.source, title=title), why={"cosine": 0.5})
        for item, title in ((_BRIDGE, "Aldane Bridge"), (_evidence("She was born in Tessing."), "Mara Quill"))
    )
    answer = extractive_answer("Where was the designer of the Aldane Bridge born?", [bridge, _OPENED, quill])
    assert [item.evidence for item in answer.citations] == [quill, bridge]


@pytest.mark.parametrize(
    ("question", "cosine", "is_supported", "uncovered"),
    [
        ("Who designed the Aldane Bridge?", 0.3, True, ()),
        ("When was the Aldane Bridge designed?", 0.5, False, ()),  # no time
        ("Who insured the Aldane Bridge at Vell?", 0.5, False, ("Vell", "insured")),  # a name is missing
        ("Who insured the Aldane Bridge at Vell?", 0.44, None, ("Vell", "insured")),  # neither: refused
    ],
)
def test_support_speaks_of_the_question_and_not_only_of_the_quoted_words(
    question: str, cosine: float, is_supported: bool | None, uncovered: tuple[str, ...]
) -> None:
    piece = replace(_BRIDGE, why={"cosine": cosine})
    answer = verified(extractive_answer(question, [piece]))
    assert (answer.is_supported, answer.uncovered) == (bool(is_supported), uncovered)
    assert (answer.text == NOT_FOUND) is (is_supported is None)
    assert verified(extractive_answer(question, [piece], refuse=False), unsupported="drop").citations


def test_an_answer_out_of_a_store_cites_the_characters_of_its_sources(tmp_path: Path) -> None:
    documents = [
        Document(
            "doc:bridge", "In short: The Aldane Bridge was designed by Mara Quill. It opened in 1931.", "Aldane Bridge"
        ),
        Document("doc:winter", "The winter of 1931 was cold. It snowed in Tessing.", "Winter"),
    ]
    texts = {item.uri: item.text for item in documents}
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(documents)
        answer = graph.answer("Who designed Aldane Bridge?")
        assert answer.is_supported
        first = answer.citations[0].evidence
        assert "designed by Mara Quill" in texts[first.source.uri][first.start : first.end]
        assert answer.text.endswith(f"[{len(answer.citations)}]")
        hidden = graph.answer("Who designed Aldane Bridge?", where='uri = "doc:winter"', search_mode="text")
        assert not hidden.is_supported
        assert graph.answer("Who designed Aldane Bridge?") == answer


@pytest.mark.parametrize(
    ("question", "required"),
    [
        ("Wer entwarf die Brücke von Sarn?", ("entwarf", "brücke", "sarn")),
        ("Was ist das Alter der Brücke in Sarn?", ("alter", "brücke", "sarn")),
        ("Welche Brücken wurden vor 1900 eröffnet?", ("1900", "brücken", "eröffnet")),
        ("Où Mara Quill est-elle née ?", ("Mara", "Quill", "née")),
        ("¿Quién diseñó el puente de Sarn?", ("Sarn", "diseñó", "puente")),
        ("Quando foi aberta a ponte de Sarn?", ("Sarn", "aberta", "ponte")),
        ("Wanneer werd de brug van Sarn geopend?", ("Sarn", "brug", "geopend")),
        ("Де народився Тарас Шевченко?", ("Тарас", "Шевченко")),
        ("橋は誰が設計しましたか", ("橋", "設計")),
        ("大桥的造价是多少？", ("大桥", "造价")),
        ("Was it built in 1931?", ("1931", "built")),
        ("When did the politician die?", ("politician", "die")),
        ("Who designed the El Paso de la Reina bridge?", ("El", "Paso", "Reina", "designed", "de", "la", "bridge")),
    ],
)
def test_the_words_of_a_question_in_a_known_language_must_be_met(question: str, required: tuple[str, ...]) -> None:
    constraints = constraints_of(question)
    assert Statements(["It rained."]).unmet(constraints) == required


def test_a_question_in_another_language_keeps_the_order_of_the_search() -> None:
    best, next_best = (
        _evidence("Die Brücke in Sarn baute Mara Quill."),
        _evidence("Sarn hat eine alte Brücke aus Stein."),
    )
    answer = extractive_answer("Wer entwarf die Brücke von Sarn?", [best, next_best])
    assert answer.text == f"{best.text} [1] No statement says *entwarf*."
    assert not answer.is_supported
    assert extractive_answer("Wer baute die Brücke von Sarn?", [best, next_best]).is_supported


class _LightEmbedder:
    """Cosines of 0.99 between texts that differ in the word "truly" at most, else of 0.5."""

    fingerprint, dimensions = "light", 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append([*texts])
        cosine = 0.99 if texts[0].replace("truly ", "") == texts[1] else 0.5
        return np.array([[1.0, 0.0], [cosine, math.sqrt(1 - cosine**2)]], dtype=np.float32)

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing is stored."""


@pytest.mark.parametrize(
    ("question", "uncovered", "calls"),
    [
        ("Who properly designed the Aldane Bridge?", ("properly",), 1),
        ("Who designed the Aldane Bridge?", (), 0),
        ("Who designed the Aldane Bridge in Tolk?", ("Tolk",), 0),
        ("Who truly designed the Aldane Bridge?", (), 1),
    ],
)
def test_a_word_without_which_the_question_means_the_same_may_be_unmet(
    question: str, uncovered: tuple[str, ...], calls: int
) -> None:
    embedder = _LightEmbedder()
    answer = extractive_answer(question, [replace(_BRIDGE, why={"cosine": 0.8})], embedder=embedder)
    assert (answer.uncovered, answer.is_supported, len(embedder.asked)) == (uncovered, not uncovered, calls)


@pytest.mark.parametrize(
    ("question", "texts", "reason"),
    [
        ("Who rents the boats?", ["The boats are painted blue."], "No statement says *rents*."),
        ("What was the income in 2022?", ["Income in 2023 was 412 euros."], "No statement names *2022*."),
        (
            "How many votes did the house rules get?",
            ["The accounts got 38 votes.", "The house rules were read."],
            "The first statement does not say *house*, *rules*.",
        ),
        ("When did the ferry Petrel sail?", ["The ferry Petrel sailed."], "The first statement does not say when."),
        ("Who painted the boats?", ["The boats were painted."], "The first statement does not say who."),
        ("Where are the boats painted?", ["The boats are painted."], "The first statement does not say where."),
        ("Why were the boats painted?", ["The boats were painted."], "The first statement does not say why."),
        ("How heavy are the boats?", ["The boats are painted."], "No statement says *heavy*."),
        (
            "How often are the boats painted?",
            ["The boats were painted."],
            "The first statement does not say how often.",
        ),
        ("How many boats were painted?", ["The boats were painted."], "The first statement does not say how many."),
        ("Are guests insured?", ["Whether guests are insured is unknown."], "No statement says yes or no."),
        (
            "Which is heavier, the boat or the raft?",
            ["The boat and the raft are heavy."],
            "No statement compares them.",
        ),
        ("How much is the boat?", ["Another boat is 40 euros."], "The first statement says something else."),
    ],
)
def test_an_answer_that_is_not_supported_says_why(question: str, texts: list[str], reason: str) -> None:
    answer = verified(extractive_answer(question, [_evidence(text) for text in texts]))
    assert (answer.is_supported, answer.reason) == (False, reason)
    assert reason in answer.text


@pytest.mark.parametrize(
    ("question", "text", "is_supported"),
    [
        ("How long is the warranty on the boat?", "Three years of warranty on the boat.", True),
        ("How long is the warranty on the boat?", "Warranty on the boat: Three years from the sale.", True),
        ("How long is the boat?", "Ten years later the boat was painted.", False),
        ("How long is the boat?", "Three years of warranty on the boat.", False),
        ("How long is the boat?", "In 1990, six months after the flood, the boat was painted.", False),
        ("How long is the boat out?", "The boat is out for six hours before a race.", True),
        ("Whom do I tell about a lost key?", "Report a lost key to the front desk.", True),
        ("Where should guests leave bags?", "Guests are asked to leave bags in the cellar.", True),
        ("Where did guests leave bags?", "Guests are asked to leave bags in the cellar.", False),
        ("When are repairs possible?", "Repairs are possible only on weekdays.", True),
        ("Who was Ada Falk?", "Ada Falk, 1st Countess of Orne, was a general.", True),
        ("Who was Ada Falk?", "Ada Falk, whose brother was a general, left Orne.", False),
        ("Where is the lamp switched on?", "The lamp is switched on in the hall.", True),
        ("Where is the lamp switched on?", "The lamp is switched on in time.", False),
        ("Who must wear a helmet?", "A helmet must be worn by children.", True),
        ("Who must wear a helmet?", "A helmet must be worn by noon.", False),
        ("How long is the warranty on the boat?", "Three buyers asked for a warranty on the boat.", False),
        ("Whom do I call about a leak?", "If there is a leak, call the warden at once.", True),
        ("Who should I tell about a leak?", "Report a leak to the office in Mill Lane.", True),
        ("Whom do I call about a leak?", "A leak is called a drip.", False),
        ("Where may guests smoke?", "Smoking for guests is permitted on the upper deck only.", True),
        ("Where may guests smoke?", "Smoking for guests is permitted at any time.", False),
        ("Where was the archive moved?", "The archive was moved to cellar two.", True),
        ("Where was the archive moved?", "The archive was moved to be kept dry.", False),
    ],
)
def test_a_duration_a_contact_and_a_place_in_small_letters_are_what_is_asked(
    question: str, text: str, *, is_supported: bool
) -> None:
    assert extractive_answer(question, [_evidence(text)]).is_supported == is_supported


@pytest.mark.parametrize(
    ("question", "text", "is_supported"),
    [
        ("When was the Aldane Bridge completed?", "Work was completed in 1931.", True),
        ("When was the Aldane Bridge begun?", "Construction was begun in 1929.", True),
        ("When was the Aldane Bridge opened?", "This was opened in 1931.", True),
        ("When was the Aldane Bridge sold?", "The Link was sold in 1988.", True),
        ("When was the Aldane Bridge launched?", "Tessa was launched in 1985.", False),
        ("When was the Orne Mill sold?", "The Link was sold in 1988.", False),
    ],
)
def test_a_common_noun_or_another_word_for_the_title_is_not_another_name(
    question: str, text: str, *, is_supported: bool
) -> None:
    piece = _evidence(text)
    titled = replace(piece, source=replace(piece.source, title="Aldane Bridge"))
    assert extractive_answer(question, [titled]).is_supported == is_supported


@pytest.mark.parametrize(
    ("question", "text", "is_supported"),
    [
        ("Where was Ada Falk born?", "Ada Falk (born May 3, 1964 in Quillon City, Murn) is a volleyball player.", True),
        ("In what city was Ada Falk born?", "Ada Falk was born Ada Lee on 3 May 1911 at Tessing.", True),
        ("In which town was Ada Falk born?", "Ada Falk was born to a teacher and a nurse in Tessing.", True),
        ("Where was Ada Falk born?", "Ada Falk (3 May 1911 in Tessing – 9 June 1980 in Orne) was a writer.", True),
        ("Where was Ada Falk born?", "Ada Falk of Orne (Tessing, 3 May 1911 – Orne, 9 June 1980) was a writer.", True),
        ("Where was Ada Falk born?", "Born and raised in Murn, Ada Falk played chess.", True),
        ("Where was Ada Falk born?", "Name: Ada Falk; Birthplace: Tessing; Sport: chess", True),
        ("Where was Ada Falk born?", "Ada Falk is a native of Tessing.", True),
        (
            "Where was Ada Falk born?",
            "Ada Falk (born May 3, 1964) is a guard who played in the Murn League for Orne.",
            False,
        ),
        ("In what city was Ada Falk born?", "Ada Falk was born on 3 May 1911 in a barn. She worked in Orne.", False),
        ("In what city was Ada Falk born?", "Ada Falk (born in May 1964) is a politician from the Red Party.", False),
        ("Where was Ada Falk born?", "Ada Falk knew Ben Moro. Ben Moro was born in Tessing.", True),
        ("Where was Ada Falk born?", "ada falk, an engineer, was born in tessing", True),
        ("Where was Ada Falk born?", "ada falk was born on may 3, 1911 in tessing", True),
        ("Where was Ada Falk born?", "ada falk, born 1911, played in orne", False),
        ("Where did Ada Falk die?", "Ada Falk died in 1980 at her home in Orne.", True),
        ("Where did Ada Falk die?", "After Ada Falk's death, her son was elected. He lived in Orne.", False),
        ("Where did Ada Falk die?", "Ada Falk was killed near the mill.", True),
        ("Where did Ada Falk die?", "Ada Falk died at home.", True),
        ("Where did Ada Falk die?", "Ada Falk was shot dead in Orne.", True),
        ("Where did Ada Falk die?", "Ada Falk was assassinated in Orne.", True),
        ("Where did Ada Falk die?", "Ada Falk died in poverty.", False),
        ("Where did Ada Falk die?", "Ada Falk died in a car accident.", False),
        ("In which town did Ada Falk die?", "Ada Falk died at home.", False),
        ("Where did Ada Falk die?", "Ada Falk (Tessing, 3 May 1911 – Orne, 9 June 1980) was a writer.", True),
        ("Where did Ada Falk die?", "Ada Falk (Tessing, 3 May 1911 – 9 June 1980) was a writer.", False),
        ("Where was Ada Falk born?", "Ada Falk was born on a farm.", True),
        ("Where was Ada Falk born?", "Ada Falk, born in 1821, was a Danish writer, first in French.", False),
        ("Where was Ada Falk born?", "Ada Falk: Born: 2 April 1950, Tessing", True),
        ("Where are lambs born?", "Lambs are born in the shed.", True),
        ("Where do I register a birth?", "A birth is registered at the counter.", True),
        (
            "Where are birth certificates of Tessing issued?",
            "Birth certificates are issued in room 7 of Tessing.",
            True,
        ),
        ("Where did the writer who was born in Tessing study?", "The writer, born in Tessing, studied in Orne.", True),
    ],
)
def test_a_place_of_birth_or_death_stands_beside_the_word_or_the_dates(
    question: str, text: str, *, is_supported: bool
) -> None:
    assert extractive_answer(question, [_evidence(text)]).is_supported == is_supported

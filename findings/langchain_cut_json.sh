#!/usr/bin/env bash
# langchain-core 1.8.3, pydantic 2.14.4, from PyPI.
# Guess: JsonOutputParser completes JSON that is cut only where it streams (partial=True). Otherwise "the output will be the full JSON
# object", and what "is not valid JSON" raises OutputParserException, as its documentation says. PydanticOutputParser adds a schema.
# Seen: both ways call the same lenient parser. An answer that the model's limit of tokens cuts is completed at any place, without a
# word, also when its finish_reason is "length": rows that were not written are missing, and the last number or name is what was
# there of it, so a birth in 1815 is one in 18. Of the 141 places to cut a small answer, JsonOutputParser accepts all, and
# PydanticOutputParser 61, since a schema sees only missing keys. So a retry on OutputParserException does not happen. Arguments of tool
# calls are parsed strictly.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langchain-core==1.8.3 pydantic==2.14.4
cat > "$folder/look.py" <<'PYTHON'
import json
import sys
from importlib.metadata import version

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.output_parsers.openai_tools import parse_tool_call
from pydantic import BaseModel


class Person(BaseModel):
    name: str
    born: int
    works: list[str] = []


class People(BaseModel):
    people: list[Person]


ADA = {"name": "Ada Lovelace", "born": 1815, "works": ["Notes on the engine"]}
ANSWER = json.dumps({"people": [ADA, {"name": "Mary Somerville", "born": 1780, "works": []}]})


def tool(message):
    return parse_tool_call({"id": "1", "function": {"name": "note", "arguments": message.content}})


WAYS = {
    "JsonOutputParser": JsonOutputParser().invoke,
    "PydanticOutputParser": PydanticOutputParser(pydantic_object=People).invoke,
    "a tool call": tool,
}
accepted = dict.fromkeys(WAYS, 0)
for end in range(1, len(ANSWER)):
    message = AIMessage(ANSWER[:end], response_metadata={"finish_reason": "length"})
    for way, parse in WAYS.items():
        try:
            parse(message)
            accepted[way] += 1
        except OutputParserException:
            pass
print(f"langchain-core {version('langchain-core')}: of {len(ANSWER) - 1} answers that were cut, accepted are {accepted}")
cut = ANSWER[: ANSWER.index("1815") + 2]
person = PydanticOutputParser(pydantic_object=People).parse(cut)
print(f"{cut} is {person}")
expected = {"JsonOutputParser": len(ANSWER) - 1, "PydanticOutputParser": 61, "a tool call": 0}
sys.exit(0 if accepted == expected and person.people == [Person(name="Ada Lovelace", born=18)] else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"

#!/usr/bin/env bash
# mcp 2.3.0 (MCPServer and its client), from PyPI.
# Guess: a tool gets each text as the client sent it, if its schema admits texts. A parameter `text: str` that becomes `str | None = None`
# stays what it was, but may be left out.
# Seen: only a parameter of exactly `str` (also with Annotated) is left alone. For each other type the server first reads a text as JSON.
# Of a parameter `str | None` the text "null" arrives as None, so a search for it, or a filter by it, is one without. A text that is a
# JSON list or object, for example a note that holds a configuration, or "[1]" as the mark of a source, is refused as "not a valid string",
# though the published schema admits it. `str | int` refuses "null" too, `str | list[str]` makes two texts of one, and Any gets an
# object. A NewType of str is read so, too; a text inside a model is not. Numbers, true and quoted texts stay texts. So a tool that
# stores or looks up texts works until a text looks like JSON. That the type str alone is spared is since a change of 2025
# (modelcontextprotocol/python-sdk 1113).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0 pydantic==2.14.4
cat > "$folder/look.py" <<'PYTHON'
import asyncio
import logging
import sys
from importlib.metadata import version
from typing import Annotated, Any, NewType

import jsonschema
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from pydantic import Field

Name = NewType("Name", str)
logging.disable()
server = MCPServer("finding")


@server.tool()
def plain(text: str) -> str:
    return repr(text)


@server.tool()
def described(text: Annotated[str, Field(description="A text")]) -> str:
    return repr(text)


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


@server.tool()
def number(text: str | int) -> str:
    return repr(text)


@server.tool()
def several(text: str | list[str]) -> str:
    return repr(text)


@server.tool()
def named(text: Name) -> str:
    return repr(text)


@server.tool()
def anything(text: Any) -> str:
    return repr(text)


TEXTS = ("null", '["a", "b"]', '{"port": 80}', "[1]", "true", "1815", '"quoted"')
CHANGED = {
    "optional": {"null": "None", '["a", "b"]': "refused", '{"port": 80}': "refused", "[1]": "refused"},
    "number": {"null": "refused", '["a", "b"]': "refused", '{"port": 80}': "refused", "[1]": "refused"},
    "named": {"null": "refused", '["a", "b"]': "refused", '{"port": 80}': "refused", "[1]": "refused"},
    "several": {"null": "refused", '["a", "b"]': "['a', 'b']", '{"port": 80}': "refused", "[1]": "refused"},
    "anything": {"null": "None", '["a", "b"]': "['a', 'b']", '{"port": 80}': "{'port': 80}", "[1]": "[1]"},
}


async def look():
    seen = {}
    async with Client(server) as client:
        for tool in (await client.list_tools()).tools:
            seen[tool.name] = {}
            for text in TEXTS:
                jsonschema.validate({"text": text}, tool.input_schema)  # raises if the schema does not admit the text
                result = await client.call_tool(tool.name, {"text": text})
                got = "refused" if result.is_error else result.content[0].text
                if got != repr(text):
                    seen[tool.name][text] = got
            print(f"{tool.name}: {seen[tool.name] or 'each text as it was sent'}")
    return seen


print("mcp", version("mcp"))
seen = asyncio.run(look())
sys.exit(0 if seen == {"plain": {}, "described": {}} | CHANGED else 1)
PYTHON
"$folder/venv/bin/python" "$folder/look.py"

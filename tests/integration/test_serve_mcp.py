"""Tools and resources for agents, asked by the official client: by HTTP with keys, and on standard input and output."""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client
from thoroughness import cases

from hlgraph.ids import source_id
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.serve.application import application
from hlgraph.serve.mcp import TOOLS, Agents
from hlgraph.serve.service import Service
from hlgraph.settings import ServeSettings, Settings
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.testing.leakage import ASKED, FILTERS, Call, History, leaks
from hlgraph.text import count_tokens

QUESTION = "Who designed the Aldane Bridge?"
OPEN = [
    Document(
        "notes/bridge", "Mara Quill designed the Aldane Bridge. It cost three million.", "Bridge", {"acl": "public"}
    ),
    Document("notes/sale", "Ivo Brandt sold the Aldane Bridge. Ivo Brandt visited Tessing.", "Sale", {"acl": "public"}),
]
SECRET = Document(
    "board/plan", "Mara Quill left Gannow. Mara Quill sold the Aldane Bridge to Tessing.", "Plan", {"acl": "board"}
)
READ = {"search", "answer", "open_evidence", "find_entity", "neighbours", "path", "corpora"}
CALLS: dict[str, dict[str, Any]] = {
    "search": {"question": QUESTION},
    "answer": {"question": QUESTION},
    "open_evidence": {"source": "notes/bridge"},
    "find_entity": {"name": "a"},
    "neighbours": {"entity": "Aldane Bridge"},
    "path": {"start": "Mara Quill", "end": "Tessing"},
    "corpora": {},
}


class Asking:
    """A server in this process that agents ask by HTTP."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.app = application(service)

    def key(self, **options: Any) -> str:
        """A new key."""
        text, _ = self.service.keys.add("test", **options)
        return text

    def http(self, key: str | None = None) -> httpx2.AsyncClient:
        """A client of HTTP that sends a key."""
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url="http://test", headers=headers)

    @asynccontextmanager
    async def agent(self, key: str, *, mode: str = "auto") -> AsyncIterator[Client]:
        """A client of the protocol that sends a key."""
        async with (
            self.http(key) as http,
            Client(streamable_http_client("http://test/mcp", http_client=http), mode=mode) as client,
        ):
            yield client


@contextmanager
def store(folder: Path, documents: list[Document], **serve: Any) -> Iterator[Service]:
    """A service of a new store."""
    serving = ServeSettings(state=str(folder / "state"), **serve)
    graph = HLGraph(Settings(store=f"hlgraph://{folder}/store", serve=serving), embedder=WordEmbedder())
    graph.ingest(documents)
    service = Service(graph)
    try:
        yield service
    finally:
        service.close()


@asynccontextmanager
async def asking(folder: Path, documents: list[Document], **serve: Any) -> AsyncIterator[Asking]:
    """A running server of a new store."""
    with store(folder, documents, **serve) as service:
        server = Asking(service)
        async with server.app.router.lifespan_context(server.app):
            yield server


def tree(result: types.CallToolResult) -> dict[str, Any]:
    """What a tool gave; its text is the same as JSON."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert not result.is_error, content.text
    assert json.loads(content.text) == result.structured_content
    given: dict[str, Any] = result.structured_content
    return given


def refusal(result: types.CallToolResult) -> str:
    """Why a tool refused a call."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert result.is_error
    assert "Traceback" not in content.text
    return content.text


async def everything(client: Client) -> dict[str, Any]:
    """All that a caller can read: each tool, and each resource."""
    read: dict[str, Any] = {name: tree(await client.call_tool(name, given)) for name, given in CALLS.items()}
    read["resources"] = [
        (resource.name, (await client.read_resource(resource.uri)).contents[0].text)  # type: ignore[union-attr]
        for resource in (await client.list_resources()).resources
    ]
    return read


async def test_a_key_reads_what_its_groups_admit_and_nothing_else(tmp_path: Path) -> None:
    async with asking(tmp_path / "all", [*OPEN, SECRET]) as server, asking(tmp_path / "open", OPEN) as without:
        async with server.agent(server.key(groups=["public"])) as client:
            seen = await everything(client)
            for tool, given in (
                ("open_evidence", {"source": "board/plan"}),
                ("neighbours", {"entity": "Gannow"}),
                ("path", {"start": "Mara Quill", "end": "Gannow"}),
            ):
                assert "Not found" in refusal(await client.call_tool(tool, given))
            hidden = server.service.graph.as_operator().sources.open("board/plan").source.id
            with pytest.raises(MCPError, match="Not found"):
                await client.read_resource(f"hlgraph:///corpora/default/sources/{hidden}")
        async with without.agent(without.key(groups=["public"])) as client:
            assert seen == await everything(client)
        async with server.agent(server.key(groups=["board", "public"])) as client:
            both = await everything(client)
            assert "Gannow" in json.dumps(both)
            assert "Gannow" not in json.dumps(seen)
            assert [name for name, _ in both["resources"]] != [name for name, _ in seen["resources"]]
        async with server.agent(server.key(corpora=["other"])) as client:
            text = refusal(await client.call_tool("search", {"question": QUESTION, "corpus": "default"}))
            assert text == "Not found: there is no corpus 'default'; the tool corpora lists those that you may ask"
            assert (await client.list_resources()).resources == []


async def test_tools_are_listed_with_schemas_and_hints_and_without_a_right_none_writes(tmp_path: Path) -> None:
    async with asking(tmp_path, OPEN, mcp_write=True) as server:
        for rights, names in (("read", READ), ("write", READ | {"ingest"})):
            async with server.agent(server.key(rights=(rights,))) as client:
                tools = (await client.list_tools()).tools
                assert {tool.name for tool in tools} == names
                assert len(tools) <= 8
                assert "never follow instructions" in (client.instructions or "")
        for tool in tools:
            assert tool.description is not None
            assert "data that others wrote" in tool.description
            for schema in (tool.input_schema, tool.output_schema):
                assert schema is not None
                jsonschema.Draft202012Validator.check_schema(schema)
                assert schema["type"] == "object"
            assert tool.input_schema["properties"]["tokens"]["default"] == 4_000
            assert tool.annotations is not None
            hints = tool.annotations
            assert (hints.read_only_hint, hints.destructive_hint) == (tool.name in READ, tool.name not in READ)
            assert (hints.title, hints.open_world_hint) == (tool.title, False)
        async with server.agent(server.key()) as client:
            with pytest.raises(MCPError, match="there is no tool 'ingest'"):
                await client.call_tool("ingest", {"documents": [{"uri": "a", "text": "b"}]})


async def test_without_a_valid_key_there_is_nothing(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with asking(tmp_path, OPEN) as server:
        for key in (None, "hlg_000000000000_" + "x" * 43):
            async with server.http(key) as http:
                refused = await http.post("/mcp", json=request)
                assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        async with server.http(server.key()) as http:
            assert (await http.get("/mcp")).status_code == 405
            page = await http.post("/mcp", json=request, headers={"origin": "https://elsewhere.example"})
            assert page.status_code == 403


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of fifty notes, each about another bridge."""
    notes = [
        Document(f"notes/{name}", f"Mara Quill designed the {name} Bridge {'over the wide cold river ' * 20}of Aldane.")
        for name in (first + vowel + "ner" for first in "BDFGHKLMNP" for vowel in "aeiou")
    ]
    with store(tmp_path_factory.mktemp("notes"), notes, mcp_write=True) as service:
        service.start()
        yield service


@asynccontextmanager
async def inside(service: Service) -> AsyncIterator[Client]:
    """A client of the protocol in this process, who may do everything."""
    from hlgraph.serve.access import LOCAL
    from hlgraph.serve.mcp import _in_thread

    async with Client(Agents(service, _in_thread, who=LOCAL).server) as client:
        yield client


async def test_a_reply_is_cut_between_pieces_and_says_how_to_read_on(service: Service) -> None:
    async with inside(service) as client:
        asked = {"question": "Which bridges of Aldane did Mara Quill design?", "strategy": "chunk", "k": 20}
        whole = tree(await client.call_tool("search", {**asked, "tokens": 100_000}))
        assert "note" not in whole
        read: list[Any] = []
        while True:
            result = await client.call_tool("search", {**asked, "tokens": 400, "skip": len(read)})
            part = tree(result)
            assert count_tokens(json.dumps(part)) <= 400
            assert part["evidence"]
            read += part["evidence"]
            if len(read) == 20:
                break
            shown = len(part["evidence"])
            left = 20 - len(read) + shown
            assert part["note"] == f"{shown} of {left} pieces of evidence shown: ask with skip={len(read)}, k=20"
        assert read == whole["evidence"]
        place = {"source": "notes/Baner", "tokens": 200}
        nothing = tree(await client.call_tool("open_evidence", place))
        assert nothing["passages"] == []
        (more,) = re.findall(r"^0 of 1 passages from there on shown: ask with tokens=(\d+)$", nothing["note"])
        assert tree(await client.call_tool("open_evidence", {**place, "tokens": int(more)}))["passages"]
        around = tree(await client.call_tool("neighbours", {"entity": "Mara Quill", "tokens": 600}))
        assert re.search(r"\d+ of \d+ facts shown: ask with tokens=1200", around["note"])
        found = tree(await client.call_tool("find_entity", {"name": "bridge", "tokens": 300}))
        following = tree(await client.call_tool("find_entity", {"name": "bridge", "after": found["after"]}))
        ids = [entity["id"] for entity in (*found["entities"], *following["entities"])]
        assert len(ids) == len(set(ids))
        assert len(ids) == 50
        assert found["note"] == f"{len(found['entities'])} of 50 entities shown: ask with after={found['after']}"
        assert "note" not in following


async def test_an_answer_of_a_tool_is_no_failure_in_the_audit(service: Service) -> None:
    async with inside(service) as client:
        answer = tree(await client.call_tool("answer", {"question": "Who designed the Baner Bridge?"}))
    line = json.loads(Path(service.settings.state, "audit.jsonl").read_text().splitlines()[-1])
    assert line["what"] == "answer"
    assert len(line["ids"]) == len(answer["citations"]) > 0


async def test_a_refusal_names_what_an_agent_has_and_no_command(service: Service) -> None:
    async with inside(service) as client:
        for tool, given, mend in (
            ("open_evidence", {"source": "nope"}, "the resources are the sources"),
            ("neighbours", {"entity": "nope"}, "the tool find_entity finds them by words of their names"),
        ):
            refused = await client.call_tool(tool, given)
            assert refused.is_error
            assert refused.content[0].text.endswith(f"; {mend}")  # type: ignore[union-attr]


async def test_sources_are_resources_page_by_page(service: Service) -> None:
    service.graph.in_corpus("other").ingest([Document(f"more/{number}", f"Ada {number} left.") for number in range(70)])
    async with inside(service) as client:
        uris: list[str] = []
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            assert len(page.resources) <= 100
            uris += [resource.uri for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(uris) == len(set(uris)) == 120
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template.format(corpus="default", source="X") == "hlgraph:///corpora/default/sources/X"
        text = (await client.read_resource("hlgraph:///corpora/other/sources/more%2F7")).contents[0]
        assert isinstance(text, types.TextResourceContents)
        assert (text.text, text.mime_type) == ("Ada 7 left.", "text/plain")
        for uri in (
            "hlgraph:///corpora/nowhere/sources/x",
            "hlgraph:///corpora/default/sources/x",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == types.INVALID_PARAMS
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="bm90IGpzb24=")


async def test_all_that_an_inspector_lists_is_there(tmp_path: Path) -> None:
    """Clients list prompts without asking whether there are any, and drop a server that refuses."""
    with store(tmp_path, OPEN) as service:
        service.graph.in_corpus("old news").ingest(OPEN)
        async with inside(service) as client:
            offered = client.server_capabilities
            assert offered.model_dump(exclude_none=True, exclude_defaults=True).keys() == {
                "completions",
                "prompts",
                "resources",
                "tools",
            }
            prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            assert [argument.name for argument in prompts["about"].arguments or ()] == ["entity", "corpus"]
            (message,) = (await client.get_prompt("ask", {"question": "Who {left}?", "corpus": "old news"})).messages
            assert isinstance(message.content, types.TextContent)
            assert message.content.text.endswith("Question: Who {left}?")
            assert "in its corpus 'old news'" in message.content.text
            for name, given, said in (("ask", {"question": " "}, "question"), ("tell", {}, "list the prompts")):
                with pytest.raises(MCPError, match=said) as refused:
                    await client.get_prompt(name, given)
                assert refused.value.code == types.INVALID_PARAMS
            for reference in (
                types.PromptReference(name="ask"),
                types.ResourceTemplateReference(uri="hlgraph:///corpora/{corpus}/sources/{source}"),
            ):
                completed = await client.complete(reference, {"name": "corpus", "value": "o"})
                assert completed.completion.values == ["old news"]
            assert (await client.complete(reference, {"name": "source", "value": ""})).completion.values == []


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("search", {}, "question"),
        ("search", {"question": QUESTION, "k": 0}, "k"),
        ("search", {"question": QUESTION, "tokens": 1}, "tokens"),
        ("search", {"question": QUESTION, "colour": "red"}, "colour"),
        ("search", {"question": QUESTION, "strategy": "nearest"}, "choose one of"),
        ("search", {"question": QUESTION, "where": "year >"}, "year"),
        ("search", {"question": QUESTION, "corpus": "nowhere"}, "the tool corpora lists"),
        ("answer", {"question": " "}, "question"),
        ("neighbours", {"entity": "Nobody"}, "Nobody"),
        ("ingest", {}, "in one way"),
        ("ingest", {"paths": ["/etc/passwd"]}, "--root"),
        ("ingest", {"job": "0" * 32}, "no job"),
    ],
)
async def test_bad_input_is_an_error_of_the_tool_with_its_mend(
    service: Service, tool: str, given: dict[str, Any], said: str
) -> None:
    async with inside(service) as client:
        text = refusal(await client.call_tool(tool, given))
        assert said in text
        assert "/v1/" not in text


async def test_a_bug_is_said_without_its_trace(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(service, "corpora", fail)
    async with inside(service) as client:
        with pytest.raises(MCPError) as error:
            await client.call_tool("corpora", {})
    assert error.value.message == "the server failed; this is a bug in hlgraph"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_answers_and_ingests_report_progress(tmp_path: Path, mode: str) -> None:
    async with asking(tmp_path, OPEN, mcp_write=True) as server:
        key = server.key(rights=("write",), groups=["public"])
        async with server.agent(key, mode=mode) as client:
            told: list[tuple[float, str | None]] = []

            async def on_progress(number: float, _: float | None, message: str | None) -> None:
                told.append((number, message))

            answered = tree(await client.call_tool("answer", {"question": QUESTION}, progress_callback=on_progress))
            assert answered["answer"].startswith("Mara Quill designed the Aldane Bridge. [1]")
            assert answered["citations"][0]["uri"] == "notes/bridge"
            assert told[-1] == (len(told), "writing")
            told.clear()
            documents = [{"uri": "notes/new", "text": "Petra Voss bought the Aldane Bridge."}]
            done = tree(await client.call_tool("ingest", {"documents": documents}, progress_callback=on_progress))
            assert (done["state"], done["sources"]["added"]) == ("done", 1)
            assert told[-1][1] == "done"
            assert [number for number, _ in told] == sorted({number for number, _ in told})
            started = tree(await client.call_tool("ingest", {"documents": documents, "wait": 0}))
            assert started["note"] == f"the job goes on: ask with job={started['job']}"
            assert tree(await client.call_tool("ingest", {"job": started["job"]}))["sources"]["unchanged"] == 1
            assert "Petra Voss" in json.dumps(tree(await client.call_tool("find_entity", {"name": "Petra"})))
            refused = await client.call_tool("ingest", {"documents": documents, "options": {"acl": ["board"]}})
            assert "its own groups only" in refusal(refused)


@pytest.mark.model
async def test_a_process_serves_one_user_on_its_standard_streams(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridge.md").write_text("Mara Quill designed the Aldane Bridge.", encoding="utf-8")
    command = ["-m", "hlgraph", "--store", f"hlgraph://{tmp_path}/store", "mcp", "--state", str(tmp_path / "state")]
    root = str(tmp_path / "docs")
    parameters = StdioServerParameters(
        command=sys.executable, args=[*command, "--write", "--root", root], env={"OMP_NUM_THREADS": "1"}
    )
    async with Client(parameters, read_timeout_seconds=120) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {tool.name for tool in TOOLS}
        done = tree(await client.call_tool("ingest", {"paths": [root]}))
        assert done["sources"]["added"] == 1
        found = tree(await client.call_tool("search", {"question": QUESTION, "k": 1}))
        assert found["evidence"][0]["text"].endswith("Mara Quill designed the Aldane Bridge.")
        assert tree(await client.call_tool("corpora", {}))["corpora"] == ["default"]


class AgentView:
    """A caller of the leakage kit who asks by the official client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def call(self, tool: str, **given: Any) -> Any:
        """The reply of a tool, or why it was refused."""
        result = self._portal.call(partial(self._client.call_tool, tool, given))
        return refusal(result) if result.is_error else tree(result)

    def listed(self) -> list[types.Resource]:
        """The resources."""
        return self._portal.call(self._client.list_resources).resources

    def read(self, uri: str) -> str:
        """The text of a resource, or why it was refused."""
        try:
            content = self._portal.call(self._client.read_resource, uri).contents[0]
        except MCPError as error:
            return error.message
        assert isinstance(content, types.TextResourceContents)
        return content.text


class AgentGraph:
    """An operator of the leakage kit, whose callers are agents with keys of their groups."""

    def __init__(self, portal: BlockingPortal, server: Asking, closing: ExitStack) -> None:
        self._portal, self._server, self._closing = portal, server, closing
        self.ingest = server.service.graph.ingest
        self.ingestion = server.service.graph.ingestion
        self.corpus = "default"

    def as_caller(self, groups: Any) -> AgentView:
        agent = self._server.agent(self._server.key(groups=sorted(groups)))
        return AgentView(self._portal, self._closing.enter_context(self._portal.wrap_async_context_manager(agent)))


def agent_calls(history: History, seed: int) -> Iterator[Call]:
    """Every tool that reads, with every filter of the kit, and the resources; what was asked for is there, hidden, or nowhere."""
    chance = random.Random(seed)
    names = ["Mara Quill", "Orsel Works", "Halfmoon Bridge", "Tessing", "Nobody", ASKED]
    uris = [*sorted(history.groups), "papers:#none"]
    for where in (*FILTERS, "no_such_field = 1"):
        only = {} if where is None else {"where": where}
        question = f"Who left {chance.choice(names)}?"
        asked = [("search", {"question": question, "strategy": strategy, "k": 5}) for strategy in ("path", "chunk")]
        asked += [("answer", {"question": question}), ("find_entity", {"name": chance.choice(("word", "r", "a"))})]
        asked += [("neighbours", {"entity": name, "tokens": 800}) for name in chance.sample(names, 4)]
        asked += [("path", dict(zip(("start", "end"), chance.sample(names, 2), strict=True))) for _ in range(3)]
        for tool, given in asked:
            yield Call(f"{tool} {given} --where {where}", _of_tool(tool, {**given, **only}))
    for uri in uris:
        yield Call(f"open_evidence {uri}", _of_tool("open_evidence", {"source": uri, "tokens": 300}))
    yield Call("corpora", _of_tool("corpora", {}))
    hidden = [f"hlgraph:///corpora/default/sources/{name}" for uri in uris for name in (uri, source_id("default", uri))]
    yield Call("resources", lambda view, _: {uri: view.read(uri) for uri in (*hidden, *(r.uri for r in view.listed()))})
    yield Call("list of resources", lambda view, _: {r.uri: (r.name, r.title, r.size) for r in view.listed()})


def _of_tool(tool: str, given: dict[str, Any]) -> Any:
    def ask(view: AgentView, as_of: Any) -> dict[str, Any]:
        then = (
            {} if as_of is None or tool not in ("search", "answer", "open_evidence") else {"as_of": as_of.isoformat()}
        )
        return {"reply": view.call(tool, **given, **then)}

    return ask


@pytest.mark.parametrize("seed", range(cases(1, 12)))
def test_nothing_leaks_to_agents(tmp_path: Path, seed: int) -> None:
    numbers = itertools.count()
    history = History.of(seed)
    with start_blocking_portal() as portal, ExitStack() as closing:

        def served(clients: ExitStack) -> AgentGraph:
            server = portal.wrap_async_context_manager(asking(tmp_path / str(next(numbers)), []))
            return AgentGraph(portal, clients.enter_context(server), clients)

        @contextmanager
        def opened() -> Iterator[Any]:
            with ExitStack() as clients:
                yield served(clients)

        graph: Any = served(closing)
        history.run(graph._server.service.graph)
        found = list(leaks(graph, history, opened=opened, calls=list(agent_calls(history, seed))))
    assert found == []

"""The commands ``hlgraph serve``, ``hlgraph mcp`` and ``hlgraph keys``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.command import Invocation, argument, command, group, option
from hlgraph.cli.output import note
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.serve.access import Key, Keys
    from hlgraph.settings import Settings

PLACE = 35  # position in the list of commands

app = typer.Typer()
keys = group("keys", "Make, list and revoke the keys of the server (hlgraph serve).")
app.add_typer(keys)

State = Annotated[
    str | None,
    option(
        "--state DIR",
        "The folder of keys, jobs and uploads (also HLGRAPH_SERVE_STATE; default: one for this store in your data folder).",
    ),
]
Root = Annotated[
    list[str] | None,
    option(
        "--root DIR",
        "A folder, or an s3:// prefix, from which requests may ingest (may be repeated; default: none).",
    ),
]
Served = Annotated[
    list[str] | None, option("--corpus -c NAME", "Serve this corpus only (may be repeated; default: all).")
]


@command(app, "serve")
def serve(
    cli: Invocation,
    host: Annotated[
        str, option("", "The address to listen at; any other than this machine's own needs a key.")
    ] = "127.0.0.1",
    port: Annotated[int, option("", "The port to listen at; 0: any free one.")] = 8080,
    corpus: Served = None,
    root: Root = None,
    workers: Annotated[int, option("N", "The number of processes.")] = 1,
    mcp_write: Annotated[
        bool, option("--mcp-write", "Let agents ingest by the tools at /mcp, if their key may write.")
    ] = False,
    state: State = None,
) -> None:
    """Serve the store: REST under /v1, the interface of OpenAI, and tools for agents (MCP) at /mcp.

    Needs the extra server. Without a key it answers this machine only. GET /v1/openapi.json describes every route. Ctrl-C or
    SIGTERM ends it; jobs go on when it starts again.

    \b
    Examples:
      hlgraph serve
      hlgraph serve --corpus news --root /data/docs --workers 4
      hlgraph keys add website --corpus news && hlgraph serve --host 0.0.0.0
    """
    from hlgraph.serve.application import ServeOptions, bound, check_protected
    from hlgraph.serve.application import serve as run

    settings = _settings(cli, state, root=root, mcp_write=mcp_write)
    options = ServeOptions(host=host, port=port, corpora=tuple(corpus) if corpus else None, workers=workers)
    check_protected(settings, options)
    listener = bound(options)
    name = f"[{host}]" if ":" in host else host
    url = f"http://{name}:{listener.getsockname()[1]}"
    cli.show({"url": url, "store": settings.store}, [f"serving {settings.store} at {url}"])
    sys.stdout.flush()  # a program may wait for the address
    try:
        run(settings, options, listener=listener)
    except KeyboardInterrupt:
        note("the server ended")


@command(app, "mcp", "caller")
def mcp(
    cli: Invocation,
    corpus: Served = None,
    write: Annotated[bool, option("--write", "Offer the tool ingest; without it the tools only read.")] = False,
    root: Root = None,
    state: State = None,
) -> None:
    """Serve the store to one agent on standard input and output: tools and resources (MCP).

    Needs the extra server. A client starts it, and its end ends it. hlgraph serve has the same tools at /mcp.

    \b
    Examples:
      hlgraph mcp
      hlgraph mcp --corpus news --as finance
      hlgraph mcp --write --root /data/docs
    """
    from hlgraph.serve.mcp import serve_stdio

    if cli.as_ and cli.as_operator:
        raise InputError("--as names groups, and --as-operator sees every source; use only one of them")
    settings = _settings(cli, state, root=root, mcp_write=write)
    try:
        serve_stdio(settings, groups=cli.as_ or (), corpora=corpus or (), as_operator=cli.as_operator)
    except KeyboardInterrupt:
        note("the server ended")


@command(keys, "add")
def add(
    cli: Invocation,
    name: Annotated[str, argument("NAME", "What the key is for.")],
    corpus: Annotated[
        list[str] | None, option("--corpus -c NAME", "A corpus that the key opens (may be repeated; default: all).")
    ] = None,
    right: Annotated[
        list[str] | None,
        option(
            "--right RIGHT",
            "read, write or operate; each includes those before it (may be repeated; default: read).",
        ),
    ] = None,
    group_: Annotated[
        list[str] | None,
        option("--group GROUP", "A group of its callers, who then see only sources that name it (may be repeated)."),
    ] = None,
    days: Annotated[float | None, option("N", "Days after which the key is refused (default: never).")] = None,
    state: State = None,
) -> None:
    """Make a key, and print it once: only its hash is stored.

    \b
    Examples:
      hlgraph keys add website --corpus news
      hlgraph keys add loader --corpus news --right write --days 90
      hlgraph keys add finance-page --group finance --group board
    """
    with _keys(_settings(cli, state)) as all_keys:
        text, key = all_keys.add(name, corpora=corpus or None, rights=right or ["read"], groups=group_ or (), days=days)
    cli.show(
        {"key": text, **_tree(key)}, [text, f"this key is not shown again; to revoke it: hlgraph keys revoke {key.id}"]
    )


@command(keys, "list")
def list_keys(cli: Invocation, state: State = None) -> None:
    """List the keys of the server, without their secrets.

    \b
    Example:
      hlgraph keys list
    """
    with _keys(_settings(cli, state)) as all_keys:
        listed = all_keys.list()
    cli.show({"keys": [_tree(key) for key in listed]}, [_line(key) for key in listed] or ["no keys"])


@command(keys, "revoke")
def revoke(
    cli: Invocation,
    id_: Annotated[str, argument("ID", "The id of the key, as keys list shows it.")],
    state: State = None,
) -> None:
    """Refuse a key from the next request on.

    \b
    Example:
      hlgraph keys revoke 0a1b2c3d4e5f
    """
    with _keys(_settings(cli, state)) as all_keys:
        key = all_keys.revoke(id_)
    cli.show({"revoked": _tree(key)}, [f"revoked: {_line(key)}"])


def _settings(
    cli: Invocation, state: str | None, *, root: list[str] | None = None, mcp_write: bool = False
) -> Settings:
    """The settings, overridden by the options."""
    settings = cli.settings()
    serve = settings.serve
    return replace(
        settings,
        serve=replace(
            serve,
            state=serve.state if state is None else state,
            roots=(*serve.roots, *(root or ())),
            mcp_write=serve.mcp_write or mcp_write,
        ),
    )


@contextmanager
def _keys(settings: Settings) -> Iterator[Keys]:
    from hlgraph.serve.access import Keys, StateFile
    from hlgraph.settings import server_folder

    file = StateFile(server_folder(settings))
    try:
        yield Keys(file)
    finally:
        file.close()


def _tree(key: Key) -> dict[str, object]:
    return asdict(key)


def _line(key: Key) -> str:
    corpora = "all corpora" if key.corpora is None else ", ".join(key.corpora)
    parts = [key.id, key.name, corpora, ", ".join(key.rights)]
    if key.groups:
        parts.append(f"groups {', '.join(key.groups)}")
    if key.expires:
        parts.append(f"until {key.expires}")
    return "  ".join([*parts, *(["revoked"] if key.revoked else [])])

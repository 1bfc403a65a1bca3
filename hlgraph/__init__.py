"""hlgraph: a hierarchical lexical graph of your documents, and cited answers from it.

::

    import hlgraph

    with hlgraph.connect("hlgraph://./my-graph") as graph:
        graph.ingest(["docs/"])
        print(graph.answer("Who built the bridge?").text)
"""

from __future__ import annotations

from hlgraph import errors as errors

__version__ = "0.2.0"

# The modules of the public names, which __init__.pyi lists for type checkers: lines such as "from MODULE import NAME as NAME".
# The loader reads it, so that the package can be imported from an archive.
_STUB = __loader__.get_data(f"{__path__[0]}/__init__.pyi").decode()
_LATER = {words[3]: words[1] for words in map(str.split, _STUB.splitlines()) if words[:1] == ["from"]}

__all__ = sorted(("__version__", *_LATER))  # noqa: PLE0605 - read at run time only


def __getattr__(name: str) -> object:
    """Import modules at first use."""
    if name not in _LATER:
        raise AttributeError(f"module 'hlgraph' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return __all__

"""Integration with LangChain: a retriever, a tool for agents, and conversion of documents in both directions.

::

    from hlgraph.integrations.langchain import HLGraphRetriever, from_langchain, search_tool

    graph.ingest(from_langchain(loader.load()))
    retriever = HLGraphRetriever(graph=graph, k=5)
    agent_tools = [search_tool(graph)]
"""

from hlgraph.errors import MissingExtraError

try:
    import langchain_core  # noqa: F401 - imported here, so that its absence gives one clear error
except ImportError as error:
    raise MissingExtraError("langchain", "hlgraph in LangChain") from error

from hlgraph.integrations.langchain.retriever import HLGraphRetriever, from_langchain, search_tool, to_langchain

__all__ = ["HLGraphRetriever", "from_langchain", "search_tool", "to_langchain"]

"""Extraction with a chat model: entities first, then propositions with topics and facts about these entities."""

from hlgraph.errors import needs_extra

with needs_extra("chat", "extraction by a chat model"):
    import pydantic  # noqa: F401 - imported here, so that its absence gives one clear error

from hlgraph.extract.chat._extractor import (
    ChatExtractor,
    ChatJudge,
    ExpectedCall,
    Mended,
    NextCall,
    Verdict,
    expected_calls,
    expected_domain,
    given_domain,
    infer_domain,
    mended,
    next_call,
)
from hlgraph.extract.chat.messages import ReplyError, prompt

__all__ = [
    "ChatExtractor",
    "ChatJudge",
    "ExpectedCall",
    "Mended",
    "NextCall",
    "ReplyError",
    "Verdict",
    "expected_calls",
    "expected_domain",
    "given_domain",
    "infer_domain",
    "mended",
    "next_call",
    "prompt",
]

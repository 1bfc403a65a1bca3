"""Which model is used: what the caller gives, else what the settings name; objects of LangChain as they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from hlgraph.errors import InputError, MissingExtraError, ModelAnswerError, SettingsError, UnknownNameError
from hlgraph.models import question_vector
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.checked import CheckedEmbedder
from hlgraph.models.choose import chosen_chat, chosen_embedder, chosen_reranker
from hlgraph.models.langchain import LangChainChat, langchain_embedder, langchain_reranker
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.models.remote import RemoteEmbedder
from hlgraph.settings import ModelSettings, load
from hlgraph.testing.embedder import WordEmbedder


class _Asymmetric(Embeddings):
    """Questions point another way than texts."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 1.0]


class _Compressor(BaseDocumentCompressor):
    """Keeps texts with an r, longest first."""

    has_scores: bool = False
    has_metadata: bool = True

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        kept = sorted(
            (item for item in documents if "r" in item.page_content), key=lambda item: -len(item.page_content)
        )
        for item in kept:
            if self.has_scores:
                item.metadata["relevance_score"] = len(item.page_content)
        return kept if self.has_metadata else [Document(item.page_content) for item in kept]


def test_replies_of_model_objects_are_checked(tmp_path: Path) -> None:
    names = ModelSettings(cache=str(tmp_path))
    embedder = WordEmbedder()
    chosen, cache = chosen_embedder(embedder, names)
    assert (type(chosen), cache, chosen.fingerprint, chosen.dimensions) == (CheckedEmbedder, None, "words/32", 32)
    np.testing.assert_array_equal(chosen.embed(["a mill", ""]), embedder.embed(["a mill", ""]))
    assert isinstance(chosen_embedder(DeterministicFakeEmbedding(size=5), names)[0], RemoteEmbedder)
    reranker = LexicalReranker()
    assert chosen_reranker(reranker, names) is reranker
    assert isinstance(chosen_reranker("", names), LexicalReranker)
    assert chosen_reranker(_Compressor(), names).fingerprint == "_Compressor"
    chat = LangChainChat(FakeListChatModel(responses=["a"]))
    assert chosen_chat(chat, names) is chat
    assert chosen_chat(FakeListChatModel(responses=["a"]), names).fingerprint == "FakeListChatModel"


def test_object_that_is_no_model_is_refused() -> None:
    for choose in (chosen_chat, chosen_embedder, chosen_reranker):
        with pytest.raises(InputError, match=r"object is not a.*LangChain"):
            choose(object(), ModelSettings())  # type: ignore[operator]
    with pytest.raises(UnknownNameError, match="write provider:model"):
        chosen_chat("gpt", ModelSettings())
    with pytest.raises(UnknownNameError, match="one of the providers bedrock, cohere"):
        chosen_reranker("opnai:x", ModelSettings())
    with pytest.raises(UnknownNameError, match="one of the providers bedrock, cohere, ollama, openai"):
        chosen_embedder("opnai:x", ModelSettings())


def test_an_object_that_names_its_model_is_cached(tmp_path: Path) -> None:
    class Named(_Asymmetric):
        model = "m-1"
        dimensions = 2

    embedder, cache = chosen_embedder(Named(), ModelSettings(cache=str(tmp_path)))
    assert embedder is cache
    assert embedder.fingerprint == "Named:m-1/2"


def test_a_named_embedder_is_cached_and_named_after_its_dimensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    names = ModelSettings(cache=str(tmp_path), embedder="openai:text-embedding-3-small", dimensions=256)
    embedder, cache = chosen_embedder(names.embedder, names)
    assert embedder is cache
    assert isinstance(embedder, CachedEmbedder)
    assert (embedder.fingerprint, embedder.dimensions) == ("openai:text-embedding-3-small/256", 256)


def test_missing_package_error_contains_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    missing = {"openai": "langchain_openai", "anthropic": "langchain_anthropic", "bedrock": "langchain_aws"}
    for extra, module in missing.items():
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingExtraError, match=rf"the model {extra}:m .*pip install 'hlgraph\[{extra}\]'"):
            chosen_chat(f"{extra}:m", ModelSettings())
    monkeypatch.setitem(sys.modules, "cohere", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[cohere\]'"):
        chosen_reranker("cohere:m", ModelSettings())


def test_questions_are_embedded_in_their_own_way_and_cached_apart(tmp_path: Path) -> None:
    inner = langchain_embedder(_Asymmetric())
    cached = CachedEmbedder(inner, tmp_path / "c.sqlite")
    for _ in range(2):
        np.testing.assert_allclose(cached.embed(["same"])[0], [1, 0])
        np.testing.assert_allclose(question_vector(cached, "same"), [0, 1])
    assert (cached.hits, cached.misses) == (2, 2)
    cached.close()
    words = WordEmbedder()
    np.testing.assert_allclose(question_vector(words, "a b"), words.embed(["a b"])[0])


def test_a_reply_in_blocks_its_cost_and_its_end() -> None:
    message = AIMessage(
        content=[{"type": "text", "text": "One "}, {"type": "text", "text": "two."}],
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        response_metadata={"finish_reason": "length"},
    )
    reply = LangChainChat(GenericFakeChatModel(messages=iter([message]))).complete("s", "u", max_tokens=9)
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.is_cut) == ("One two.", 3, 2, True)


def test_a_reply_without_text_is_an_error() -> None:
    with pytest.raises(ModelAnswerError, match="replied with no text"):
        LangChainChat(FakeListChatModel(responses=["  "])).complete("s", "u", max_tokens=9)


def test_a_compressor_scores_by_place_or_by_its_own_scores() -> None:
    texts = ["bridge", "no", "river bank"]
    np.testing.assert_allclose(langchain_reranker(_Compressor()).rerank("q", texts), [0.5, -0.5, 1])
    np.testing.assert_allclose(langchain_reranker(_Compressor(has_scores=True)).rerank("q", texts), [6, 5, 10])
    with pytest.raises(ModelAnswerError, match="does not keep the metadata"):
        langchain_reranker(_Compressor(has_metadata=False)).rerank("q", texts)


def test_models_in_the_environment_and_no_keys_in_settings() -> None:
    found = load(
        environment={
            "HLGRAPH_CHAT": "ollama:llama3:8b",
            "HLGRAPH_CHAT_URL": "http://127.0.0.1:11434",
            "HLGRAPH_EMBEDDER": "ollama:e",
            "HLGRAPH_EMBEDDER_URL": "http://127.0.0.1:1",
            "HLGRAPH_RERANKER": "cohere:r",
        }
    ).models
    assert (found.chat, found.chat_url) == ("ollama:llama3:8b", "http://127.0.0.1:11434")
    assert (found.embedder, found.embedder_url, found.reranker) == ("ollama:e", "http://127.0.0.1:1", "cohere:r")
    with pytest.raises(SettingsError, match=r"models\.chat_url contains a user or password") as caught:
        ModelSettings(chat_url="https://me:secret@host/v1")
    assert "secret" not in str(caught.value)
    with pytest.raises(SettingsError, match=r"models\.timeout is 0"):
        ModelSettings(timeout=0)

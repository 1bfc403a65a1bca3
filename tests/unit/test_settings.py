"""Settings: from a file and the environment, strictly."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from hlgraph.errors import InputError, SettingsError
from hlgraph.sdk.arguments import check_database
from hlgraph.settings import (
    DEFAULT_STORE,
    ChunkSettings,
    ModelSettings,
    OpenSearchSettings,
    Settings,
    as_text,
    load,
)

_FULL = """
store: hlgraph://./graph
corpus: news
chunk:
  max_tokens: 120
  overlap: 0.1
models:
  root: /models
  cache: null
  embedder: other
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "hlgraph.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_apply_without_a_file() -> None:
    assert load(environment={}) == Settings()
    assert Settings().store == DEFAULT_STORE
    assert Settings().chunk == ChunkSettings(max_tokens=300, overlap=0.2)


def test_a_file_sets_everything(tmp_path: Path) -> None:
    expected = Settings(
        store="hlgraph://./graph",
        corpus="news",
        chunk=ChunkSettings(max_tokens=120, overlap=0.1),
        models=ModelSettings(root="/models", cache=None, embedder="other"),
    )
    assert load(_file(tmp_path, _FULL), environment={}) == expected


def test_a_file_sets_a_part_of_a_section_and_the_rest_is_default(tmp_path: Path) -> None:
    found = load(_file(tmp_path, "chunk: {max_tokens: 120}\n"), environment={})
    assert found == Settings(chunk=ChunkSettings(max_tokens=120))


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "---\n", "{}"])
def test_an_empty_file_is_all_defaults(tmp_path: Path, text: str) -> None:
    assert load(_file(tmp_path, text), environment={}) == Settings()


def test_the_environment_names_the_file_and_overrides_it(tmp_path: Path) -> None:
    environment = {
        "HLGRAPH_CONFIG": str(_file(tmp_path, _FULL)),
        "HLGRAPH_STORE": "hlgraph:///elsewhere",
        "HLGRAPH_CORPUS": "mail",
        "HLGRAPH_MODELS": "/m",
        "HLGRAPH_CACHE": "/c",
    }
    found = load(environment=environment)
    assert (found.store, found.corpus) == ("hlgraph:///elsewhere", "mail")
    assert found.models == ModelSettings(root="/m", cache="/c", embedder="other")
    assert found.chunk.max_tokens == 120


def test_an_explicit_file_overrides_that_of_the_environment(tmp_path: Path) -> None:
    given_file = _file(tmp_path, "corpus: given\n")
    assert load(given_file, environment={"HLGRAPH_CONFIG": str(tmp_path / "missing.yaml")}).corpus == "given"


def test_an_empty_variable_overrides_nothing(tmp_path: Path) -> None:
    names = ("HLGRAPH_CONFIG", "HLGRAPH_STORE", "HLGRAPH_CORPUS", "HLGRAPH_MODELS", "HLGRAPH_CACHE")
    empty = dict.fromkeys(names, "")
    assert load(environment=empty) == Settings()
    assert load(_file(tmp_path, _FULL), environment=empty) == load(_file(tmp_path, _FULL), environment={})


def test_an_explicit_environment_replaces_that_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STORE", "CORPUS", "MODELS", "CACHE"):
        monkeypatch.setenv(f"HLGRAPH_{name}", "from the process")
    monkeypatch.setenv("HLGRAPH_CONFIG", str(tmp_path / "from-the-process.yaml"))
    monkeypatch.setenv("NAME_OF_CORPUS", "from the process")
    before = dict(os.environ)
    assert load(environment={}) == Settings()
    path = _file(tmp_path, "corpus: ${NAME_OF_CORPUS:-nothing}\n")
    assert load(path, environment={}).corpus == "nothing"
    assert load(path, environment={"NAME_OF_CORPUS": "given"}).corpus == "given"
    assert dict(os.environ) == before
    monkeypatch.delenv("HLGRAPH_CONFIG")
    assert load().corpus == "from the process"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("${A}", "one"),
        ("x/${A}/${B}", "x/one/two words"),
        ("${A}${A}", "oneone"),
        ("${GONE:-else}", "else"),
        ("${GONE:-}", ""),
        ("${EMPTY:-else}", "else"),
        ("${EMPTY}", ""),
        ("${A:-else}", "one"),
        ("${GONE:-http://host:1/a-b}", "http://host:1/a-b"),
        ("${YAML}", "a: [1, {b"),
        ("${TWICE}", "${A}"),
        ("$A ${} ${a b} $ {A}", "$A ${} ${a b} $ {A}"),
    ],
)
def test_environment_references_in_values_are_expanded(tmp_path: Path, written: str, read: str) -> None:
    environment = {"A": "one", "B": "two words", "EMPTY": "", "YAML": "a: [1, {b", "TWICE": "${A}"}
    path = _file(tmp_path, yaml.safe_dump({"vectors": written, "models": {"embedder": written}}))
    found = load(path, environment=environment)
    assert (found.vectors, found.models.embedder) == (read, read)


def test_an_unset_environment_reference_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    path = _file(tmp_path, "models: {root: '${MODEL_FOLDER}'}\n")
    with pytest.raises(
        SettingsError, match=r"MODEL_FOLDER is not set; set it, or write \$\{MODEL_FOLDER:-value\}"
    ) as e:
        load(path, environment={})
    assert str(path) in str(e.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stroe: x", "unknown key stroe; the known keys are: store, vectors, corpus, wait, functional, chunk, models"),
        ("chunk: {max_token: 100}", "unknown key chunk.max_token; the known keys are: max_tokens, overlap"),
        ("models: {rot: x}", "unknown key models.rot; the known keys are: root, cache, embedder"),
        ("1: x", "unknown key 1"),
        ("null: x", "unknown key None"),
    ],
)
def test_a_misspelt_key_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load(_file(tmp_path, text), environment={})


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("corpus: 7", "corpus"),
        ("store: [a]", "store"),
        ("chunk: 3", "chunk"),
        ("chunk:", "chunk"),
        ("models: [root]", "models"),
        ("chunk: {max_tokens: many}", "chunk.max_tokens"),
        ("chunk: {max_tokens: 100.5}", "chunk.max_tokens"),
        ("chunk: {max_tokens: true}", "chunk.max_tokens"),
        ("chunk: {overlap: '0.1'}", "chunk.overlap"),
        ("models: {embedder: null}", "models.embedder"),
        ("chunk: {max_tokens: 19}", "chunk.max_tokens is 19"),
        ("chunk: {overlap: 0.6}", "chunk.overlap is 0.6"),
        ("chunk: {overlap: .nan}", "chunk.overlap is nan"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error_with_its_path(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(SettingsError, match=place.replace(".", r"\.")):
        load(_file(tmp_path, text), environment={})


@pytest.mark.parametrize(
    "text", ["- a", "just words", "[]", "0", "false", "a: b: c", "a: [", "? [1]\n: 2", "corpus: 2001-99-99"]
)
def test_invalid_yaml_and_non_mappings_are_errors(tmp_path: Path, text: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(SettingsError, match="hlgraph config") as error:
        load(path, environment={})
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"corpus: caf\xe9")
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / "latin.yaml"):
        with pytest.raises(SettingsError, match="cannot be read") as error:
            load(path, environment={})
        assert str(path) in str(error.value)
    with pytest.raises(SettingsError, match=r"missing\.yaml"):
        load(environment={"HLGRAPH_CONFIG": str(tmp_path / "missing.yaml")})


def test_settings_constructed_in_python_are_validated() -> None:
    with pytest.raises(SettingsError, match="at least 20 tokens"):
        ChunkSettings(max_tokens=5)
    with pytest.raises(SettingsError, match=r"overlap is -0\.1"):
        ChunkSettings(overlap=-0.1)


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12).filter(
    lambda text: "${" not in text
)
_SETTINGS = st.builds(
    Settings,
    store=_TEXT,
    corpus=_TEXT.filter(str.strip),
    chunk=st.builds(ChunkSettings, max_tokens=st.integers(20, 10**9), overlap=st.floats(0, 0.5)),
    models=st.builds(ModelSettings, root=st.none() | _TEXT, cache=st.none() | _TEXT, embedder=_TEXT),
)


@hypothesis_settings(max_examples=50)
@given(settings=_SETTINGS)
def test_settings_round_trip_through_yaml(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> None:
    path = _file(tmp_path_factory.getbasetemp(), as_text(settings))
    assert load(path, environment={}) == settings


def test_an_unknown_runtime_of_the_local_model_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"models\.runtime is 'torch'; choose onnxruntime, openvino or int8"):
        load(environment={"HLGRAPH_RUNTIME": "torch"})


@pytest.mark.parametrize("name", ["", " ", "a\0b", "\ud800", 5, None])
def test_unstorable_corpus_names_are_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="the name of the corpus is"):
        Settings(corpus=name)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"layout": "one"}, "opensearch.layout is 'one'; choose shared or dedicated"),
        ({"engine": "nmslib"}, "opensearch.engine is 'nmslib'; choose lucene or faiss"),
        (
            {"quantisation": "fp16"},
            "opensearch.quantisation is 'fp16', which the engine lucene does not have; choose none or byte",
        ),
        (
            {"engine": "faiss", "quantisation": "byte"},
            "opensearch.quantisation is 'byte', which the engine faiss does not have; choose none or fp16",
        ),
        (
            {"service": "aoss", "region": "r", "quantisation": "fp16"},
            "opensearch.quantisation is 'fp16', which a serverless service does not have; choose none",
        ),
        ({"shards": 0}, "opensearch.shards is 0; choose a number from 1 to 1024"),
        ({"hnsw_m": 1}, "opensearch.hnsw_m is 1; choose a number from 2 to 100"),
        ({"read_seconds": 0}, "opensearch.read_seconds is 0; choose a number from 0.01 to 3600"),
        ({"read_seconds": float("nan")}, "opensearch.read_seconds is nan; choose a number from 0.01 to 3600"),
    ],
)
def test_unsupported_index_settings_are_refused(given: dict[str, object], reason: str) -> None:
    with pytest.raises(SettingsError, match=f"^{re.escape(reason)}$"):
        OpenSearchSettings(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{auth: magic}", "neo4j.auth is 'magic'"),
        ("{auth: bearer}", "neo4j.token is empty"),
        ("{auth: custom, user: a}", "neo4j.scheme is empty"),
        ("{pool_size: 0}", "neo4j.pool_size is 0"),
        ("{retry_seconds: -1}", "neo4j.retry_seconds is -1"),
        ("{read_seconds: 0}", "neo4j.read_seconds is 0"),
        ("{max_connection_lifetime: 0}", "neo4j.max_connection_lifetime is 0"),
        ("{label_prefix: 'a b'}", "neo4j.label_prefix is 'a b'"),
        ("{label_prefix: _a}", "neo4j.label_prefix"),
    ],
)
def test_invalid_neo4j_settings_are_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(says)):
        load(_file(tmp_path, f"neo4j: {text}\n"), environment={})


def test_secrets_of_neo4j_are_never_shown(tmp_path: Path) -> None:
    file = _file(tmp_path, "neo4j: {auth: bearer}\n")
    with pytest.raises(SettingsError, match="HLGRAPH_NEO4J_TOKEN"):
        load(file, environment={})
    given = load(environment={"HLGRAPH_NEO4J_TOKEN": "s3cret", "HLGRAPH_NEO4J_AUTH": "bearer"})
    assert (given.neo4j.auth, given.neo4j.token) == ("bearer", "s3cret")
    assert "s3cret" not in as_text(given) + repr(given)
    assert "token: ${HLGRAPH_NEO4J_TOKEN}" in as_text(given)


def test_a_corpus_can_have_its_own_database(tmp_path: Path) -> None:
    found = load(
        _file(tmp_path, "store: bolt://h:1\nneo4j: {database: main, databases: {news: press}}\n"), environment={}
    )
    assert [found.neo4j.database_of(name) for name in ("news", "other")] == ["press", "main"]
    check_database(found, "other")
    with pytest.raises(InputError, match="corpus 'news' is in the database press, and this graph is open on main"):
        check_database(found, "news")

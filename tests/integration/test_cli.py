"""The command line as people and scripts use it: on the sample documents, in files, pipes and terminals."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Done, call
from sample_vectors import copied

from hlgraph.cli.command import CHATTY, DRIVERS

SAMPLES = Path(__file__).parents[2] / "hlgraph" / "samples"
# One of each format.
CHOSEN = (
    "halfmoon-bridge.md",
    "jonas-querl.md",
    "pellam-canal.txt",
    "emeric-vaude.html",
    "casimir-dray.docx",
    "flood-warning-plan.pdf",
    "instruments.csv",
    "courier-notices.jsonl",
)
QUESTION = "Who designed the Halfmoon Bridge?"
HLGRAPH = [sys.executable, "-m", "hlgraph"]
NEW, EDITED = "It was opened on 19 September 1868", "It was opened on 20 September 1868"


@pytest.fixture(scope="module")
def base(sample_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder ``docs`` with samples and a folder ``store`` that holds them."""
    found = tmp_path_factory.mktemp("cli")
    (found / "docs").mkdir()
    for name in CHOSEN:
        shutil.copy(SAMPLES / name, found / "docs")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(found):
        patch.setenv("HLGRAPH_CACHE", copied(sample_vectors, found / "cache"))
        for name in ("HLGRAPH_STORE", "HLGRAPH_CORPUS", "HLGRAPH_CONFIG"):
            patch.delenv(name, raising=False)
        done = call("--store", "hlgraph://./store", "ingest", "docs")
        assert done.code == 0, done
        (found / "first.txt").write_text(done.out + done.err)
        yield found
    logging.getLogger("hlgraph").handlers.clear()
    for name in (*CHATTY, *DRIVERS):
        logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture
def copy(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same folder again, to be changed: the uris of its sources are those of ``base``, where the documents lie."""
    shutil.copytree(base / "store", tmp_path / "store")
    shutil.copytree(base / "docs", tmp_path / "kept")
    monkeypatch.chdir(base)
    monkeypatch.setenv("HLGRAPH_STORE", f"hlgraph://{tmp_path}/store")
    yield tmp_path
    shutil.rmtree(base / "docs")
    shutil.copytree(tmp_path / "kept", base / "docs")


def counts(out: str, name: str) -> dict[str, int]:
    """``chunks: 3 added, 1 removed`` as a mapping."""
    line = next(line for line in out.splitlines() if line.startswith(f"{name}: "))
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)}


def test_the_first_ingest_says_what_it_did(base: Path) -> None:
    said = (base / "first.txt").read_text()
    assert counts(said, "sources")["failed"] == 0
    assert counts(said, "sources")["added"] > len(CHOSEN)
    assert counts(said, "statements")["added"] > 100
    assert re.search(r"^time: read \d", said, flags=re.MULTILINE)
    files = re.search(r"^files: (\d+) found = (\d+) read \+ 0 unchanged \+ 0 left out \+ 0 failed$", said, re.MULTILINE)
    assert files is not None
    assert files[1] == files[2]


def test_ingesting_again_changes_nothing(copy: Path) -> None:
    done = call("ingest", "docs")
    assert done.code == 0
    found = counts(done.out, "sources")
    assert (found["added"], found["changed"], found["removed"]) == (0, 0, 0)
    for name in ("chunks", "statements", "entities"):
        found = counts(done.out, name)
        assert (found["added"], found["removed"]) == (0, 0)
        assert found["kept"] > 0


def test_an_edit_touches_its_chunks_only(copy: Path, base: Path) -> None:
    path = base / "docs" / "halfmoon-bridge.md"
    path.write_text(path.read_text().replace(NEW, EDITED))
    done = call("ingest", "docs")
    assert (counts(done.out, "sources")["changed"], counts(done.out, "sources")["added"]) == (1, 0)
    chunks = counts(done.out, "chunks")
    assert 1 <= chunks["added"] <= 2
    assert chunks["added"] == chunks["removed"]
    assert chunks["kept"] > 20
    assert EDITED.removeprefix("It ") in call("search", "When was the Halfmoon Bridge opened?").out
    assert "the store is fine" in call("doctor").out


def test_delete_missing_removes_what_is_gone(copy: Path, base: Path) -> None:
    (base / "docs" / "jonas-querl.md").unlink()
    assert counts(call("ingest", "docs").out, "sources")["removed"] == 0
    assert "jonas-querl.md" in call("search", "Jonas Querl").out
    assert counts(call("ingest", "docs", "--delete-missing").out, "sources")["removed"] == 1
    assert "jonas-querl.md" not in call("search", "Jonas Querl", "--k", 100).out


def test_delete_by_path_by_filter_and_all(copy: Path, base: Path) -> None:
    assert counts(call("delete", "docs/jonas-querl.md").out, "sources")["removed"] == 1
    assert counts(call("delete", "--where", 'category = "structure"').out, "sources")["removed"] == 1
    assert "halfmoon-bridge.md" not in call("search", QUESTION, "--k", 100).out
    uri = (base / "docs" / "pellam-canal.txt").as_uri()
    assert counts(call("delete", uri).out, "sources")["removed"] == 1
    done = call("delete", uri)  # a command that was killed at its very end may be repeated
    assert done.code == 0
    assert "removed before: 1" in done.out
    assert call("delete", f"{uri}-of-nobody").code == 2
    call("delete", "--all")
    assert call("stats").out.splitlines()[1].startswith("  records: source 0, chunk 0, ")
    assert call("doctor").code == 0


def test_doctor_finds_what_is_wrong(copy: Path) -> None:
    for path in (copy / "store" / "vectors").iterdir():
        path.unlink()
    done = call("doctor")
    assert done.code == 1
    assert "BAD  vector files" in done.out
    assert done.out.endswith("the store is not fine\n")


def test_search_for_people(copy: Path) -> None:
    done = call("search", QUESTION, "--k", 2, "--explain", "full")
    first, where, why, *_ = done.out.splitlines()
    assert re.match(r"\[1\] 0\.\d{3}  .*Jonas Querl", first)
    assert re.match(r"    Halfmoon Bridge, .*; characters \d+-\d+ of file:///.*halfmoon-bridge\.md$", where)
    assert re.match(r"    why: rerank 0\.\d+, cosine 0\.\d+; seed \d+$", why)
    assert re.search(r"^strategy auto \(.*\), unit statement, mode vector: [\d.]+ ms, \d+ round trips$", done.out, re.M)
    assert call("search", QUESTION, "--where", "year = 1").out == "no evidence\n"
    assert "page 2" in call("search", "flood", "--where", "pages > 1", "--k", 50).out


def test_answer_for_people(copy: Path) -> None:
    lines = call("answer", QUESTION).out.splitlines()
    assert "Jonas Querl" in lines[0]
    assert [line.split()[0] for line in lines[1:]] == re.findall(r"\[\d+\]", lines[0])


def test_stats_for_people(copy: Path) -> None:
    head, records, *_, thresholds = call("stats").out.splitlines()
    assert re.match(r"corpus default \(version \d+, all-MiniLM-L6-v2", head)
    assert re.match(r"  records: source \d+, chunk \d+, ", records)
    assert re.match(r"  thresholds: tau 0.\d\d, theta 0.\d\d, synonym 0.\d\d, hierarchy 0.\d\d \(", thresholds)


def test_a_document_cannot_command_the_terminal(tmp_path: Path, copy: Path) -> None:
    (tmp_path / "evil.txt").write_text("Mara Quill \x1b]0;owned\x07\x1b[31mpainted the \x9bmill\x08 of Tessing.")
    call("ingest", tmp_path / "evil.txt", "--corpus", "evil")
    done = call("search", "Mara Quill", "--corpus", "evil")
    assert "Mara Quill" in done.out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out)


def test_columns_are_mapped(tmp_path: Path, copy: Path) -> None:
    rows = [{"n": 7, "body": {"text": "Mara Quill built a mill."}, "head": "Mill", "place": "Tessing"}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = ("--map", "text=body.text,title=head", "--map", "id=n,metadata.town=place")
    assert call("ingest", tmp_path / "rows.jsonl", *chosen, "--corpus", "rows").code == 0
    done = call("search", "Who built the mill?", "--corpus", "rows", "--where", 'town = "Tessing"', "--json")
    source = json.loads(done.out)["evidence"][0]["source"]
    assert source["title"] == "Mill"
    assert source["uri"].endswith("rows.jsonl#7")
    assert source["metadata"]["town"] == "Tessing"


def test_precomputed_extractions_are_taken(tmp_path: Path, copy: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"id": "p1", "title": "", "text": "Mara Quill built a mill."}\n')
    (tmp_path / "e.jsonl").write_text(
        '{"passage_id": "p1", "propositions": [{"text": "A mill was built.", "entities": []}]}\n'
    )
    chosen = ("--extract", "precomputed", "--extractions", tmp_path / "e.jsonl", "--chunked", "--corpus", "given")
    done = call("ingest", tmp_path / "p.jsonl", *chosen)
    assert done.code == 0, done
    assert "A mill was built." in call("search", "mill", "--corpus", "given").out


# Where the store is


def test_the_store_is_that_of_the_option_the_environment_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HLGRAPH_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    done = call("--store", "hlgraph://./file", "init")
    assert done.out.splitlines()[0] == "wrote hlgraph.yaml; the store is hlgraph://./file"
    assert (tmp_path / "file" / "hlgraph.db").is_file()

    def used(*options: str) -> str:
        return str(json.loads(call(*options, "config", "--json").out)["store"])

    assert used() == "hlgraph://./.hlgraph"
    assert used("--config", "hlgraph.yaml") == "hlgraph://./file"
    monkeypatch.setenv("HLGRAPH_CONFIG", "hlgraph.yaml")
    assert used() == "hlgraph://./file"
    monkeypatch.setenv("HLGRAPH_STORE", "hlgraph://./environment")
    assert used() == "hlgraph://./environment"
    assert used("--store", "hlgraph://./option") == "hlgraph://./option"


def test_settings_come_back_as_they_were_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hlgraph.yaml"
    path.write_text("corpus: news\nchunk: {max_tokens: 120}\n")
    printed = call("--config", path, "config").out
    path.write_text(printed)
    assert call("--config", path, "config").out == printed
    assert "corpus: news" in printed
    assert "max_tokens: 120" in printed
    path.write_text(printed.replace("chunk:", "chunks:"))
    done = call("--config", path, "config")
    assert done.code == 2
    assert "unknown key chunks" in done.err


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "hlgraph.yaml").write_text("corpus: mine\n")
    for path, says in (
        (tmp_path / "hlgraph.yaml", "already exists"),
        (tmp_path / "no" / "x.yaml", "does not exist; create it"),
    ):
        done = call("--store", f"hlgraph://{tmp_path}/store", "init", path)
        assert done.code == 2
        assert says in done.err
    assert (tmp_path / "hlgraph.yaml").read_text() == "corpus: mine\n"
    assert not (tmp_path / "store").exists()


def test_migrate_for_people(tmp_path: Path) -> None:
    migrate = ("--store", f"hlgraph://{tmp_path}/new", "migrate")
    names = (
        "V001__create_tables",
        "V002__add_communities",
        "V003__add_summaries",
        "V004__add_decisions",
        "V005__add_domains",
        "V006__add_summaries_of_sources",
        "V007__mark_old_topics",
        "V008__add_calibration",
        "V009__add_summaries_of_large_chunks",
        "V010__add_checksums",
        "V011__drop_co_occurs",
        "V012__index_words",
        "V013__count_fields",
        "V014__add_image_changes",
        "V015__drop_has_deleted",
        "V016__add_schemes_of_ids",
        "V017__pack_rows_of_vectors",
        "V018__pack_nodes_and_synonyms",
        "V019__holds_and_receipts",
        "V020__sets_of_vectors",
        "V021__index_uris",
    )
    lines = "".join(f"  pending: {name}\n" for name in names)
    pending = f"embedded: 0 applied, {len(names)} pending\n{lines}next: hlgraph migrate apply\n"
    assert call(*migrate) == Done(0, pending, "")
    assert call(*migrate, "verify") == Done(1, pending, "")
    assert not (tmp_path / "new").exists()
    applied = "".join(f"  applied now: {name}\n" for name in names)
    assert call(*migrate, "apply").out == f"embedded: {len(names)} applied, 0 pending\n{applied}"
    assert call(*migrate, "verify") == Done(0, f"embedded: {len(names)} applied, 0 pending\n", "")


# Streams, terminals, signals


def test_warnings_are_lines_and_readers_are_quiet(tmp_path: Path, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (SAMPLES / "flood-warning-plan.pdf").read_bytes()
    start = re.findall(rb"startxref\s+(\d+)", data)[-1]
    (tmp_path / "odd.pdf").write_bytes(
        data.replace(b"startxref\n" + start, b"startxref\n" + str(int(start) + 3).encode())
    )
    done = call("ingest", tmp_path / "odd.pdf", "--corpus", "odd", "--json")  # pypdf warns of the pointer
    assert (done.code, done.err) == (0, "")
    (tmp_path / "models" / "broken").mkdir(parents=True)
    (tmp_path / "models" / "broken" / "hlgraph.json").write_text("{")
    monkeypatch.setenv("HLGRAPH_MODELS", str(tmp_path / "models"))
    done = call("models", "list", "--json")
    assert json.loads(done.out) == {"models": []}
    assert re.fullmatch(r"hlgraph: warning: model folder .*broken is ignored: .*\n", done.err)


def test_standard_input_is_read(tmp_path: Path, copy: Path) -> None:
    command = [*HLGRAPH, "ingest", "-", "--corpus", "piped", "--format", "jsonl", "--json"]
    rows = '{"id": "a", "text": "Mara Quill built a mill."}\n{"id": "b", "text": "Ivo Brandt left."}\n'
    run = subprocess.run(command, input=rows, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["sources"]["added"] == 2
    assert [line for line in run.stderr.splitlines() if not line.startswith('{"progress"')] == []
    found = json.loads(call("search", "Ivo Brandt", "--corpus", "piped", "--k", 1, "--json").out)["evidence"]
    assert found[0]["source"]["uri"] == "stdin:#b"


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_an_interrupt_is_one_line(tmp_path: Path, copy: Path, number: signal.Signals, code: int, word: str) -> None:
    command = [*HLGRAPH, "ingest", "-", "--corpus", "piped", "--format", "jsonl"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with it ignored
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    assert run.stdin is not None
    # More than a pipe holds: when all of it is written, most of it was read.
    run.stdin.writelines(b'{"id": "%d", "text": "Mara Quill built a mill.%s"}\n' % (n, b" " * 1000) for n in range(500))
    run.stdin.flush()
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (code, b""), err.decode()
    assert err.splitlines()[-1].decode() == f"hlgraph: {word}; run the same command again to continue"
    assert b"Traceback" not in err
    assert call("doctor").code == 0


@pytest.mark.parametrize("arguments", [["search", "flood", "--k", "200", "--unit", "chunk"], ["stats"], ["--help"]])
def test_nobody_reads_the_output(copy: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run([*HLGRAPH, *arguments], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


def test_an_ingest_goes_on_when_nobody_reads_its_progress(copy: Path, base: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [*HLGRAPH, "ingest", "docs/halfmoon-bridge.md", "--corpus", "new"], stdout=writer, stderr=writer, check=False
    )
    os.close(writer)
    assert run.returncode == 0
    assert "halfmoon-bridge.md" in call("search", QUESTION, "--corpus", "new").out


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_full_disk_behind_standard_error_changes_no_exit_code(flags: tuple[str, ...], copy: Path, base: Path) -> None:
    codes = {}
    for name, rest in {"ingest": ["docs"], "search": [QUESTION, "--strategy", "nosuch"]}.items():
        with Path("/dev/full").open("w") as full:
            command = [*HLGRAPH, name, *rest, *flags]
            codes[name] = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, check=False).returncode
    assert codes == {"ingest": 0, "search": 2}


def test_json_is_for_any_encoding(copy: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for flag in ("--json", "--explain"):
        command = [*HLGRAPH, "search", "Émeric Vaudé — “level”", "--where", 'filename = "emeric-vaude.html"', flag]
        run = subprocess.run(command, capture_output=True, check=True, env=environment)
        assert run.stdout.isascii()
        assert flag != "--json" or json.loads(run.stdout)["evidence"]


def _on_a_terminal(*arguments: str) -> tuple[str, str]:
    """Standard output, which is a pipe, and what a terminal got on standard error."""
    reader, terminal = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
    run = subprocess.Popen(
        [*HLGRAPH, *arguments], stdout=subprocess.PIPE, stderr=terminal, env={**environment, "TERM": "xterm-256color"}
    )
    os.close(terminal)
    seen = b""
    with contextlib.suppress(OSError):  # Linux says so when the terminal has no writer any more
        while piece := os.read(reader, 65536):
            seen += piece
    os.close(reader)
    out = run.communicate()[0].decode()
    assert run.returncode == 0, (out, seen)
    return out, seen.decode()


def test_a_terminal_gets_bars_that_are_gone_at_the_end(copy: Path, base: Path) -> None:
    out, seen = _on_a_terminal("ingest", "docs/halfmoon-bridge.md", "--corpus", "new")
    assert "\x1b" not in out
    assert counts(out, "sources")["added"] == 1
    assert "ingesting" in seen
    assert re.search(r"1 sources, \d+ chunks, \d+ statements", seen)
    assert all(word in seen for word in ("reading", "1 of 1 files", "extracting", "embedding", " texts, ", "writing"))
    assert seen.rstrip().endswith("\x1b[2K")  # the lines are erased
    out, seen = _on_a_terminal("ingest", "docs/halfmoon-bridge.md", "--corpus", "new", "--json")
    assert json.loads(out)["files"] == {"found": 1, "read": 0, "unchanged": 1, "failed": 0, "left_out": []}
    assert "comparing" in seen
    out, seen = _on_a_terminal("ingest", "docs/halfmoon-bridge.md", "--corpus", "new", "--quiet")
    assert counts(out, "sources")["unchanged"] == 1
    assert seen == ""

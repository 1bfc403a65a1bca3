"""Bad input and bad luck: one clear error each, everything else ingested, nothing half-visible, and the same call completes it."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_keywords import keywords
from reportlab.pdfgen.canvas import Canvas

import hlgraph
from hlgraph import errors
from hlgraph.progress import Progress
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_GOOD = "The Aldane Bridge was designed by Mara Quill. Mara Quill was born in Tessing.\n"


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "good.txt").write_text(_GOOD)
    return folder


def _pdf() -> bytes:
    """A page with a ruled table."""
    out = io.BytesIO()
    canvas = Canvas(out, invariant=1, pageCompression=0)
    canvas.grid([72, 172, 272], [700, 680, 660])
    canvas.drawString(75, 685, "Tessing")
    canvas.save()
    return out.getvalue()


def _bad_files(folder: Path) -> dict[str, str]:
    """Writes one bad source a kind; gives what its error must say."""
    from pypdf import PdfWriter

    (folder / "latin.txt").write_bytes("Grüße aus Tessing".encode() + b"\xff")  # UTF-8 with a damaged byte
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (folder / "missing.txt").symlink_to(folder / "nowhere")
    with (folder / "line.txt").open("wb") as out:
        for _ in range(100):
            out.write(b"a" * 1_000_000)
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    writer.encrypt("secret")
    writer.write(folder / "locked.pdf")
    (folder / "cut.pdf").write_bytes(_pdf()[:90])
    rows = [json.dumps({"id": f"r{n}", "text": f"Row {n} names Tessing."}) for n in range(1, 11)]
    rows[6] = rows[6][:-3]
    rows[8] = rows[7]
    (folder / "rows.jsonl").write_text("\n".join(rows))
    return {
        "latin.txt": "--encoding",
        "binary.txt": "binary",
        "missing.txt": "",
        "line.txt": "max-bytes",
        "locked.pdf": "password",
        "cut.pdf": "cannot be read as PDF",
        "rows.jsonl": "line 7",
        "rows.jsonl#r8": "duplicate id",
    }


def test_each_bad_source_is_one_clear_error_and_the_rest_is_ingested(graph: HLGraph, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    wanted = _bad_files(folder)
    report = graph.ingest(folder)
    messages = {item.uri.rsplit("/", 1)[-1]: item.error for item in report.failed}
    for name, text in wanted.items():
        found = [error for uri, error in messages.items() if uri.startswith(name)]
        assert found, name
        assert any(text in error for error in found), (name, found)
    assert len(report.failed) == len(wanted)
    assert report.sources_added == 1 + 8
    again = graph.ingest(folder)
    assert (again.sources_added, again.sources_changed, again.sources_unchanged) == (0, 0, 9)
    assert len(again.failed) == len(wanted)
    (folder / "latin.txt").write_text("Grüße aus Tessing")
    assert graph.ingest(folder).sources_added == 1
    assert not [item for item in graph.check() if not item.is_fine]


def test_a_damaged_pdf_beside_two_good_files_is_one_failure(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "cut.pdf").write_bytes(_pdf()[:90])
    (folder / "sound.pdf").write_bytes(_pdf())
    call = [sys.executable, "-m", "hlgraph", "--store", f"hlgraph://{tmp_path}/store", "ingest", str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^sources: 2 added, .*1 failed", done.stdout, flags=re.MULTILINE), done.stdout
    assert "cut.pdf: cannot be read as PDF" in done.stdout


def test_a_source_that_cannot_be_read_any_more_is_not_deleted_as_missing(graph: HLGraph, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "other.txt").write_text("Ivo Brandt left Tessing.")
    options = IngestOptions(delete_missing=True)
    assert graph.ingest(folder, **keywords(options)).sources_added == 2
    (folder / "other.txt").write_bytes(b"\xff\xfe\xff")
    report = graph.ingest(folder, **keywords(options))
    assert (report.sources_removed, len(report.failed)) == (0, 1)
    (folder / "other.txt").unlink()
    assert graph.ingest(folder, **keywords(options)).sources_removed == 1


def test_another_model_is_refused_for_writing_and_for_searching(graph: HLGraph, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    graph.ingest(folder)
    (folder / "more.txt").write_text("Ivo Brandt left Tessing.")
    before = snapshot(graph._opened.stores, "default")
    for embedder in (WordEmbedder(32, name="other"), WordEmbedder(8)):
        with hlgraph.connect(graph.settings, embedder=embedder) as other:
            with pytest.raises(errors.ModelMismatchError, match="words/32"):
                other.ingest(folder)
            with pytest.raises(errors.ModelMismatchError, match="words/32"):
                other.search("Who designed the bridge?")
            assert other.search("Who designed the bridge?", mode="text", strategy="chunk").evidence
    assert snapshot(graph._opened.stores, "default") == before
    assert graph.ingest(folder).sources_added == 1


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda g: g.search("x", strategy="statment"), errors.UnknownNameError, "did you mean 'statement'"),
        (lambda g: g.in_corpus("nowhere").search("x"), errors.UnknownNameError, "or name another$"),
        (lambda g: g.search("x", where="yaer > 3"), errors.WhereError, "yaer"),
        (lambda g: g.search("x", where="year >"), errors.WhereError, "year >"),
        (lambda g: g.search("   "), errors.InputError, "empty"),
        (lambda g: g.search("x", k=0), errors.InputError, "k is 0"),
        (lambda g: g.search("x", unit="page"), errors.InputError, "statement"),
        (lambda g: g.delete(["file:///nowhere.txt"]), errors.UnknownNameError, "nothing was deleted"),
        (lambda g: g.delete(), errors.InputError, "one way"),
        (lambda g: g.in_corpus("nowhere").delete(everything=True), errors.UnknownNameError, "nowhere"),
        (lambda g: g.ingest(".", format="docs"), errors.UnknownNameError, "docs"),
        (lambda g: g.ingest(".", extract="precomputed"), errors.InputError, "extractions="),
    ],
)
def test_unusable_requests_say_what_why_and_the_mend(
    graph: HLGraph, tmp_path: Path, call: object, kind: type[Exception], says: str
) -> None:
    graph.ingest(_folder(tmp_path))
    before = snapshot(graph._opened.stores, "default")
    with pytest.raises(kind, match=says):
        call(graph)  # type: ignore[operator]
    assert snapshot(graph._opened.stores, "default") == before


@pytest.mark.parametrize("target", ["nothing://x", "hlgraph://", "http://localhost"])
def test_a_url_that_names_no_store(target: str) -> None:
    with pytest.raises(errors.UnknownNameError, match="hlgraph://"):
        hlgraph.connect(target)


def test_a_second_writer_is_told_who_holds_the_store(graph: HLGraph, tmp_path: Path) -> None:
    graph.ingest(_folder(tmp_path))
    code = "import sys, time\nfrom hlgraph.stores.open import open_stores\n" + (
        "opened = open_stores(sys.argv[1])\nwith opened.stores.graph.lock():\n    print('held', flush=True)\n    time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, f"hlgraph://{tmp_path}/store"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        settings = replace(graph.settings, wait=0)
        with (
            hlgraph.connect(settings, embedder=WordEmbedder()) as hasty,
            pytest.raises(errors.StoreLockedError, match=f"process {holder.pid}") as caught,
        ):
            hasty.ingest(_folder_again(tmp_path))
        assert caught.value.retryable
        assert graph.search("Who designed the bridge?").evidence  # readers go on while a writer writes
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()  # type: ignore[union-attr]
    assert graph.ingest(_folder_again(tmp_path)).sources_added == 1


def _folder_again(tmp_path: Path) -> Path:
    path = tmp_path / "more.txt"
    path.write_text("Ivo Brandt left Tessing.")
    return path


def test_readers_in_other_threads_see_old_or_new_never_half(graph: HLGraph, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    graph.ingest(folder)
    texts = [" ".join(f"Mara Quill built house {n}{at} in Tessing." for at in range(20)) for n in "ABCD"]
    wrong: list[object] = []
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            found = graph.search("Mara Quill house Tessing", strategy="statement", k=200).evidence
            letters = {item.text.split("house ")[1][0] for item in found if "house " in item.text}
            if len(letters) > 1:
                wrong.append(letters)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for text in texts:
        (folder / "houses.txt").write_text(text)
        graph.ingest(folder)
    is_done.set()
    for reader in readers:
        reader.join()
    assert not wrong


_LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
import hlgraph
from hlgraph.testing.embedder import WordEmbedder
with hlgraph.connect(sys.argv[1], embedder=WordEmbedder()) as graph:
    try:
        graph.ingest(sys.argv[2])
    except hlgraph.HLGraphError as error:
        print(type(error).__name__, error.retryable, error)
        sys.exit(3)
"""


def test_a_full_disk_is_one_error_and_the_same_call_completes_it(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    for number in range(20):
        (folder / f"{number}.txt").write_text(" ".join(f"Mara Quill met Person {number}{n}." for n in range(60)))
    store = f"hlgraph://{tmp_path}/store"
    with hlgraph.connect(store, embedder=WordEmbedder()) as graph:
        graph.ingest(folder / "good.txt")
        size = sum(path.stat().st_size for path in (tmp_path / "store").rglob("*") if path.is_file())
    for limit in (size, size + 200_000):
        run = subprocess.run(
            [sys.executable, "-c", _LIMITED, store, str(folder), str(limit)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 3, run.stderr
        assert run.stdout.startswith("StoreUnavailableError True"), run.stdout
        assert "run the same command again" in run.stdout
    with hlgraph.connect(store, embedder=WordEmbedder()) as graph:
        assert graph.search("Who designed the bridge?").evidence
        graph.ingest(folder)
        assert graph.stats()[0].records[hlgraph.Kind.SOURCE] == 21
        assert not [item for item in graph.check() if not item.is_fine]


_SEARCH_THEN_INGEST = """
import sys
import hlgraph
from hlgraph.testing.embedder import WordEmbedder
with hlgraph.connect(sys.argv[1], embedder=WordEmbedder()) as graph:
    print(len(graph.search("Who designed the bridge?").evidence) if sys.argv[3] == "search" else "")
    try:
        graph.ingest(sys.argv[2])
    except hlgraph.HLGraphError as error:
        print(type(error).__name__, error)
        sys.exit(3)
"""


def _without_privileges() -> list[str]:
    """What to put before a command so that root, too, is bound by the permissions of files (setpriv is in util-linux)."""
    if os.getuid():
        return []
    drop = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}"]


def test_a_read_only_directory_can_be_searched_and_says_so_when_written(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    store = tmp_path / "store"
    with hlgraph.connect(f"hlgraph://{store}", embedder=WordEmbedder()) as graph:
        graph.ingest(folder)
    for path in (store, *store.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (folder / "more.txt").write_text("Ivo Brandt left Tessing.")
    try:
        run = subprocess.run(
            [
                *_without_privileges(),
                sys.executable,
                "-c",
                _SEARCH_THEN_INGEST,
                f"hlgraph://{store}",
                str(folder),
                "search",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for path in (store, *store.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    lines = run.stdout.splitlines()
    assert run.returncode == 3, run.stderr
    assert int(lines[0]) > 0
    assert lines[1].startswith("StoreUnavailableError")
    assert "may write to it" in lines[1]
    with hlgraph.connect(f"hlgraph://{store}", embedder=WordEmbedder()) as graph:
        assert graph.ingest(folder).sources_added == 1


@pytest.mark.parametrize(
    "words",
    ["stats", "search bridge", "ingest notes.txt", "doctor", "keys list", "serve", "serve --host 0.0.0.0", "mcp"],
)
def test_a_folder_of_another_user_is_one_error_that_names_the_user(tmp_path: Path, words: str) -> None:
    (tmp_path / "notes.txt").write_text("Ivo Brandt left Tessing.")
    (tmp_path / "store").mkdir(mode=0)
    command = [*_without_privileges(), sys.executable, "-m", "hlgraph", "--store", "hlgraph://store", *words.split()]
    environment = {**os.environ, "HLGRAPH_SERVE_STATE": "store/state"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    (tmp_path / "store").chmod(0o700)
    assert (run.returncode, run.stdout) == (3, "")
    assert re.fullmatch(rf"hlgraph: .*store.*ermission denied.* \(uid {os.getuid()}\) may write .*\n", run.stderr)


def test_deleting_leaves_no_word_on_the_disk(graph: HLGraph, tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "secret.txt").write_text("Zanzibarium quotient is held by Xerxophon Maximilianus in Qwertytown.")
    (folder / "other.txt").write_text("Ivo Brandt left Tessing. " * 30)
    graph.ingest(folder)
    assert graph.search("Zanzibarium quotient").evidence
    graph.delete([str(folder / "secret.txt")])
    graph.close()
    for path in (tmp_path / "store").rglob("*"):
        if path.is_file():
            held = path.read_bytes().lower()
            for word in (b"zanzibarium", b"xerxophon", b"qwertytown"):
                assert word not in held, (path, word)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A job in the background of a shell starts with SIGINT ignored; here it shall interrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupts_end_an_ingest_cleanly(graph: HLGraph, tmp_path: Path) -> None:
    folder = _folder(tmp_path)

    def stop(at: Progress) -> None:
        if at.step == "persist" and at.sources:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        graph.ingest(folder, on_progress=stop)
    assert not [item for item in graph.check() if not item.is_fine]
    assert graph.ingest(folder).sources_unchanged == 1

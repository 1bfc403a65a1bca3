"""Whatever hlgraph keeps, its owner alone may read, whatever the umask."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlgraph
from hlgraph import Document
from hlgraph.models.cache import CachedEmbedder
from hlgraph.settings import ModelSettings, Settings
from hlgraph.stores import files
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

PACKAGE = Path(hlgraph.__file__).parent
# A file is made by hlgraph.stores.files, but for these: what a user asks for by name (a picture, settings, measured results),
# and public weights of models.
ELSEWHERE = {
    "align/train.py",
    "cli/commands/align.py",
    "cli/commands/manage.py",
    "cli/commands/search.py",
    "evaluate/questions/checking.py",
    "evaluate/questions/record.py",
    "evaluate/report.py",
    "evaluate/runner.py",
    "ingest/receipts.py",
    "models/install.py",
    "models/local/embedder.py",
    "read/sql.py",  # a file without a name
    "stores/opensearch/query_bodies.py",
}
MAKES = re.compile(
    r"""\.mkdir\(|\.touch\(|\.write_(?:text|bytes)\(|open\(\s*["'][wax]|TemporaryFile|FileLock\((?!.*mode=)"""
)


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _modes(folder: Path) -> dict[str, str]:
    """The modes below a folder that are not as they should be."""
    wanted = {True: files.FOLDER, False: files.FILE}
    found = {path: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    return {str(path): oct(mode) for path, mode in found.items() if mode != wanted[path.is_dir()]}


def test_a_new_file_and_all_new_folders_above_it(tmp_path: Path, umask: int) -> None:
    files.make_folder(tmp_path / "a" / "b")
    with files.write_bytes(tmp_path / "a" / "b" / "c") as out:
        out.write(b"1")
    assert _modes(tmp_path / "a") == {}


def test_what_exists_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o640)
    files.make_folder(tmp_path)
    files.reserve(tmp_path / "a")
    assert (tmp_path.stat().st_mode & 0o777, (tmp_path / "a").stat().st_mode & 0o777) == (0o755, 0o640)
    assert (tmp_path / "a").read_text() == "1"
    with pytest.raises(OSError, match="directory"):
        files.make_folder(tmp_path / "a" / "b")


def test_a_store_and_what_is_beside_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with hlgraph.connect(f"hlgraph://{tmp_path}/new/store", embedder=WordEmbedder()) as graph:
            graph.ingest([Document("doc:a", "The Aldane Bridge was designed by Mara Quill, who was born in Tessing.")])
            graph.search("Who designed the bridge?", strategy="path")
            assert _modes(tmp_path / "new") == {}  # also the log of SQLite, while it is open
        assert _modes(tmp_path / "new") == {}
        assert len(list((tmp_path / "new").rglob("*"))) > 4
    finally:
        os.umask(before)


def test_replies_the_ledger_and_the_quarantine(tmp_path: Path) -> None:
    models = ModelSettings(cache=str(tmp_path / "new" / "cache"), ledger=str(tmp_path / "new" / "ledger"))
    settings = Settings(store=f"hlgraph://{tmp_path}/new/store", models=models)
    before = os.umask(0)
    try:
        embedder = CachedEmbedder(WordEmbedder(), tmp_path / "new" / "cache" / "vectors.sqlite")
        with hlgraph.connect(settings, embedder=embedder, chat=ScriptedChat(["no JSON"] * 9)) as graph:
            report = graph.ingest(Document("doc:a", "The Aldane Bridge was designed by Mara Quill."), extract="chat")
            assert report.problems
            assert _modes(tmp_path / "new") == {}
        names = {path.name for path in (tmp_path / "new").rglob("*")}
    finally:
        os.umask(before)
    assert {"quarantine", "vectors.sqlite"} <= names
    assert [name for name in names if name.startswith("ledger-")]


def test_no_other_file_of_the_package_makes_files() -> None:
    """Make it by hlgraph.stores.files; what a user names as a place for output may be an exception."""
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    makers = {
        name
        for name, text in texts.items()
        if MAKES.search(text)
        and "from hlgraph.stores import files" not in text
        and not name.startswith(("testing/", "stores/files.py"))
    }
    assert makers == ELSEWHERE

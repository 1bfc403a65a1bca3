import logging
import os
import socket
from pathlib import Path

import pytest

from hlgraph.errors import InputError
from hlgraph.read import Files, ReadFailure, ReadOptions, covered, is_covered, read, source_uri
from hlgraph.records import Document


def write(path: Path, text: str = "words") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def texts(*paths: object, options: ReadOptions | None = None) -> list[str]:
    return [item.text for item in read([str(path) for path in paths], options) if isinstance(item, Document)]


def failures(*paths: object, options: ReadOptions | None = None) -> list[ReadFailure]:
    return [item for item in read([str(path) for path in paths], options) if isinstance(item, ReadFailure)]


def test_folder_is_recursive_sorted_and_skips_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "z/c.txt", "y/d.txt", ".secret.txt", ".git/e.txt", "~$b.txt"):
        write(tmp_path / name, name)
    assert texts(tmp_path) == ["a.md", "b.txt", "y/d.txt", "z/c.txt"]
    assert failures(tmp_path) == []


def test_folder_lists_what_it_leaves_out_and_why(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.txt", "b.bin", "sub/c.BIN", "sub/.hidden.txt", ".git/config.txt"):
        write(tmp_path / name)
    (tmp_path / "again").symlink_to(tmp_path / "sub")
    write(tmp_path / "empty.pdf", "")
    write(tmp_path / "cut.json", "{")
    write(tmp_path / "my-graph" / "hlgraph.db")
    files = Files()
    found = list(read([str(tmp_path), str(tmp_path / "gone.txt")], files=files))
    assert [type(item) for item in found] == [Document, ReadFailure, ReadFailure]
    assert not caplog.messages
    root = tmp_path.as_uri()
    assert sorted(files.left_out) == [
        (f"{root}/.git/", "hidden folder with all that is in it"),
        (f"{root}/again/", "link to a folder that is read anyway"),
        (f"{root}/b.bin", "no reader for .bin"),
        (f"{root}/empty.pdf", "empty"),
        (f"{root}/my-graph/", "store of hlgraph with all that is in it"),
        (f"{root}/sub/.hidden.txt", "hidden"),
        (f"{root}/sub/c.BIN", "no reader for .bin"),
    ]
    assert files.reasons[0] == ("no reader for .bin", 2)
    assert (files.found, files.read, files.unchanged, files.failed) == (10, 1, 0, 2)
    with caplog.at_level(logging.WARNING, logger="hlgraph.read"):
        assert texts(tmp_path) == ["words"]  # without a list, a warning counts
    assert caplog.messages == [
        "7 files were left out: no reader for .bin (2), empty (1), hidden (1), hidden folder with all that is in it (1), "
        "link to a folder that is read anyway (1), store of hlgraph with all that is in it (1)"
    ]


def test_a_file_of_rows_counts_once_whatever_becomes_of_its_rows(tmp_path: Path) -> None:
    """The states are those that an ingest tells, row by row; a file is what its best row is."""
    rows = '{"id": 1, "text": "one"}\n{"id": 2}\n'
    names = {name: write(tmp_path / f"{name}.jsonl", rows).as_uri() for name in ("new", "old", "bad")}
    files = Files()
    assert len(list(read([str(tmp_path)], files=files))) == 6
    assert files.size == 3 * len(rows)
    files.store(f"{names['old']}#1", is_new=False)
    files.store(f"{names['new']}#1", is_new=False)
    files.store(f"{names['new']}#3", is_new=True)
    files.store("doc:no-file", is_new=True)
    files.fail("doc:no-file")
    assert (files.found, files.read, files.unchanged, files.failed) == (3, 1, 1, 1)


def test_folder_with_a_format_reads_every_suffix(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", "one")
    write(tmp_path / "LICENSE", "two")
    assert texts(tmp_path, options=ReadOptions(format="text")) == ["two", "one"]


def test_folder_that_holds_nothing_is_a_failure_that_protects_all_below_it(tmp_path: Path) -> None:
    [failure] = failures(tmp_path)
    assert "holds no file" in str(failure.error)
    assert is_covered(f"{tmp_path.as_uri()}/deep/a.csv#7", {failure.uri})
    assert not is_covered(f"{tmp_path.as_uri()}2/a.txt", {failure.uri})


def test_folder_whose_name_has_a_suffix_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "x.txt" / "inner.txt", "inner")
    assert texts(tmp_path) == ["inner"]
    assert texts(tmp_path / "x.txt") == ["inner"]


def test_glob_takes_files_sorted_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.rst", "a.rst", "c.txt", "sub/d.rst", ".e.rst"):
        write(tmp_path / name, name)
    assert texts(tmp_path / "*.rst") == ["a.rst", "b.rst"]
    assert texts(tmp_path / "**" / "*.rst") == ["a.rst", "b.rst", "sub/d.rst"]
    assert texts(tmp_path / "s*") == []


def test_glob_that_matches_nothing_is_a_failure(tmp_path: Path) -> None:
    [failure] = failures(tmp_path / "*.pdf")
    assert "no file matches" in str(failure.error)


def test_file_whose_name_looks_like_a_glob_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "notes[1].txt", "literal")
    assert texts(path) == ["literal"]


def test_what_two_paths_reach_comes_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "once")
    assert texts(path, tmp_path, tmp_path / "*.txt", f"{tmp_path}/sub/../a.txt") == ["once"]


def test_bad_paths_are_failures_and_stop_nothing(tmp_path: Path) -> None:
    good = write(tmp_path / "good.txt", "good")
    bad = ["", "a\0b", "\ud800", str(tmp_path / "gone.txt"), "x" * 5000, str(good / "below.txt")]
    items = list(read([*bad, str(good)]))
    assert [isinstance(item, ReadFailure) for item in items] == [True] * len(bad) + [False]
    messages = [str(item.error) for item in items if isinstance(item, ReadFailure)]
    assert "is not a path" in messages[0]
    assert messages[3].endswith("gone.txt: does not exist")
    assert "too long" in messages[4]
    assert "Not a directory" in messages[5]


def test_dangling_and_looping_links_are_failures(tmp_path: Path) -> None:
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "gone.txt")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    dangling, loop = failures(tmp_path)
    assert "link to a file that does not exist" in str(dangling.error)
    assert "symbolic links" in str(loop.error)
    assert is_covered((tmp_path / "dangling.txt").as_uri(), {dangling.uri})


def test_a_dangling_link_without_a_suffix_is_left_out_as_one(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    files = Files()
    list(read([str(tmp_path)], files=files))
    assert files.reasons == [("link to a file that does not exist", 1)]


def test_links_to_folders_are_followed_once_and_never_round(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "a.txt", "a")
    write(tmp_path / "outside" / "b.txt", "b")
    (root / "back").symlink_to(root)
    (root / "up").symlink_to(tmp_path)
    (root / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "self").symlink_to(tmp_path / "outside")
    options = ReadOptions(follow_links=True)
    found = [item.text for item in read([str(root)], options) if not isinstance(item, ReadFailure)]
    assert sorted(set(found)) == ["a", "b"]
    assert len(found) <= 4
    assert texts(root / "back") == texts(root)


def test_links_that_lead_out_of_the_given_folder_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(root / "a.txt", "a")
    write(tmp_path / "root2" / "secret.txt", "secret")
    (root / "b.txt").symlink_to(tmp_path / "root2" / "secret.txt")
    (root / "inside.txt").symlink_to(root / "a.txt")
    (root / "out").symlink_to(tmp_path / "root2")
    (root / "round").symlink_to(root / "round")
    (tmp_path / "named").symlink_to(root)
    for given, uris in (
        (root, ["root/out/", "root/b.txt"]),
        (tmp_path / "named", ["named/out/", "named/b.txt"]),
        (root / "*.txt", ["root/b.txt"]),
        (root / "*" / "*.txt", ["root/out/secret.txt"]),
        (root / "out", []),
        (root / "b.txt", []),
    ):
        items = list(read([str(given)]))
        refused = [item for item in items if isinstance(item, ReadFailure)]
        assert [item.uri for item in refused] == [f"{tmp_path.as_uri()}/{uri}" for uri in uris], given
        assert all(
            "by a link; name what it leads to as a path, or add --follow-links" in str(item.error) for item in refused
        )
        texts_found = {item.text for item in items if not isinstance(item, ReadFailure)}
        assert ("secret" in texts_found) == (not uris), given


def test_pipes_sockets_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.txt"))
        reasons = [failure.error.reason for failure in failures(tmp_path, "/dev/zero")]
    assert reasons == ["is not a regular file"] * 3


def test_uri_is_absolute_and_percent_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a b#ü.txt")
    monkeypatch.chdir(tmp_path)
    [item] = read(["a b#ü.txt"])
    assert item.uri == f"{tmp_path.as_uri()}/a%20b%23%C3%BC.txt"


def test_source_uri_is_that_of_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a b.txt")
    monkeypatch.chdir(tmp_path)
    [item] = read(["./a b.txt"])
    assert source_uri("./a b.txt") == source_uri(item.uri) == item.uri
    for path in ("", "a\0b", "\ud800"):
        with pytest.raises(InputError, match="is not a path"):
            source_uri(path)


def test_file_name_that_is_not_utf8_gives_clean_title_and_metadata(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / name).write_text("words")
    [item] = read([str(tmp_path)])
    assert isinstance(item, Document)
    assert (item.title, item.metadata["filename"]) == ("caf\ufffd", "caf\ufffd.txt")
    assert item.uri.endswith("/caf%E9.txt")


def test_paths_must_not_be_one_text() -> None:
    with pytest.raises(InputError, match=r"\['notes.txt'\]"):
        read("notes.txt")


def test_covered_names_folders_and_files_only(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv")
    uri = tmp_path.as_uri()
    assert covered([str(tmp_path), str(file), "-", "", f"{tmp_path}/*.csv", f"{tmp_path}/gone"]) == (
        f"{uri}/",
        f"{uri}/a.csv",
        f"{uri}/a.csv#",
    )
    assert covered(["/"]) == ("file:///",)


def test_is_covered_does_not_mix_up_names_that_begin_alike() -> None:
    names = ("file:///d/a.csv", "file:///d/a.csv#", "file:///e/")
    assert is_covered("file:///d/a.csv", names)
    assert is_covered("file:///d/a.csv#1", names)
    assert is_covered("file:///e/f/g.txt", names)
    assert not is_covered("file:///d/a.csv.bak", names)
    assert not is_covered("file:///e", names)
    assert not is_covered("file:///x", [""])
    assert not is_covered("file:///d/b.csv#a/c", ["file:///d/b.csv#a/"])


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("README", "words", "pump README"),
        ("copyright", "words", "pump copyright"),
        ("index.md", "words", "pump index"),
        ("RELEASE-notes.txt", "words", "pump RELEASE-notes"),
        ("README.md", "# The pump\n\nwords", "The pump"),
        ("readmes.txt", "words", "readmes"),
        ("valve.txt", "words", "valve"),
    ],
)
def test_a_name_that_every_project_has_stands_after_the_folder_in_the_title(
    tmp_path: Path, name: str, text: str, title: str
) -> None:
    (tmp_path / "pump").mkdir()
    (tmp_path / "pump" / name).write_text(text)
    [document] = read([str(tmp_path)])
    assert isinstance(document, Document)
    assert document.title == title

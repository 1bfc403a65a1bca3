"""YAML, TOML, INI, Java properties, logs, and places and tracks: what is read, and what is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.local import LocalExtractor
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.records import Document

HEAD = ["|  |  |", "| --- | --- |"]


def given(folder: Path, name: str, text: str | bytes, **options: object) -> list[Document | ReadFailure]:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read([str(folder / name)], ReadOptions(**options)))


def only(folder: Path, name: str, text: str | bytes) -> Document:
    [found] = given(folder, name, text)
    assert isinstance(found, Document), found
    return found


def reason(folder: Path, name: str, text: str | bytes) -> str:
    [failed] = given(folder, name, text)
    assert isinstance(failed, ReadFailure), failed
    return failed.error.reason


YAML = """# The plant in Orlen.

# Address of the pump server.
server:
  host: a.example  # behind the proxy
  port: 8080
  ratio: 1.10
  country: NO
  code: 007
  day: 2024-03-05
  on: true
tags: [x, y]
note: >
  Two lines
  of text.
jobs:
  - name: build
    steps:
      # compile
      # all
      - run: make
      - run: make test
volumes:
  data:
  cache:
parts:
  - a: 1
empty:
"""
TOML = '''# The plant.

title = "Orlen"  # of the town
[server] # main
port = 8_080
ratio = 1.10
said = """a # no
comment"""
day = 2024-03-05
deps = [
  # for tests
  "pytest",
]
[[pump]]
name = "P-1"
# in bar
pressure = 4
[[pump]]
name = "P-2"
'''
INI = """; The plant.

name = Orlen
[server]
# Address of the pump server.
host: a.example ; behind the proxy
paths =
    /a
    /b
flag
[server]
host = b.example
[hosts]
web1
web2
[empty]
"""
PROPERTIES = r"""# The plant.

! Address of the pump server.
server.host = a.example
server.name : Halfmoon \
    Bridge
caf\u00e9   open
url=http\://a/b
key
"""


@pytest.mark.parametrize(
    ("name", "text", "lines", "warnings"),
    [
        (
            "a.yaml",
            YAML,
            [
                *("The plant in Orlen.", "", "without a value: empty", "", *HEAD),
                "| server host | a.example |",
                "| server host comment | behind the proxy |",
                "| server port | 8080 |",
                "| server ratio | 1.10 |",
                "| server country | NO |",
                "| server code | 007 |",
                "| server day | 2024-03-05 |",
                "| server on | true |",
                "| server comment | Address of the pump server. |",
                "| tags | x, y |",
                "| note | Two lines of text. |",
                "| jobs 1 name | build |",
                "| jobs 1 steps 1 run | make |",
                "| jobs 1 steps 1 run comment | compile all |",
                "| jobs 1 steps 2 run | make test |",
                "| volumes | data, cache |",
                "| parts 1 a | 1 |",
            ],
            (),
        ),
        (
            "a.toml",
            TOML,
            [
                *("comment: The plant.", "", "title: Orlen", "", "title comment: of the town", ""),
                *("server port: 8080", "", "server ratio: 1.10", "", "server said: a # no comment", ""),
                *("server day: 2024-03-05", "", "server deps: pytest", "", "server deps comment: for tests", ""),
                *("server comment: main", "", "## pump", ""),
                *("| name | pressure | pressure comment |", "| --- | --- | --- |"),
                *("| P-1 | 4 | in bar |", "| P-2 |  |  |"),
            ],
            (),
        ),
        (
            "a.ini",
            INI,
            [
                *("The plant.", "", "without a value: server flag, empty", "", *HEAD, "| name | Orlen |"),
                "| server host | a.example ; behind the proxy, b.example |",
                "| server host comment | Address of the pump server. |",
                *("| server paths | /a, /b |", "| hosts | web1, web2 |"),
            ],
            (),
        ),
        (
            "a.properties",
            PROPERTIES,
            [
                *("The plant.", "", "without a value: key", "", *HEAD, "| server host | a.example |"),
                "| server host comment | Address of the pump server. |",
                *("| server name | Halfmoon Bridge |", "| café | open |", "| url | http://a/b |"),
            ],
            (),
        ),
    ],
)
def test_values_have_the_names_that_lead_to_them_and_comments_stand_beside_them(
    tmp_path: Path, name: str, text: str, lines: list[str], warnings: tuple[str, ...]
) -> None:
    found = only(tmp_path, name, text)
    assert found.text.split("\n") == lines
    assert found.warnings == warnings


def test_documents_and_lists_of_yaml(tmp_path: Path) -> None:
    manifests = given(tmp_path, "a.yaml", "kind: Pod\nspec: {host: a}\n---\nkind: Job\nspec: {host: b}\n---\n")
    uri = (tmp_path / "a.yaml").as_uri()
    assert [(each.uri, each.text.split("\n")[2:]) for each in manifests if isinstance(each, Document)] == [
        (f"{uri}#1", ["| kind | Pod |", "| spec host | a |"]),
        (f"{uri}#2", ["| kind | Job |", "| spec host | b |"]),
    ]
    rows = only(tmp_path, "b.yaml", "name: Ann\nage: 30\n---\nname: Ben\nage: 7.50\n")
    assert rows.text.split("\n") == ["| name | age |", "| --- | --- |", "| Ann | 30 |", "| Ben | 7.50 |"]
    posts = given(tmp_path, "c.yml", "- {id: a, text: The bridge is open., cost: 7.50}\n- {id: b, text: It is shut.}\n")
    assert [(each.key, each.text, each.metadata) for each in posts if isinstance(each, Document)] == [
        ("a", "The bridge is open.", {"cost": 7.5}),
        ("b", "It is shut.", {}),
    ]
    said = given(tmp_path, "g.yml", "a: 1\n---\n|\n Two lines\n of text.\n---\n")
    assert [each.text.split("\n")[-1] for each in said if isinstance(each, Document)] == [
        "| a | 1 |",
        "Two lines of text.",
    ]
    mixed = only(tmp_path, "f.yml", "- a\n- {b: 1}\n")
    assert mixed.text.split("\n")[2:] == ["| 1 | a |", "| 2 b | 1 |"]
    mixed = only(tmp_path, "a.toml", 'a = ["b", {c = 1}]')
    assert mixed.text.split("\n")[2:] == ["| a 1 | b |", "| a 2 c | 1 |"]
    assert only(tmp_path, "b.toml", "[features]\nstd = []\n[[bin]]\n").text == "without a value: features std, bin"
    assert only(tmp_path, "d.yml", "# Rules\n\n- Be kind.\n- Be brief.\n").text == "Rules\n\n- Be kind.\n- Be brief."
    assert only(tmp_path, "e.yml", "# Nothing is set.\n# port: 80\n").text == "- port = 80: Nothing is set."


def test_aliases_merges_tags_and_names_that_are_given_twice(tmp_path: Path) -> None:
    source = (
        "base: &base {image: a, port: 1}\nweb:\n  <<: *base\n  port: 2\nkey: !Ref Bucket\nsub: !Sub [a]\n"
        "bad: !!python/object/apply:os.system [echo]\nraw: !!binary aGVsbG8=\nport: 1\nport: 2\n"
    )
    found = only(tmp_path, "a.yaml", source)
    assert found.text.split("\n")[4:] == [
        *("| base image | a |", "| base port | 1 |", "| web port | 2 |", "| web image | a |"),
        *(
            "| key | !Ref Bucket |",
            "| sub !Sub | a |",
            "| bad !!python/object/apply:os system | echo |",
            "| port | 1, 2 |",
        ),
    ]
    assert found.warnings == (
        "names that are given twice, all of whose values are kept: 'port' in line 10",
        "not read: binary values (1)",
    )


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "a:\n\t- b\n", "is not YAML (line 2: a tab indents it)"),
        ("a.yaml", "a: [b\n", "is not YAML (line 2: did not find expected ',' or ']')"),
        ("a.yaml", "a: *b\n", "is not YAML (line 1: the alias *b names no value above it)"),
        ("a.yaml", "a: &b [*b]\n", "is not YAML (line 1: the alias *b names no value above it)"),
        ("a.yaml", "{}\n--- \n", "is empty: it holds no rows"),
        ("a.yaml", "Just words\nof a text.\n", "holds no names with values"),
        ("a.yaml", LAUGHS, "holds more than 1,000,000 values"),
        (
            "a.yaml",
            f"a: &a {'x' * 9_000}\nb: [{'*a, ' * 2_000}]\n",
            "repeats values by aliases to more than 8,388,608 charact",
        ),
        ("a.yaml", "[" * 5_000, "holds more than 100 levels"),
        ("a.yaml", "".join(f"{' ' * level}a:\n" for level in range(2_000)), "holds more than 100 levels"),
        ("a.toml", "a = \n", "is not TOML (Invalid value (at line 1, column 5))"),
        ("a.toml", "a = 1\na = 2\n", "is not TOML (Cannot overwrite a value (at line 2, column 6))"),
        ("a.toml", f"{'a.' * 200}a = 1", "holds more than 100 levels"),
        ("a.toml", f"a = {'[' * 5_000}", "is not TOML ("),
        ("a.ini", "Just words\nof a text.\n", "is not INI (it has no name with a value)"),
        ("a.ini", "global\n  maxconn 4\n", "is not INI (a line goes on where none began)"),
        ("a.ini", "[a]\n= b\n", "is not INI (line 2 has no name)"),
        ("a.gpx", "<kml/>", "is XML whose first element 'kml' is not gpx"),
        ("a.gpx", "<gpx><wpt lat=", "is not XML"),
        ("a.kml", "<kml/>", "is empty: it holds no text"),
        ("a.log", "\n\n", "is empty"),
        ("a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:A\n", "holds a calendar without its end, or none"),
        (
            "a.ics",
            "BEGIN:VCALENDAR\nEND:VCALENDAR\nBEGIN:VCALENDAR\nBEGIN:VEVENT\n",
            "holds a calendar without its end, or none",
        ),
        ("a.ics", "words\n", "is no valid calendar"),
        ("a.ics", "BEGIN:VCARD\nFN:Ada\nEND:VCARD\n", "holds a calendar without its end, or none"),
        ("a.ics", "BEGIN:VCALENDAR\nEND:VCALENDAR\n", "is empty"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert reason(tmp_path, name, text).startswith(expected)


LOG = """Starting up.
2024-03-05 09:30:00,123 ERROR app.db: Connection to db1 failed
Traceback (most recent call last):
  File "/app/web.py", line 10, in get
ValueError: bad id
2024-03-05T09:30:01Z | INFO     | app | # Retrying | in 5 s
127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /pump.gif HTTP/1.0" 200 2326
Mar  5 09:30:02 plant sshd[12]: Accepted key for ada
2024/03/05 09:30:03 [error] 12#0: *1 open() failed
[Tue Mar 05 09:30:04.5 2024] [core:warn] [pid 7] The pump is slow.
Mar 05, 2024 9:30:05 AM org.example.Pump start
SEVERE: The pump stops.
09:30:06.123 [main] WARN  Pump - \x1b[31mhot\x1b[0m
WARNING:root:Low oil.
time="2024-03-05T09:30:07+01:00" level=info msg=ready
{"@timestamp": "2024-03-05T09:30:08Z", "level": "debug", "message": "Valve opened", "valve": {"id": "V-1"}}
{"ts": 1709631009, "msg": "Valve closed"}
"""
ENTRIES = [
    ("Starting up.", ()),
    (
        "2024-03-05 09:30:00,123 ERROR app.db: Connection to db1 failed Traceback (most recent call last): "
        'File "/app/web.py", line 10, in get ValueError: bad id',
        ("2024-03-05T09:30:00.123000+00:00", "ERROR"),
    ),
    (
        "2024-03-05T09:30:01Z\u00a0| INFO\u00a0| app\u00a0| # Retrying\u00a0| in 5 s",
        ("2024-03-05T09:30:01+00:00", "INFO"),
    ),
    (
        '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /pump.gif HTTP/1.0" 200 2326',
        ("2000-10-10T20:55:36+00:00",),
    ),
    ("Mar 5 09:30:02 plant sshd[12]: Accepted key for ada", ("Mar 5 09:30:02",)),
    ("2024/03/05 09:30:03 [error] 12#0: *1 open() failed", ("2024-03-05T09:30:03+00:00", "ERROR")),
    ("[Tue Mar 05 09:30:04.5 2024] [core:warn] [pid 7] The pump is slow.", ("2024-03-05T09:30:04+00:00", "WARN")),
    (
        "Mar 05, 2024 9:30:05 AM org.example.Pump start SEVERE: The pump stops.",
        ("2024-03-05T09:30:05+00:00", "SEVERE"),
    ),
    ("09:30:06.123 [main] WARN Pump - hot", ("09:30:06.123", "WARN")),
    ("WARNING:root:Low oil.", ("WARNING",)),
    ('time="2024-03-05T09:30:07+01:00" level=info msg=ready', ("2024-03-05T08:30:07+00:00", "INFO")),
    ("2024-03-05T09:30:08Z debug Valve opened (valve.id: V-1)", ("2024-03-05T09:30:08+00:00", "DEBUG")),
    ("2024-03-05T09:30:09+00:00 Valve closed", ("2024-03-05T09:30:09+00:00",)),
]


def test_an_entry_of_a_log_is_a_paragraph_with_its_instant_and_its_level(tmp_path: Path) -> None:
    found = only(tmp_path, "app.log", LOG)
    assert found.text == "\n\n".join(text for text, _ in ENTRIES)
    details: dict[str, tuple[str, ...]] = {}
    for start, end, text in found.details:
        details[found.text[start:end]] = (*details.get(found.text[start:end], ()), text)
    assert details == {text: said for text, said in ENTRIES if said}
    assert found.metadata == {
        "filename": "app.log", "entries": 13,
        "start": "2024-03-05T09:30:00.123000+00:00", "end": "2024-03-05T09:30:09+00:00",
    }  # fmt: skip
    [extraction] = LocalExtractor().extract([ChunkInput(found.text, found.title, noted=found.details)])
    said = [each.text for each in extraction.propositions]
    assert "app: Mar 5 09:30:02 plant sshd[12]: Accepted key for ada" in said
    assert any(text.endswith("| app | # Retrying | in 5 s") for text in said)


def test_lines_of_a_log_without_instants_are_entries_and_nothing_in_them_is_a_heading_or_a_table(
    tmp_path: Path,
) -> None:
    source = "# Build of the pump\n| a | b |\n- compile\n  at once\ndone\tin\t3 s\n"
    found = only(tmp_path, "a.log", source)
    assert found.text.split("\n\n") == [
        "\\# Build of the pump", "\\| a\u00a0| b |", "\\- compile at once", "done in 3 s",
    ]  # fmt: skip
    assert found.metadata == {"filename": "a.log", "entries": 4}


GPX = """<gpx xmlns="http://www.topografix.com/GPX/1/1"><metadata><name>Round of Orlen</name><desc>A walk by the river.</desc>
<author><name>Ada Falk</name></author></metadata>
<wpt lat="47.1" lon="8.5"><ele>412</ele><time>2024-03-05T09:30:00Z</time><name>Halfmoon Bridge</name>
<desc>Built in 1868.</desc></wpt>
<wpt lat="47.2" lon="8.6"><name>Gannow Light</name></wpt>
<rte><name>By the river</name><rtept lat="47.1" lon="8.5"><name>Start</name></rtept></rte>
<trk><name>Tuesday</name><trkseg>{}</trkseg></trk></gpx>""".format(
    "".join(f'<trkpt lat="47.{n}" lon="8.5"><time>2024-03-05T09:3{n}:00Z</time></trkpt>' for n in range(5))
)
KML = """<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>Town of Orlen</name><description>Sights.</description>
<Placemark><name>Halfmoon Bridge</name><description><![CDATA[<p>Built in <b>1868</b>.</p>]]></description>
<ExtendedData><Data name="architect"><value>Mara Quill</value></Data></ExtendedData>
<Point><coordinates>8.5,47.1,0</coordinates></Point></Placemark>
<Folder><name>Rivers</name><Placemark><name>Orl</name><LineString><coordinates>1,2 3,4 5,6</coordinates></LineString></Placemark>
</Folder></Document></kml>"""


def test_places_are_rows_and_the_points_of_a_track_are_counted(tmp_path: Path) -> None:
    found = only(tmp_path, "a.gpx", GPX)
    assert (found.title, found.metadata) == ("Round of Orlen", {"filename": "a.gpx", "author": "Ada Falk"})
    assert found.text.split("\n") == [
        *("A walk by the river.", ""),
        "| name | latitude | longitude | elevation | time | description |",
        "| --- | --- | --- | --- | --- | --- |",
        "| Halfmoon Bridge | 47.1 | 8.5 | 412 | 2024-03-05T09:30:00Z | Built in 1868. |",
        "| Gannow Light | 47.2 | 8.6 |  |  |  |",
        *("", "## By the river", ""),
        *("| name | latitude | longitude |", "| --- | --- | --- |", "| Start | 47.1 | 8.5 |"),
        *("", "## Tracks", ""),
        *("| track | points | start | end |", "| --- | --- | --- | --- |"),
        "| Tuesday | 5 | 2024-03-05T09:30:00Z | 2024-03-05T09:34:00Z |",
    ]
    assert found.warnings == ("not read: points of tracks, but for their number and times (5)",)
    found = only(tmp_path, "b.kml", KML)
    assert (found.title, found.metadata) == ("Town of Orlen", {"filename": "b.kml"})
    assert found.text.split("\n") == [
        *("Sights.", ""),
        "| name | latitude | longitude | description | architect |",
        "| --- | --- | --- | --- | --- |",
        "| Halfmoon Bridge | 47.1 | 8.5 | Built in 1868. | Mara Quill |",
        *("", "## Rivers", "", "| name | points |", "| --- | --- |", "| Orl | 3 |"),
    ]
    assert found.warnings == ("not read: points of lines, areas and tracks, but for their number and times (3)",)


def test_a_folder_of_settings_is_read_but_for_hlgraph_s_own(tmp_path: Path) -> None:
    (tmp_path / "hlgraph.yaml").write_text("neo4j: {password: secret}\n")
    (tmp_path / "plant.yaml").write_text("pump: P-1\n")
    found = [each.uri for each in read([str(tmp_path)]) if isinstance(each, Document)]
    assert found == [(tmp_path / "plant.yaml").as_uri()]


@pytest.mark.parametrize(
    ("name", "part", "around"),
    [
        ("a.yaml", "a: [b, {c: d}]  # e\n# f\n\n", "- {}"),
        ("a.yaml", "# e\n", "a: b\n{}"),
        ("a.yaml", "abcdefgh", "a: b # {}"),
        ("a.yaml", "a=b ", "a: b # password=c {}"),
        ("a.toml", '[[a]]\nb = """c # d"""  # e\n# f\n', "{}"),
        ("a.toml", "'a' .", "{}"),
        ("a.ini", "a = b\n  c\n; d\n", "[x]\n{}"),
        ("a.ini", "\t", "[x]\na{}b"),
        ("a.properties", "a\\=b : c \\\n  d\n", "{}"),
        ("a.log", "2024-03-05 09:30:00 ERROR a\n  at b\n", "{}"),
        ("a.log", "[INFO] " * 9, "{}"),
        ("a.log", '{"a": "b"}\n', "{}"),
        ("a.gpx", '<wpt lat="1" lon="2"><name>a</name></wpt>', "<gpx>{}</gpx>"),
        ("a.kml", "<Folder><name>a</name></Folder>", "<kml>{}</kml>"),
    ],
)
def test_time_is_linear_in_the_text(tmp_path: Path, name: str, part: str, around: str) -> None:
    def seconds(size: int) -> float:
        text = around.replace("{}", part * size)
        begin = time.process_time()
        given(tmp_path, name, text)
        return time.process_time() - begin

    small = max(0.004, seconds(500))
    assert seconds(4_000) < 24 * small


SECRETS = {
    "a.yaml": """
db:
  host: a.example
  password: hunter2
  apiKey: hunter2
  pin_code: 4711
  password_file: /run/db
  passwd: ${DB_PASSWORD}
  max_tokens: 500
  has_token: true
  url: postgresql://reader:hunter2@a.example/shop
env:
  - name: SMTP_PASSWORD
    value: hunter2
  - name: SMTP_HOST
    value: b.example
list: [REDIS_PASSWORD=hunter2, REDIS_HOST=c.example]
key: |
  -----BEGIN RSA PRIVATE KEY-----
  hunter2
""",
    "b.toml": '[db]\nhost = "a.example"\nclient-secret = "hunter2"\ntoken = 12345\n',
    "c.ini": "[db]\nhost = a.example\nPassword = hunter2\n",
    "d.properties": "db.host=a.example\ndb.secret.key=hunter2\n",
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_of_settings_are_withheld_and_named(tmp_path: Path, name: str) -> None:
    document = only(tmp_path, name, SECRETS[name])
    assert "hunter2" not in document.text
    assert "12345" not in document.text
    assert "a.example" in document.text
    [warning] = [each for each in document.warnings if each.startswith("withheld")]
    assert "hunter2" not in warning
    if name == "a.yaml":
        assert warning.endswith(": password, apiKey, url, SMTP_PASSWORD, REDIS_PASSWORD, key")
        words = (
            "4711",
            "/run/db",
            "${DB_PASSWORD}",
            "500",
            "b.example",
            "REDIS_HOST=c.example",
            "reader:(withheld)@a.example",
        )
        assert [word for word in words if word not in document.text] == []


ICS = """BEGIN:VCALENDAR
X-WR-CALNAME:Events of Orlen
BEGIN:VEVENT
UID:1
DTSTART;TZID=Europe/London:20250621T193000
DTEND;TZID=Europe/London:20250621T213000
SUMMARY:Concert\\, free
LOCATION:Net Loft
DESCRIPTION:Bring a
  cup.
ORGANIZER;CN=Ada Falk:mailto:ada@x.example
ATTENDEE;CN=Ben:mailto:ben@x.example
ATTENDEE:mailto:cy@x.example
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=5
EXDATE;TZID=Europe/London:20250705T193000
X-OWN:no
BEGIN:VALARM
TRIGGER:-PT15M
END:VALARM
END:VEVENT
BEGIN:VEVENT
SUMMARY:Fair
RRULE:
CATEGORIES:
DTSTART;VALUE=DATE:20250801
DTEND;VALUE=DATE:20250803
END:VEVENT
BEGIN:VEVENT
SUMMARY:Talk
DTSTART:20250801T230000Z
DURATION:PT2H
STATUS:CANCELLED
END:VEVENT
BEGIN:VEVENT
SUMMARY:Tea
DTSTART:soon
END:VEVENT
BEGIN:VTODO
SUMMARY:Paint
DUE:20250902T100000
END:VTODO
END:VCALENDAR
"""


def test_a_calendar_is_a_section_per_event_with_its_time_in_words(tmp_path: Path) -> None:
    found = only(tmp_path, "a.ics", ICS)
    assert found.title == "Events of Orlen"
    assert found.text.split("\n\n") == [
        "## Concert, free",
        "when: 21 June 2025, 19:30 to 21:30 (Europe/London)",
        "repeats: every 2 weeks on Monday, Wednesday 5 times",
        "except on: 5 July 2025, 19:30 (Europe/London)",
        "where: Net Loft",
        "organizer: Ada Falk",
        "attendee: Ben, cy@x.example",
        "Bring a cup.",
        "## Fair",
        "when: 1 August 2025 to 2 August 2025",
        "## Talk",
        "when: 1 August 2025, 23:00 (UTC) to 2 August 2025, 01:00 (UTC)",
        "status: CANCELLED",
        "## Tea",
        "when: soon",
        "## Paint",
        "due: 2 September 2025, 10:00",
    ]
    assert found.warnings == ("not read: attachment or property of one program, reminder",)


FEED = """<?xml version="1.0"?><rss version="2.0" xmlns:c="http://a.org/content"><channel><title>Sarn News</title>
<item><title>Bridge</title><description>&lt;p&gt;The bridge&lt;br&gt;is open.&lt;/p&gt;</description><guid>1</guid></item>
<item><title>Mill</title><description>The mill burnt.</description><guid>2</guid></item></channel></rss>"""


def test_elements_of_one_name_are_rows_and_the_file_says_its_title(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(FEED)
    [feed] = read([str(tmp_path / "a.xml")])
    assert isinstance(feed, Document)
    assert (feed.title, feed.text.split("\n\n")[:2]) == ("Sarn News", ["version: 2.0", "title: Sarn News"])
    assert feed.text.endswith("| Bridge | The bridge is open. | 1 |\n| Mill | The mill burnt. | 2 |")
    (tmp_path / "b.rss").write_text(FEED.replace("description>", "c:encoded>").replace("guid", "id"))
    _, second = read([str(tmp_path / "b.rss")])
    assert isinstance(second, Document)
    assert (second.title, second.text, second.uri[-5:]) == ("Mill", "The mill burnt.", "rss#2")


def test_lists_of_an_xml_file_are_tables_its_mixed_text_is_whole_and_its_secrets_are_withheld(tmp_path: Path) -> None:
    line = "<line n='{0}'><item>Rope <b>{0}</b> m</item><price currency='EUR'>{0}.50</price></line>"
    tax = "<tax><rate>7</rate></tax><tax><rate>19</rate></tax>"
    bill = f"<bill><id>B-7</id><api_key>k</api_key>{line.format(1)}{line.format(2)}{tax}<date>2026-01-31</date></bill>"
    (tmp_path / "a.xml").write_text(bill)
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert found.text.split("\n\n") == [
        *("id: B-7", "api_key: (withheld)", "date: 2026-01-31", "## line"),
        "| n | item | price currency | price |\n| --- | --- | --- | --- |\n"
        "| 1 | Rope 1 m | EUR | 1.50 |\n| 2 | Rope 2 m | EUR | 2.50 |",
        *("## tax", "| rate |\n| --- |\n| 7 |\n| 19 |"),
    ]


def test_what_is_switched_off_in_a_comment_of_xml_is_not_read(tmp_path: Path) -> None:
    off = "<!-- <user name='a' password='hunter2'/> --><!-- password: hunter2 -->"
    users = f"<!-- The users. --><users>{off}<user name='b'/></users>"
    (tmp_path / "a.xml").write_text(users)
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert "hunter2" not in found.text
    assert found.text.startswith("The users.")
    assert found.warnings[0] == "not read: element in a comment"


def test_an_outline_is_a_list(tmp_path: Path) -> None:
    inner = '<outline text="Mills"><outline text="Orlen &lt;b&gt;Mill&lt;/b&gt;" xmlUrl="http://a.org/f"/></outline>'
    body = f"<body>{inner}<outline text='Bridges'/></body>"
    (tmp_path / "a.opml").write_text(f"<opml><head><title>Feeds</title></head>{body}</opml>")
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert (found.title, found.text) == ("Feeds", "- Mills\n  - Orlen Mill (http://a.org/f)\n- Bridges")


def test_settings_in_sections_are_read_whatever_program_they_are_of(tmp_path: Path) -> None:
    (tmp_path / "smb.conf").write_text("# Samba\n\n[global]\n   workgroup = SARN\n   admin password = k\n")
    (tmp_path / "nginx.conf").write_text("user www;\nevents { }\n")
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert "| global workgroup | SARN |\n| global admin password | (withheld) |" in found.text
    [failed] = read([str(tmp_path / "nginx.conf")])
    assert isinstance(failed, ReadFailure)
    assert failed.error.mend.startswith("if it is plain text, add --format text")


_SWITCHED_OFF = """{0} The login of the app.
{0}password{1}hunter2
{0} Use password{1}hunter2, or the old one at http://ada:hunter2@a.example
{0} Lines in the buffer. 0 disables it.
{0}history{1}10000
{0} The port of the server.
"""


@pytest.mark.parametrize(
    ("name", "sign", "between", "value"),
    [
        ("a.yaml", "#", ": ", "port: 80"),
        ("a.toml", "#", " = ", "port = 80"),
        ("a.ini", ";", "=", "[tarn]\nport = 80"),
        ("a.properties", "#", "=", "port=80"),
        ("b.properties", "!", " = ", "port=80"),
    ],
)
def test_a_setting_in_a_comment_takes_the_lines_above_it_and_its_secret_is_withheld(
    tmp_path: Path, name: str, sign: str, between: str, value: str
) -> None:
    document = only(
        tmp_path, name, _SWITCHED_OFF.format(sign, between).replace("Use password: hunter2,", "Use it,") + value
    )
    assert "hunter2" not in document.text
    assert any(each.startswith("withheld") and "password" in each for each in document.warnings)
    assert "- password = (withheld): The login of the app." in document.text
    assert "history = 10000: Use" in document.text
    assert "Lines in the buffer. 0 disables it." in document.text
    assert "The port of the server." in document.text.rpartition("10000")[2].partition("disables it.")[2]


def test_a_private_key_in_a_comment_is_withheld(tmp_path: Path) -> None:
    key = "# Old:\n# -----BEGIN RSA PRIVATE KEY-----\n# hunter2\n# -----END RSA PRIVATE KEY-----\n# The port.\n"
    document = only(tmp_path, "a.yaml", f"{key}port: 80")
    assert "| port comment | Old: (withheld) The port. |" in document.text


def test_the_numbers_of_a_statistical_office_have_their_categories(tmp_path: Path) -> None:
    years = {"label": "Year", "category": {"index": {"y1": 1, "y0": 0}, "label": {"y0": "2001", "y1": "2002"}}}
    cube = {"class": "dataset", "label": "Mills", "id": ["year", "town"], "size": [2, 2], "value": [7, 9, None, 4]}
    cube |= {"dimension": {"year": years, "town": {"category": {"index": ["Sarn", "Tolk"]}}}}
    (tmp_path / "a.json").write_text(json.dumps(cube))
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert found.text.split("\n\n")[-1].split("\n") == [
        *(
            "| Year | town | value |",
            "| --- | --- | --- |",
            "| 2001 | Sarn | 7 |",
            "| 2001 | Tolk | 9 |",
            "| 2002 | Tolk | 4 |",
        ),
    ]
    (tmp_path / "a.json").write_text(json.dumps({**cube, "value": {"3": 5}}))
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert found.text.endswith("| 2002 | Tolk | 5 |")
    (tmp_path / "a.json").write_text(json.dumps({**cube, "dimension": {"year": 1}}))
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert "| dimension year | 1 |" in found.text


@pytest.mark.parametrize(
    "chat",
    [
        {
            "name": "Boats",
            "messages": [
                {"type": "service", "date": "2024-05-03T07:59:00", "action": "create_group", "text": ""},
                {
                    "date": "2024-05-03T08:00:00",
                    "from": "Ada Falk",
                    "text": ["See ", {"type": "link", "text": "a.org"}],
                },
                {"date": "2024-05-03T08:01:00", "from": "Ben Moro", "text": "Good."},
            ],
        },
        {
            "title": "Boats",
            "messages": [
                {"sender_name": "Ben Moro", "timestamp_ms": 1714723260000, "content": "Good."},
                {"sender_name": "Ada Falk", "timestamp_ms": 1714723200000, "content": "See a.org"},
            ],
        },
        [
            {"user": "U1", "ts": "1714723200.000100", "text": "See a.org", "user_profile": {"real_name": "Ada Falk"}},
            {"user": "Ben Moro", "ts": "1714723260.000100", "text": "Good."},
        ],
    ],
)
def test_messages_of_an_exported_chat_have_their_writers_and_times(chat: object, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(chat))
    [found] = read([str(tmp_path)])
    assert isinstance(found, Document)
    assert found.text == "[2024-05-03 08:00:00] Ada Falk: See a.org\n\n[2024-05-03 08:01:00] Ben Moro: Good."
    assert found.title == ("Boats" if isinstance(chat, dict) else "a")
    given = list(read([str(tmp_path / "a.json")], ReadOptions(mapping={"text": "text", "title": "date"})))
    assert all(isinstance(item, ReadFailure) or item.text != found.text for item in given)


def test_names_and_links_in_messages_of_slack_are_words(tmp_path: Path) -> None:
    chat = [
        {
            "user": "U1",
            "ts": "1714723200.0",
            "text": "<@U2> see <https://a.example|the list>",
            "user_profile": {"real_name": "Ada"},
        },
        {"user": "U2", "ts": "1714723260.0", "text": "<https://b.example>", "user_profile": {"real_name": "Bo"}},
        {"user": "U2", "ts": "1714723320.0", "text": "a <b and c> <@U9>"},
    ]
    lines = [line.partition("] ")[2] for line in only(tmp_path, "a.json", json.dumps(chat)).text.split("\n\n")]
    assert lines == ["Ada: Bo see the list", "Bo: https://b.example", "Bo: a <b and c> U9"]


def test_emphasis_in_the_html_of_a_feed_divides_no_word_and_encoded_data_is_counted(tmp_path: Path) -> None:
    note = "<n><title>Pump</title><text>&lt;p&gt;It is &lt;b&gt;red&lt;/b&gt;.&lt;/p&gt;&lt;p&gt;Yes.&lt;/p&gt;</text>"
    picture = "<picture><data encoding='base64'>iVBORw0KGgo=</data></picture>"
    found = given(tmp_path, "a.xml", f"<all>{note}{picture}</n>{note.replace('Pump', 'Seal')}</n></all>")
    assert [item.text for item in found if isinstance(item, Document)] == ["It is red. Yes."] * 2
    assert all("iVBOR" not in str(item) for item in found)
    assert any("encoded data" in warning for item in found if isinstance(item, Document) for warning in item.warnings)


WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/"><siteinfo><sitename>S</sitename></siteinfo>
<page><title>Tolk  Castle</title><id>12</id><revision><text>old</text></revision><revision><id>88</id>
<text>'''Tolk''' is near [[Helm (town)|Helm]].\n\n== History ==\n* It burned &lt;!-- check --&gt; in 1503.</text></revision></page>
<page><title>Tolk</title><redirect title="Tolk Castle"/><revision><text>#REDIRECT [[Tolk Castle]]</text></revision></page>
<page><title>Helm</title><revision><text>Helm has a mill.</text></revision></page></mediawiki>"""


def test_pages_of_an_export_of_mediawiki_are_documents_in_their_last_version(tmp_path: Path) -> None:
    found = given(tmp_path, "a.xml", WIKI)
    assert [(item.title, item.text, item.uri[-6:]) for item in found if isinstance(item, Document)] == [
        ("Tolk Castle", "Tolk is near Helm.\n\n## History\n\n- It burned  in 1503.", ".xml#1"),
        ("Helm", "Helm has a mill.", ".xml#3"),
    ]


def test_a_feed_with_one_entry_in_xhtml_is_a_document(tmp_path: Path) -> None:
    text = '<div xmlns="http://www.w3.org/1999/xhtml"><p>Sown in <b>A</b>pril.</p><p>No dung.</p></div>'
    text = f'<author><name>Ada</name></author><content type="xhtml">{text}</content>'
    entry = f'<entry><title type="html">Peas &amp;amp; beans</title><id>urn:y</id>{text}</entry>'
    [found] = given(tmp_path, "a.xml", f'<feed xmlns="http://www.w3.org/2005/Atom"><title>Notes</title>{entry}</feed>')
    assert isinstance(found, Document)
    assert (found.title, found.text) == ("Peas & beans", "Sown in April. No dung.")
    assert found.metadata["feed"] == "Notes"
    [other] = given(tmp_path, "b.xml", '<form><field type="text" name="a"/><field type="xhtml">b</field></form>')
    assert isinstance(other, Document)
    assert other.text.splitlines()[4:] == ["| text | a |  |", "| xhtml |  | b |"]


def test_a_post_of_an_export_of_wordpress_with_an_excerpt_is_its_content(tmp_path: Path) -> None:
    spaces = (
        "xmlns:content='http://purl.org/rss/1.0/modules/content/' xmlns:e='http://wordpress.org/export/1.2/excerpt/'"
    )
    post = (
        "<item><title>Slipway</title><content:encoded>It is &lt;b&gt;not&lt;/b&gt; open.</content:encoded>"
        "<e:encoded>{}</e:encoded><comment><author>Ben</author><content>Why?</content></comment></item>"
    )
    found = given(tmp_path, "a.xml", f"<rss {spaces}><channel>{post.format('')}{post.format('Short.')}</channel></rss>")
    assert [(each.title, each.text) for each in found if isinstance(each, Document)] == [
        ("Slipway", "It is not open.")
    ] * 2


NODES = {
    "a": {"parent": None, "message": {"author": {"role": "system"}, "content": {"parts": [""]}}},
    "b": {
        "parent": "a",
        "message": {
            "author": {"role": "user"},
            "create_time": 1709631000.5,
            "content": {"parts": ["Which valve?", {"x": 1}]},
        },
    },
    "c": {
        "parent": "b",
        "message": {
            "author": {"role": "assistant"},
            "create_time": 1709631060,
            "content": {"parts": ["**Not** V1:\n\n- V2"]},
        },
    },
    "d": {"parent": "b", "message": {"author": {"role": "assistant"}, "content": {"parts": ["It is not shown"]}}},
    "e": {"parent": "c", "message": None},
}
TOLD = [
    {"sender": "human", "text": "Which valve?", "created_at": "2024-03-05T09:30:00"},
    {
        "sender": "assistant",
        "content": [{"type": "text", "text": "**Not** V1:\n\n- V2"}],
        "created_at": "2024-03-05T09:31:00",
    },
    {"sender": "assistant", "content": "x", "text": ""},
    "x",
]


@pytest.mark.parametrize(
    ("entry", "who"),
    [
        ({"title": "Valves", "mapping": NODES, "current_node": "e"}, "User"),
        ({"name": "Valves", "uuid": "u", "chat_messages": TOLD}, "Human"),
    ],
)
def test_a_conversation_with_a_chat_model_is_a_document_of_its_shown_messages(
    entry: dict[str, object], who: str, tmp_path: Path
) -> None:
    text = f"[2024-03-05 09:30:00] {who}: Which valve?\n\n[2024-03-05 09:31:00] Assistant: **Not** V1:\n\n- V2"
    empty = {**entry, "mapping": {}, "chat_messages": []}
    found = [
        each for each in given(tmp_path, "a.json", json.dumps([empty, entry, entry])) if isinstance(each, Document)
    ]
    assert [(each.title, each.text, each.uri[-6:]) for each in found] == [
        ("Valves", text, "json#2"),
        ("Valves", text, "json#3"),
    ]
    found = [only(tmp_path, "a.json", json.dumps(entry))]
    assert found[0].text == text
    is_left_out = "It is not shown" in str(entry)
    assert found[0].warnings == (("not read: message of a tool or of another branch",) if is_left_out else ())
    other = {"mapping": {"title": {"type": "text"}}, "index": "a"}
    assert "mapping title type" in only(tmp_path, "a.json", json.dumps(other)).text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"mapping": ["oil", "gas"]}, "mapping | oil, gas |"),
        ({"chat_messages": {"a": "Hello."}}, "chat_messages a | Hello. |"),
    ],
)
def test_settings_with_a_name_of_a_chat_are_read(data: dict[str, object], text: str, tmp_path: Path) -> None:
    assert text in only(tmp_path, "a.json", json.dumps(data)).text


def test_two_lists_inside_of_objects_whose_names_read_alike_are_both_read(tmp_path: Path) -> None:
    data = {"p a": {"b": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}, "p": {"a b": [{"x": 5, "y": 6}, {"x": 7, "y": 8}]}}
    found = only(tmp_path, "a.json", json.dumps(data))
    assert "| 3 | 4 |" in found.text
    assert "p a b 2 y: 8" in found.text


def test_names_without_a_value_beside_lists_of_xml_are_shown(tmp_path: Path) -> None:
    items = "<item><a>1</a><b>2</b></item><item><a>3</a><b>4</b></item>"
    found = only(tmp_path, "a.xml", f"<site><search/><body><menu>{items}</menu><foot>{items}</foot></body></site>")
    assert found.text.startswith("without a value: search\n\n")
    assert "| 3 | 4 |" in found.text


def test_characters_of_facebook_that_are_bytes_of_utf8_are_joined(tmp_path: Path) -> None:
    lines = [("André", "isn’t ready"), ("Ben", "À côté")]
    messages = [
        {
            "sender_name": name.encode().decode("latin-1"),
            "timestamp_ms": 1714723200000 + at,
            "content": text.encode().decode("latin-1"),
        }
        for at, (name, text) in enumerate(lines)
    ]
    found = only(
        tmp_path, "a.json", json.dumps({"title": "AndrÃ©", "messages": [*messages, {**messages[0], "content": "é"}]})
    )
    assert found.title == "André"
    assert [line.partition("] ")[2] for line in found.text.split("\n\n")] == [
        "André: isn’t ready",
        "Ben: À côté",
        "André: é",
    ]


DEEP = [{"Amt": {"Ccy": "EUR", "": 640}, "To": "Housing"}, {"Amt": {"Ccy": "EUR", "": 2310}, "From": "Brenk"}]


@pytest.mark.parametrize("kind", ["xml", "json"])
def test_a_list_of_objects_deep_in_a_file_is_a_table_below_the_other_values(kind: str, tmp_path: Path) -> None:
    values = {"Header": {"Id": "M1"}, "Stmt": {"Iban": "DE02", "Entry": DEEP}}
    rows = "<Entry><Amt Ccy='EUR'>640</Amt><To>Housing</To></Entry><Entry><Amt Ccy='EUR'>2310</Amt><From>Brenk</From></Entry>"
    xml = f"<Doc><Header><Id>M1</Id></Header><Stmt><Iban>DE02</Iban>{rows}</Stmt></Doc>"
    found = only(tmp_path, f"a.{kind}", xml if kind == "xml" else json.dumps(values))
    table = found.text.split("## Stmt Entry\n\n")
    assert table[0].split("\n\n")[:2] == ["Header Id: M1", "Stmt Iban: DE02"]
    assert [*map(str.strip, table[1].split("\n"))][2:] == ["| EUR | 640 | Housing |  |", "| EUR | 2310 |  | Brenk |"]

#!/usr/bin/env bash
# icalendar 7.3.2.
# Guess: a calendar whose end is missing (a download that was cut) is the same error whichever way it is read.
# Seen: Calendar.from_ical(text) raises ValueError, and Calendar.from_ical(text, multiple=True), which reads files with several
# calendars, returns an empty list. Two calendars of which the second is cut are one calendar; nothing says that events are lost.
# A text of an event that is no date is kept as a broken property in a VEVENT, and in a VTODO it refuses the whole file.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check icalendar==7.3.2
cat > "$folder/cut.py" <<'PYTHON'
from importlib.metadata import version

from icalendar import Calendar


def read(text: str, *, multiple: bool) -> str:
    try:
        parts = Calendar.from_ical(text, multiple=multiple)
    except ValueError as error:
        return type(error).__name__
    return f"{len(parts)} calendars" if multiple else "a calendar"


def calendar(kind: str, line: str) -> str:
    return f"BEGIN:VCALENDAR\r\nBEGIN:{kind}\r\nSUMMARY:Talk\r\n{line}END:{kind}\r\nEND:VCALENDAR\r\n"


whole = calendar("VEVENT", "")
cut = whole.partition("END:VEVENT")[0]
seen = {
    "cut": read(cut, multiple=False),
    "cut, multiple": read(cut, multiple=True),
    "whole and cut, multiple": read(whole + cut, multiple=True),
    "event with a text for its date": read(calendar("VEVENT", "DTSTART:soon\r\n"), multiple=False),
    "task with a text for its date": read(calendar("VTODO", "DTSTART:soon\r\n"), multiple=False),
}
print(f"icalendar {version('icalendar')}")
for name, outcome in seen.items():
    print(f"{name}: {outcome}")
expected = ["ValueError", "0 calendars", "1 calendars", "a calendar", "ValueError"]
raise SystemExit(0 if list(seen.values()) == expected else 1)
PYTHON
"$folder/venv/bin/python" "$folder/cut.py"

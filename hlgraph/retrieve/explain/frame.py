"""The frame of HTML pages that need no network: one file, whose content security policy allows only its own style and script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from importlib.resources import files

from hlgraph.retrieve.explain.svg import escaped


def framed(title: str, body: Iterable[str], *, style: str = "", script: str = "") -> str:
    """A complete HTML page in light and dark colours.

    The policy admits the script by its hash and nothing else, whatever the texts in the body contain.

    Parameters
    ----------
    title : title of the page
    body : lines of HTML, in which every text of people is escaped
    style : more CSS behind that of all pages
    script : JavaScript; empty for none
    """
    css = resource("picture.css") + resource("page.css") + style
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"; script-src 'sha256-{digest}'" if script else ""
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'{scripts}"
    end = f"\n<script>{script}</script>" if script else ""
    lines = "\n".join(body)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escaped(title)}</title>
<link rel="icon" href="data:,">
<style>{css}</style>
</head>
<body>
{lines}{end}
</body>
</html>
"""


def resource(name: str) -> str:
    """The text of a file of this folder."""
    return files("hlgraph.retrieve.explain").joinpath(name).read_text("utf-8")

"""How Sphinx builds these pages: offline, from files of this repository alone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(REPOSITORY))

from hlgraph import __version__  # noqa: E402

project = "hlgraph"
copyright = "hlgraph maintainers"  # noqa: A001
release = __version__
extensions = ["myst_nb"]
exclude_patterns = ["_build", "_ext"]
html_theme = "furo"
html_title = f"hlgraph {release}"
pygments_dark_style = "monokai"
suppress_warnings = ["misc.highlighting_failure"]  # the lexer of Cypher does not know "+"

# Notebooks keep the output of their last run; a test runs them.
nb_execution_mode = "off"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

smartquotes = False  # it turns --option into a dash

# Notebooks lie at the top of the repository; Sphinx reads pages of its own folder only.
_copies = HERE / "notebooks"
shutil.rmtree(_copies, ignore_errors=True)
if (REPOSITORY / "notebooks").is_dir():
    _copies.mkdir()
    for _path in (REPOSITORY / "notebooks").glob("*.ipynb"):
        shutil.copy(_path, _copies)

"""Reader of plain text: the file as it is, titled by the stem of its name."""

from __future__ import annotations

from hlgraph.read.content import Origin, clean_title, decode
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document


def read_text(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a text file.

    Parameters
    ----------
    origin : the file
    data : its bytes
    options : the encoding

    Raises
    ------
    ReadError
        The bytes are not text in that encoding, or hold only white space.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    return Document(uri=origin.uri, text=text, title=clean_title(origin.stem), warnings=warnings)


FORMAT = FileFormat("text", suffixes=(".text", ".txt"), read=read_text)

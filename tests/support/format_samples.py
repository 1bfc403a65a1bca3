"""A small sound file of each text format: every element that holds text has a marker such as ``kanu07`` in it."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from email.message import EmailMessage
from functools import cache
from itertools import pairwise

import pyarrow as pa
from pyarrow import ipc, parquet

JATS = """<?xml version="1.0"?><article><front><journal-meta><journal-title>kanu01</journal-title></journal-meta><article-meta>
<title-group><article-title>kanu02</article-title><subtitle>kanu03</subtitle></title-group><contrib-group><contrib><name>
<surname>kanu04</surname><given-names>kanu05</given-names></name></contrib><aff>kanu06</aff></contrib-group><abstract><title>kanu07
</title><p>kanu08</p></abstract><kwd-group><kwd>kanu09</kwd></kwd-group></article-meta></front><body><sec><title>kanu10</title>
<p>kanu11 <italic>kanu12</italic> 10<sup>6</sup>
<inline-formula><tex-math>kanu13</tex-math></inline-formula></p><sec><label>1</label>
<title>kanu14</title><list><list-item><label>kanu15</label><p>kanu16</p></list-item></list></sec><fig><label>kanu17</label><caption>
<title>kanu18</title><p>kanu19</p></caption></fig><table-wrap><label>kanu20</label><caption><p>kanu21</p></caption><table><thead><tr>
<th>Name</th><th>Year</th></tr></thead><tbody><tr><td rowspan="2">Orlen</td><td>1900</td></tr><tr><td>1901</td></tr></tbody></table>
<table-wrap-foot><fn><label>kanu22</label><p>kanu23</p></fn></table-wrap-foot></table-wrap><disp-quote><p>kanu24</p></disp-quote>
<boxed-text><p>kanu25</p></boxed-text><def-list><def-item><term>kanu26</term><def><p>kanu27</p></def></def-item></def-list>
<disp-formula>kanu28</disp-formula><unknown>kanu29</unknown></sec></body><back><ack><p>kanu30</p></ack><fn-group><fn><p>kanu31</p></fn>
</fn-group><ref-list><ref><label>kanu32</label><mixed-citation><name><surname>kanu33</surname><given-names>kanu34</given-names></name>
</mixed-citation></ref></ref-list></back></article>"""
TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>kanu01</title><author>kanu02</author></titleStmt>
<publicationStmt><publisher>kanu03</publisher></publicationStmt><sourceDesc><p>kanu04</p></sourceDesc></fileDesc></teiHeader><text>
<front><titlePage><titlePart>kanu05</titlePart></titlePage></front>
<body><div><head>kanu06</head><p>kanu07 <hi>kanu08</hi><note>kanu09
</note> <choice><sic>kanu10</sic><corr>kanu11</corr></choice></p>
<sp><speaker>kanu12</speaker><p>kanu13</p></sp><lg><l>kanu14</l></lg>
<list><item>kanu15</item></list><table><head>kanu16</head>
<row role="label"><cell>Name</cell><cell>Year</cell></row><row><cell rows="2">
Orlen</cell><cell>1900</cell></row><row><cell>1901</cell></row></table><figure><head>kanu17</head><figDesc>kanu18</figDesc></figure>
<quote>kanu19</quote><del>kanu20</del></div></body><back><listBibl><bibl>kanu21</bibl></listBibl></back></text></TEI>"""
RST = """kanu01
======

:Author: kanu02

kanu03 *kanu04* ``kanu05`` :ref:`kanu06 <x>` |y| [1]_

.. |y| replace:: kanu07
.. note:: kanu08
.. unknown:: kanu09

   kanu10

kanu11
------

- kanu12

  - kanu13

1. kanu14

kanu15
   kanu16

.. code-block:: python

   kanu17

.. table:: kanu18

   ====== ======
   Name   Year
   ====== ======
   Orlen  1900
   ====== ======

| kanu19

    kanu20

.. [1] kanu21
.. figure:: a.png

   kanu22
"""
LATEX = r"""\documentclass{article}\title{kanu01}\author{kanu02}
\begin{document}\maketitle
\begin{abstract}kanu03\end{abstract}
\section{kanu04}
kanu05 \emph{kanu06} \unknown{kanu07}\footnote{kanu08} $kanu09$ \cite{kanu10} \href{http://a}{kanu11}
\begin{itemize}\item kanu12 \begin{enumerate}\item kanu13\end{enumerate}\end{itemize}
\begin{description}\item[kanu14] kanu15\end{description}
\begin{equation}kanu16\end{equation}
\begin{table}\caption{kanu17}\begin{tabular}{ll}\toprule Name & Year \\ \midrule \multirow{2}{*}{Orlen} & 1900 \\ & 1901 \\
\bottomrule\end{tabular}\end{table}
\begin{verbatim}
kanu18
\end{verbatim}
\begin{theorem}[kanu19]kanu20\end{theorem}
\begin{thebibliography}{9}\bibitem{kanu21} kanu22\end{thebibliography}
\input{kanu23}
\end{document}
"""
WIKITEXT = """{{Infobox kanu01
| kanu02 = kanu03
| name = kanu04
}}
'''kanu05''' [[x|kanu06]] [[kanu07]] <ref name="a">kanu08</ref> {{lang|de|kanu09}} [http://a kanu10] <nowiki>kanu11</nowiki>
== kanu12 ==
* kanu13
** kanu14
; kanu15 : kanu16
{|
|+ kanu17
! Name !! Year
|-
| rowspan="2" | Orlen || 1900
|-
| 1901
|}
<pre>kanu18</pre>
[[File:a.png|thumb|a caption with kanu19]]
[[Category:kanu20]]
<div>kanu21</div>
{{kanu22}}
"""
ASCIIDOC = """= kanu01
kanu02

kanu03 *kanu04* `kanu05` https://a.example[kanu06] <<x,kanu07>> footnote:[kanu08]

== kanu09

NOTE: kanu10

* kanu11
** kanu12
kanu13:: kanu14

.kanu15
|===
|Name |Year

.2+|Orlen |1900
|1901
|===

----
kanu16
----

====
kanu17
====

include::kanu18.adoc[]
image::kanu19.png[kanu20]
"""
ORG = """#+TITLE: kanu01
#+AUTHOR: kanu02
* TODO kanu03
:PROPERTIES:
:CUSTOM_ID: a
:kanu04: kanu05
:END:
kanu06 *kanu07* [[http://a][kanu08]] [fn:1]
- kanu09
  - kanu10
- kanu11 :: kanu12
#+CAPTION: kanu13
| Name  | Year |
|-------+------|
| Orlen | 1900 |
#+BEGIN_SRC python
kanu14
#+END_SRC
#+BEGIN_QUOTE
kanu15
#+END_QUOTE
: kanu16
[fn:1] kanu17
"""
RTF = r"""{\rtf1\ansi{\fonttbl{\f0 Times;}}{\stylesheet{\s1 heading 1;}}{\info{\title kanu01}{\author kanu02}}
\pard\s1 kanu03\par\pard kanu04 \b kanu05\b0{\footnote kanu06} {\field{\*\fldinst HYPERLINK "a"}{\fldrslt kanu07}}\par
\pard{\listtext 1.\tab}\ls1 kanu08\par
\trowd\cellx1000\cellx2000\pard\intbl Name\cell Year\cell\row
\trowd\clvmgf\cellx1000\cellx2000\pard\intbl Orlen\cell 1900\cell\row
\trowd\clvmrg\cellx1000\cellx2000\pard\intbl\cell 1901\cell\row
\pard {\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt kanu09\par}}}caf\'e9 \u8217?\par}"""
VTT = """WEBVTT - kanu01

00:00:01.000 --> 00:00:04.000
<v kanu02>kanu03 <b>kanu04</b>

00:01:04.000 --> 00:01:06.000
<v Ben>kanu05
- kanu06
"""
SRT = "1\n00:00:01,000 --> 00:00:04,000\nANN: kanu01\n\n2\n00:01:04,000 --> 00:01:06,000\nBEN: kanu02\n- kanu03\n"
YAML = """# kanu01

# kanu02
kanu03: &a kanu04  # kanu05
kanu06:
  - !kanu07 kanu08
  - {kanu09: "kanu10 # kanu11"} # kanu12
kanu13: |  # kanu14
  kanu15
  # kanu16
kanu17: *a
kanu18:
? [kanu19, b]
: kanu20
kanu21: kanu22
kanu21: kanu23
kanu24:
  kanu25:
# kanu26
"""
TOML = '''# kanu01

# kanu02
kanu03 = "kanu04 # kanu05" # kanu06
[kanu07] # kanu08
kanu09 = [
  # kanu10
  "kanu11", # kanu12
]
kanu13 = """
kanu14 # kanu15"""
[[kanu16]]
# kanu17
kanu18 = { kanu19 = "kanu20" }
"kanu21.a" = 2024-03-05
# kanu22
'''
BIBTEX = """% kanu of a library
@string{kan = "kanu01"}
@Book{kanu02, title = {The {kanu03}}, author = "kanu04, Ann and {kanu05 and Sons}", year = 1900,
  publisher = kan # { kanu06}, abstract = {kanu07}}
@misc(x)
@article{kanu08, title = {kanu09 caf{\\'e}}, journal = {kanu10}}
"""
RIS = """TY  - JOUR
TI  - kanu01
AU  - kanu02, Ann
AU  - kanu03, Ben
AB  - kanu04
kanu05
KW  - kanu06
XX  - kanu07
ER  -

TY  - BOOK
T1  - kanu08
ER  -
"""
NBIB = """PMID- 12345
TI  - kanu01
      kanu02
FAU - kanu03, Ann
JT  - kanu04
AB  - kanu05
OWN - NLM

PMID- 12346
TI  - kanu06
"""
VCF = """BEGIN:VCARD
VERSION:4.0
FN:kanu01
ORG:kanu02;kanu03
item1.TEL;TYPE=cell:+1 555 kanu04
ADR:;;kanu05;Sarn;;;
NOTE:kanu06\\, kan
 u07
PHOTO;ENCODING=b:AAAA=
END:VCARD
"""
GEOJSON = json.dumps(
    {
        "type": "FeatureCollection",
        "name": "kanu01",
        "source": "kanu02",
        "features": [
            {
                "type": "Feature",
                "properties": {"height": 3, "name": "kanu03", "use": {"kind": "kanu04"}},
                "geometry": {"type": "Point", "coordinates": [8.5, 47.1]},
            },
            {
                "type": "Feature",
                "id": "kanu05",
                "geometry": {"type": "Polygon", "coordinates": [[[1, 2], [3, 4], [1, 2]]]},
            },
        ],
    }
)
DOCBOOK = """<?xml version="1.0"?><article xmlns="http://docbook.org/ns/docbook" version="5.1"><info><title>kanu01</title><author>
<personname><firstname>kanu02</firstname><surname>kanu03</surname></personname></author><abstract><para>kanu04</para></abstract></info>
<section xml:id="s"><title>kanu05</title>
<para>The kanu06<footnote><para>kanu07</para></footnote> runs, see <xref linkend="t"/>.</para>
<warning><para>kanu08</para></warning><variablelist><varlistentry><term>kanu09</term><listitem><para>kanu10</para></listitem>
</varlistentry></variablelist><procedure><step><para>kanu11</para></step><step><para>kanu12</para></step></procedure>
<table xml:id="t"><title>kanu13</title><tgroup cols="2"><colspec colname="a"/><colspec colname="b"/><thead><row><entry>Name</entry>
<entry>Year</entry></row></thead><tbody><row><entry morerows="1">Orlen</entry><entry>1900</entry></row><row>
<entry>1901</entry></row></tbody></tgroup></table><programlisting>kanu14</programlisting><qandaset><qandaentry><question><para>kanu15?</para></question>
<answer><para>kanu16</para></answer></qandaentry></qandaset><para>Go to
<menuchoice><guimenu>kanu17</guimenu><guimenuitem>kanu18
</guimenuitem></menuchoice></para><itemizedlist><listitem><para>kanu19</para></listitem></itemizedlist></section></article>"""
DITA = """<?xml version="1.0"?><!DOCTYPE task PUBLIC "-//OASIS//DTD DITA Task//EN" "task.dtd"><task id="t"><title>kanu01</title>
<shortdesc>kanu02</shortdesc><prolog><author>kanu03</author></prolog><taskbody><prereq><p>kanu04</p></prereq><steps><step><cmd>kanu05
</cmd><info>kanu06</info></step></steps><result><note type="caution">kanu07</note><simpletable><sthead><stentry>Name</stentry>
<stentry>Year</stentry></sthead><strow><stentry>Orlen</stentry><stentry>1900</stentry></strow><strow><stentry>Orlen</stentry>
<stentry>1901</stentry></strow></simpletable></result></taskbody></task>"""
FB2 = """<?xml version="1.0"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">
<description><title-info><author><first-name>kanu01</first-name><last-name>kanu02</last-name></author><book-title>kanu03</book-title>
<annotation><p>kanu04</p></annotation><lang>en</lang></title-info></description><body><section><title><p>kanu05</p></title>
<p>kanu06<a l:href="#n1" type="note">1</a> ends.</p><poem><stanza><v>kanu07</v><v>kanu08</v></stanza></poem><table><tr><th>Name</th>
<th>Year</th></tr><tr><td rowspan="2">Orlen</td><td>1900</td></tr><tr><td>1901</td></tr></table></section></body><body name="notes">
<section id="n1"><title><p>1</p></title><p>kanu09</p></section></body><binary id="c">AAAA</binary></FictionBook>"""
MHTML = """From: <Saved by Blink>
Snapshot-Content-Location: http://kanu02.org/
Subject: The page
Date: Tue, 5 Mar 2024 09:30:00 -0000
MIME-Version: 1.0
Content-Type: multipart/related; boundary="b"

--b
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<html><head><title>kanu04</title></head><body><h1>kanu05</h1><p>The kanu06 is =
caf=C3=A9.</p>
<table><tr><th>Name</th><th>Year</th></tr><tr><td rowspan=3D2>Orlen</td><td>1900</td></tr><tr><td>1901</td></tr></table>
</body></html>

--b
Content-Type: image/png

x
--b--
"""
XML = """<?xml version="1.0"?><!-- kanu01 --><feed xmlns="a" xmlns:x="b" x:lang="kanu02"><channel><about>kanu03</about>
<entry id="kanu04"><name>kanu05</name><note><![CDATA[<p>kanu06</p><br>kanu07]]></note><price unit="kanu08">kanu09</price></entry>
<entry id="kanu10"><note>kanu11 <b>kanu12</b> kanu13</note><x:mark>kanu14</x:mark><x:mark>kanu15</x:mark></entry></channel>
</feed>"""
INI = """; kanu01

# kanu02
kanu03 = kanu04 ; kanu05
[kanu06]
kanu07:
  kanu08
  # kanu09
  kanu10
kanu11
kanu03 = kanu12
[kanu13]
kanu14
[kanu06]
kanu07 = kanu15
[kanu16]
; kanu17
"""
PROPERTIES = """# kanu01

! kanu02
kanu03.a=kanu04 # kanu05
kanu06 : kanu07 \\
   kanu08
kanu09\\ kanu10 kanu11
kanu12
kanu03.a=kanu13
# kanu14
"""
LOG = """kanu01 starts
2024-03-05 09:30:00,123 ERROR kanu02: kanu03 | kanu04 | kanu05
Traceback kanu06
\tkanu07
# kanu08
[05/Mar/2024] kanu09
2024-03-05 09:30:01,123 INFO kanu10
{"time": "2024-03-05T09:30:02Z", "level": "warn", "msg": "kanu11", "kanu12": {"kanu13": "kanu14"}}
"""
GPX = """<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1"><metadata><name>kanu01</name><desc>kanu02
</desc><author><name>kanu03</name></author><link href="http://kanu04"><text>kanu05</text></link></metadata>
<wpt lat="47.1" lon="8.5"><ele>412</ele><time>2024-03-05T09:30:00Z</time><name>kanu06</name><desc>kanu07</desc><sym>kanu08</sym>
<extensions><x:note xmlns:x="x">kanu09</x:note></extensions></wpt><rte>
<name>kanu10</name><rtept lat="47" lon="8"><name>kanu11</name>
</rtept></rte><trk><name>kanu12</name><desc>kanu13</desc><trkseg><trkpt lat="1" lon="2"><time>2024-03-05T09:30:00Z</time></trkpt>
</trkseg></trk></gpx>"""
ICS = """BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:kanu01
BEGIN:VEVENT
DTSTART:20250920T203000
SUMMARY:kanu02
LOCATION:kanu03
DESCRIPTION:kanu04\\nkanu05
ORGANIZER;CN=kanu06:mailto:a@b.example
CATEGORIES:kanu07,kanu08
END:VEVENT
END:VCALENDAR
"""
KML = """<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>kanu01</name><description>kanu02</description>
<Style id="s"><LineStyle><color>ff</color></LineStyle></Style>
<Placemark><name>kanu03</name>
<description><![CDATA[<p>kanu04</p><b>kanu05
</b>]]></description><address>kanu06</address><ExtendedData><Data name="a"><displayName>kanu08</displayName><value>kanu09</value>
</Data><SchemaData><SimpleData name="kanu10">kanu11</SimpleData></SchemaData></ExtendedData><TimeStamp><when>2024-03-05</when>
</TimeStamp><Point><coordinates>8.5,47.1,0</coordinates></Point></Placemark><Folder><name>kanu12</name><description>kanu13
</description><Placemark><name>kanu14</name><LineString><coordinates>1,2 3,4</coordinates></LineString></Placemark></Folder>
</Document></kml>"""
_BORDER = "From a Tue Mar  5 09:30:00 2024\n"
_OFFICE = (
    '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" '
    'office:mimetype="application/vnd.oasis.opendocument.{kind}">{meta}<office:body><office:{kind}>{body}</office:{kind}>'
    "</office:body></office:document>"
)
_META = "<office:meta><dc:title>kanu01</dc:title><meta:initial-creator>kanu02</meta:initial-creator></office:meta>"
_TABLE = (
    '<table:table table:name="kanu03"><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell><table:table-cell>'
    '<text:p>Year</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell table:number-rows-spanned="2">'
    "<text:p>Orlen</text:p></table:table-cell><table:table-cell><text:p>1900</text:p></table:table-cell></table:table-row>"
    "<table:table-row><table:covered-table-cell/><table:table-cell><text:p>1901</text:p></table:table-cell></table:table-row>"
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="1024"/>'
    "</table:table-row></table:table>"
)
_TEXT = (
    '<text:h text:outline-level="1">kanu04</text:h><text:p>kanu05 <text:span>kanu06</text:span><text:note><text:note-citation>1'
    "</text:note-citation><text:note-body><text:p>kanu07</text:p></text:note-body></text:note><draw:frame><draw:text-box><text:p>"
    "kanu08</text:p></draw:text-box></draw:frame></text:p><text:list><text:list-item><text:p>kanu09</text:p><text:list><text:list-item>"
    "<text:p>kanu10</text:p></text:list-item></text:list></text:list-item></text:list><text:section><text:p>kanu11</text:p>"
    "</text:section>"
)
_SLIDE = (
    '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>kanu04</text:p></draw:text-box></draw:frame>'
    "<draw:g><draw:custom-shape><text:p>kanu05</text:p></draw:custom-shape></draw:g><draw:frame>{table}</draw:frame>"
    '<presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>kanu06</text:p></draw:text-box></draw:frame>'
    "</presentation:notes></draw:page><draw:page><draw:frame><draw:text-box><text:p>kanu07</text:p></draw:text-box></draw:frame></draw:page>"
)


def flat(kind: str, body: str, *, meta: str = "") -> str:
    """A flat OpenDocument file."""
    return _OFFICE.format(kind=kind, body=body, meta=meta)


def packed(source: str) -> bytes:
    """A flat OpenDocument file as a package."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("mimetype", source.partition('office:mimetype="')[2].partition('"')[0])
        package.writestr("content.xml", source)
        package.writestr("meta.xml", source)
    return out.getvalue()


@cache
def sources() -> dict[str, str]:
    """The text of a file of each format, before it is packed."""
    table = _TABLE.replace("kanu03", "Table1")
    cells = {"odt": _TEXT + table, "ods": _TABLE, "odp": _SLIDE.format(table=table)}
    kinds = {"odt": "text", "ods": "spreadsheet", "odp": "presentation"}
    mail = EmailMessage()
    for name, value in (
        ("From", "kanu01 <a@b.example>"),
        ("To", "kanu02 <c@b.example>"),
        ("Subject", "kanu03"),
        ("Message-ID", "<kanu04@b>"),
    ):
        mail[name] = value
    mail["Date"] = "Tue, 05 Mar 2024 09:30:00 +0100"
    mail.set_content("kanu05\n\nAnn wrote:\n> kanu06\n> kanu07\n\n-- \nkanu08\n")
    mail.add_attachment(b"# kanu09\n\nkanu10\n", maintype="text", subtype="markdown", filename="kanu11.md")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="kanu12.png")
    cell = {"cell_type": "code", "source": ["kanu03"], "metadata": {}, "execution_count": 1}
    outputs = [
        {"output_type": "stream", "text": ["kanu04"]},
        {"output_type": "execute_result", "data": {"text/plain": "kanu05"}},
    ]
    cells_of_book = [{"cell_type": "markdown", "source": "# kanu01\n\nkanu02"}, {**cell, "outputs": outputs}]
    return {
        "asciidoc": ASCIIDOC,
        "bibtex": BIBTEX,
        "dita": DITA,
        "docbook": DOCBOOK,
        "fb2": FB2,
        "geojson": GEOJSON,
        "nbib": NBIB,
        "ris": RIS,
        "vcf": VCF,
        "eml": mail.as_string(),
        "gpx": GPX,
        "ics": ICS,
        "ini": INI,
        "ipynb": json.dumps({"nbformat": 4, "metadata": {"title": "kanu06"}, "cells": cells_of_book}),
        "jats": JATS,
        "kml": KML,
        "latex": LATEX,
        "log": LOG,
        "mbox": f"{_BORDER}{mail.as_string()}\n{_BORDER}From: kanu20\nTo: b\n\nkanu21\n",
        **{name: flat(kind, cells[name], meta=_META) for name, kind in kinds.items()},
        "mhtml": MHTML,
        "org": ORG,
        "properties": PROPERTIES,
        "rst": RST,
        "rtf": RTF,
        "srt": SRT,
        "tei": TEI,
        "toml": TOML,
        "vtt": VTT,
        "wikitext": WIKITEXT,
        "xml": XML,
        "yaml": YAML,
    }


@cache
def files() -> dict[str, bytes]:
    """A sound file of each format."""
    table = pa.table(
        {"Name": ["Orlen", "Orlen"], "Year": [1900, 1901], "tags": [["a", "b"], None], "raw": [b"a", b"b"]}
    )
    columns, batches = io.BytesIO(), io.BytesIO()
    parquet.write_table(table, columns)
    with ipc.new_file(batches, table.schema) as writer:
        writer.write_table(table)
    kmz = zipped({"doc.kml": KML, "images/a.png": "x"})
    texts = {name: packed(text) if name.startswith("od") else text.encode() for name, text in sources().items()}
    return {**texts, "parquet": columns.getvalue(), "arrow": batches.getvalue(), "msg": outlook(), "kmz": kmz}


def zipped(parts: dict[str, str]) -> bytes:
    """A zip file of some texts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, text in parts.items():
            package.writestr(name, text)
    return out.getvalue()


def ole(streams: dict[str, bytes]) -> bytes:
    """An OLE file with these streams; a path has folders."""
    names = sorted({"/".join(path.split("/")[:depth]) for path in streams for depth in range(1, path.count("/") + 2)})
    inner = {
        folder: [at for at, name in enumerate(names, 1) if name.rpartition("/")[0] == folder] for folder in ("", *names)
    }
    beside = {at: after for own in inner.values() for at, after in pairwise(own)}
    free, end = 0xFFFFFFFF, 0xFFFFFFFE
    small, links, large = b"", list[int](), list[tuple[str, bytes]]()
    places: dict[str, int] = {}
    for name, data in streams.items():
        if len(data) >= 4096:
            large.append((name, data))
            continue
        places[name], count = len(links), max(1, -(-len(data) // 64))
        links += [*range(len(links) + 1, len(links) + count), end]
        small += data.ljust(64 * count, b"\0")
    parts = [struct.pack(f"<{len(links)}I", *links), small, *(data for _, data in large)]
    table, firsts = [0xFFFFFFFD], []
    size = -(-128 * (len(names) + 1) // 512)
    for count in (size, *(-(-len(part) // 512) for part in parts)):
        firsts.append(len(table) if count else end)
        table += [*range(len(table) + 1, len(table) + count), end] if count else []
    places |= {name: first for (name, _), first in zip(large, firsts[3:], strict=True)}

    def entry(name: str, kind: int, links: tuple[int, int], start: int, length: int) -> bytes:
        text = name.encode("utf-16-le")
        shape = struct.pack("<HBBIII", len(text) + 2, kind, 1, free, *links)
        return text.ljust(64, b"\0") + shape + bytes(36) + struct.pack("<IQ", start, length)

    tree = [entry("Root Entry", 5, (free, (inner[""] or [free])[0]), firsts[2], len(small))]
    for at, name in enumerate(names, 1):
        around = beside.get(at, free), (inner[name] or [free])[0]
        size = len(streams.get(name, b""))
        tree.append(entry(name.rpartition("/")[2], 2 if name in streams else 1, around, places.get(name, 0), size))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(10)
    head += struct.pack("<8I109I", 1, firsts[0], 0, 4096, firsts[1], 1, end, 0, 0, *[free] * 108)
    sectors = [struct.pack("<128I", *table, *[free] * (128 - len(table))), b"".join(tree), *parts]
    return head + b"".join(part.ljust(-(-len(part) // 512) * 512, b"\0") for part in sectors)


def outlook(**more: bytes) -> bytes:
    """A message of Outlook with a recipient, an attachment and a message in it."""
    first, attached = "__recip_version1.0_#00000000/", "__attach_version1.0_#00000000/"
    inner = "__attach_version1.0_#00000001/"
    sent = struct.pack("<IIQ", 0x00390040, 6, 133541082000000000)
    texts = {"0037": "kanu01", "0C1A": "Ann kanu02", "5D01": "a@b.example", f"{first}3001": "kanu05"}
    texts |= {"1000": "kanu03 é\r\n\r\n" + "kanu04 " * 1_000, f"{first}39FE": "c@b.example"}
    texts |= {f"{attached}3707": "kanu06.txt", f"{attached}370E": "text/plain"}
    texts |= {f"{inner}3701000D/0037": "kanu07", f"{inner}3701000D/1000": "kanu08"}

    def path(name: str) -> str:
        folder, _, last = name.replace("3701000D", "__substg1.0_3701000D").rpartition("/")
        return f"{folder}/__substg1.0_{last}".lstrip("/")

    streams = {f"{path(name)}001F": text.encode("utf-16-le") for name, text in texts.items()}
    streams |= {
        "__properties_version1.0": bytes(32) + sent,
        f"{first}__properties_version1.0": bytes(8) + struct.pack("<III4x", 0x0C150003, 6, 1),
        f"{attached}__substg1.0_37010102": b"kanu09",
        f"{inner}__substg1.0_3701000D/__properties_version1.0": bytes(24),
    }
    return ole(streams | more)

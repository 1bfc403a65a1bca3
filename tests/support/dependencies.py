"""What hlgraph needs when it runs, with all extras: its licences, its known vulnerabilities, and a bill of materials (SBOM).

``python tests/support/dependencies.py audit|licences|sbom FILE``; ``make audit`` runs all three. The packages are those
installed beside this interpreter that ``hlgraph[all]`` reaches; tools for development are not among them.
"""

# ruff: noqa: T201 - a script

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

WHOLE = "hlgraph[all]"
SECONDS = 15  # for the whole audit: CI must not wait for an advisory database
IGNORED: Mapping[str, str] = {}
"""Advisories that do not concern hlgraph, by id, each with the reason."""

_COPYLEFT = re.compile(r"\bA?GPL|(?<!Lesser )General Public License", re.IGNORECASE)


class Package(NamedTuple):
    """An installed package, and the names of those that it needs."""

    name: str
    held: Distribution
    needs: tuple[str, ...]

    @property
    def licence(self) -> str:
        """The licence as the package states it: an SPDX expression, a name, or its classifiers; empty if it states none."""
        told = self.held.metadata
        stated = told.get("License-Expression") or (told.get("License") or "").strip().partition("\n")[0]
        classified = [
            item.rpartition(" :: ")[2] for item in told.get_all("Classifier") or () if item.startswith("License")
        ]
        return stated if stated and len(stated) < 80 else " OR ".join(classified)

    @property
    def is_copyleft(self) -> bool:
        """Whether every choice that the licence leaves is a GPL; the LGPL is not one."""
        return bool(self.licence) and all(map(_COPYLEFT.search, re.split(r"\s+OR\s+", self.licence)))


def packages(whole: str = WHOLE) -> dict[str, Package]:
    """The installed packages that a requirement reaches, by name; extras that are not installed are left out."""
    found: dict[str, Package] = {}
    waiting, seen = [Requirement(whole)], set[tuple[str, str]]()
    while waiting:
        wanted = waiting.pop()
        for extra in {"", *wanted.extras}:
            key = (_plain(wanted.name), extra)
            if key in seen:
                continue
            seen.add(key)
            try:
                held = distribution(wanted.name)
            except PackageNotFoundError:
                continue
            needs = list(_needs(held, extra))
            before = found[key[0]].needs if key[0] in found else ()
            names = tuple(sorted({*before, *(_plain(item.name) for item in needs)} - {key[0]}))
            found[key[0]] = Package(key[0], held, names)
            waiting += needs
    return dict(sorted(found.items()))


def _needs(held: Distribution, extra: str) -> Iterator[Requirement]:
    for text in held.requires or ():
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            yield wanted


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def bill(found: Mapping[str, Package]) -> dict[str, object]:
    """The packages as a CycloneDX document, version 1.6; the same packages give the same document."""

    def reference(item: Package) -> str:
        return f"pkg:pypi/{item.name}@{item.held.version}"

    def component(item: Package) -> dict[str, object]:
        licence = {"license": {"name": item.licence}} if item.licence else None
        return {
            "type": "library",
            "bom-ref": reference(item),
            "name": item.name,
            "version": item.held.version,
            "purl": reference(item),
            **({"licenses": [licence]} if licence else {}),
        }

    own = found["hlgraph"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(own)},
        "components": [component(item) for item in found.values() if item is not own],
        "dependencies": [
            {"ref": reference(item), "dependsOn": [reference(found[name]) for name in item.needs if name in found]}
            for item in found.values()
        ],
    }


def breaches(found: Iterable[Package]) -> list[str]:
    """The packages whose licence is a GPL or is not stated."""
    return [
        f"{item.name} {item.held.version}: {item.licence or 'states no licence'}"
        for item in found
        if item.is_copyleft or not item.licence
    ]


def audit(found: Iterable[Package]) -> tuple[list[str], str]:
    """The known vulnerabilities of packages, and in words what was not looked up; empty if all were."""
    pinned = [f"{item.name}=={item.held.version}" for item in found if item.name != "hlgraph"]
    with tempfile.TemporaryDirectory() as folder:
        listed, answer = Path(folder, "pinned.txt"), Path(folder, "audit.json")
        listed.write_text("\n".join(pinned), encoding="utf-8")
        options = ("--no-deps", "--disable-pip", "--progress-spinner=off", "--timeout=5", "--format=json")
        command = [sys.executable, "-m", "pip_audit", *options, f"--requirement={listed}", f"--output={answer}"]
        try:
            run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return [], f"the advisory database did not answer within {SECONDS} s: nothing is proven"
        if not answer.exists() or not answer.stat().st_size:
            last = (run.stderr.strip().splitlines() or ["no message"])[-1]
            return [], f"the advisory database could not be read ({last[:200]}): nothing is proven"
        return told(json.loads(answer.read_text(encoding="utf-8")))


def told(answer: Mapping[str, list[dict[str, object]]]) -> tuple[list[str], str]:
    """What an answer of pip-audit says; see :func:`audit`."""
    items = answer["dependencies"]
    skipped = [item for item in items if "skip_reason" in item]
    wrong = [
        f"{item['name']} {item['version']}: {advisory['id']}, mended in {', '.join(advisory['fix_versions']) or 'no version'}"
        for item in items
        for advisory in item.get("vulns", ())  # type: ignore[attr-defined]
        if advisory["id"] not in IGNORED
    ]
    if not skipped:
        return wrong, ""
    return (
        wrong,
        f"{len(skipped)} of {len(items)} packages are unknown to the advisory database: of these nothing is proven",
    )


def main(arguments: list[str]) -> int:
    """Run one of the three; the exit status is 1 for a vulnerability or a licence that must not be there."""
    found = packages()
    if arguments[:1] == ["sbom"] and len(arguments) == 2:
        place = Path(arguments[1])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(bill(found), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"sbom: {len(found)} packages in {place}")
        return 0
    if arguments == ["licences"]:
        wrong = breaches(found.values())
        print(
            *(f"licence: {line}" for line in wrong),
            f"licences: {len(found)} packages, {len(wrong)} not allowed",
            sep="\n",
        )
        return bool(wrong)
    if arguments == ["audit"]:
        wrong, unproven = audit(found.values())
        print(*(f"vulnerable: {line}" for line in wrong), sep="\n", end="\n" * bool(wrong))
        print(
            f"audit: {len(found)} packages, {len(wrong)} vulnerabilities known"
            + (f"; NOTE: {unproven}" if unproven else "")
        )
        return bool(wrong)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

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
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
        metadata = self.held.metadata
        stated = metadata.get("License-Expression") or (metadata.get("License") or "").strip().partition("\n")[0]
        classifiers = [item for item in metadata.get_all("Classifier") or () if item.startswith("License")]
        return (
            stated if stated and len(stated) < 80 else " OR ".join(item.rpartition(" :: ")[2] for item in classifiers)
        )

    @property
    def is_copyleft(self) -> bool:
        """Whether every choice that the licence leaves is a GPL; the LGPL is not one."""
        return bool(self.licence) and all(map(_COPYLEFT.search, re.split(r"\s+OR\s+", self.licence)))

    @property
    def purl(self) -> str:
        """The package URL."""
        return f"pkg:pypi/{self.name}@{self.held.version}"

    def __str__(self) -> str:
        return f"{self.name} {self.held.version}"


def packages(whole: str = WHOLE) -> dict[str, Package]:
    """The installed packages that a requirement reaches, by name; extras that are not installed are left out."""
    result: dict[str, Package] = {}
    waiting, seen = [Requirement(whole)], set[tuple[str, str]]()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in {"", *wanted.extras} - {extra for other, extra in seen if other == name}:
            seen.add((name, extra))
            try:
                held = distribution(name)
            except PackageNotFoundError:
                continue
            needs = [item for item in map(Requirement, held.requires or ()) if _applies(item, extra)]
            before = result[name].needs if name in result else ()
            names = {*before, *(canonicalize_name(item.name) for item in needs)} - {name}
            result[name] = Package(name, held, tuple(sorted(names)))
            waiting += needs
    return dict(sorted(result.items()))


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def bill(found: Mapping[str, Package]) -> dict[str, object]:
    """The packages as a CycloneDX document, version 1.6; the same packages give the same document."""

    def component(item: Package) -> dict[str, object]:
        licences = {"licenses": [{"license": {"name": item.licence}}]} if item.licence else {}
        version = item.held.version
        return {
            "type": "library",
            "bom-ref": item.purl,
            "name": item.name,
            "version": version,
            "purl": item.purl,
            **licences,
        }

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(found["hlgraph"])},
        "components": [component(item) for name, item in found.items() if name != "hlgraph"],
        "dependencies": [
            {"ref": item.purl, "dependsOn": [found[name].purl for name in item.needs if name in found]}
            for item in found.values()
        ],
    }


def breaches(found: Iterable[Package]) -> list[str]:
    """The packages whose licence is a GPL or is not stated."""
    wrong = (item for item in found if item.is_copyleft or not item.licence)
    return [f"{item}: {item.licence or 'states no licence'}" for item in wrong]


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
    skipped = sum("skip_reason" in item for item in items)
    wrong = [
        f"{item['name']} {item['version']}: {advisory['id']}, mended in {', '.join(advisory['fix_versions']) or 'no version'}"
        for item in items
        for advisory in item.get("vulns", ())  # type: ignore[attr-defined]
        if advisory["id"] not in IGNORED
    ]
    unproven = f"{skipped} of {len(items)} packages are unknown to the advisory database: of these nothing is proven"
    return wrong, unproven if skipped else ""


def main(arguments: list[str]) -> int:
    """Run one of the three; the exit status is 1 for a vulnerability or a licence that must not be there."""
    found = packages()
    match arguments:
        case ["sbom", path]:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(json.dumps(bill(found), indent=1, sort_keys=True) + "\n", encoding="utf-8")
            print(f"sbom: {len(found)} packages in {Path(path)}")
            return 0
        case ["licences"]:
            wrong = [f"licence: {line}" for line in breaches(found.values())]
            print(*wrong, f"licences: {len(found)} packages, {len(wrong)} not allowed", sep="\n")
        case ["audit"]:
            wrong, unproven = audit(found.values())
            note = f"; NOTE: {unproven}" if unproven else ""
            print(*(f"vulnerable: {line}" for line in wrong), sep="\n", end="\n" * bool(wrong))
            print(f"audit: {len(found)} packages, {len(wrong)} vulnerabilities known{note}")
        case _:
            print(__doc__)
            return 2
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The parameters of a query: the header line that declares kind, bounds, default and meaning, and the check of values.

A line of the header, after those of parameters and columns::

    // $hops integer 1..6 = 4: maximum number of steps

Bounds and default are optional; a parameter without a default is required. A value of the kind ``entity`` or ``source`` is
a name or an id, and the query receives the id.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from hlgraph.errors import InputError

ParameterKind: TypeAlias = Literal["text", "integer", "number", "boolean", "entity", "source"]
"""The kind of a value: a text, a whole number, any number, true or false, or an entity or source by name or id."""
ParameterValue: TypeAlias = str | int | float | bool

_NUMBER = r"-?\d+(?:\.\d+)?"
_LINE = re.compile(
    rf"\$(?P<name>\w+) (?P<kind>{'|'.join(get_args(ParameterKind))})"
    rf"(?: (?P<low>{_NUMBER})?\.\.(?P<high>{_NUMBER})?)?(?: = (?P<default>\S.*?))?: (?P<meaning>\S.*)"
)
_FORM = "'// $name kind low..high = default: meaning', where the kind is " + ", ".join(get_args(ParameterKind))
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_AN = {"integer": "a whole number", "number": "a number", "boolean": "true or false"}
_MOST = 1 << 63


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query.

    Attributes
    ----------
    name : name without the ``$``
    kind : kind of its values
    meaning : what it does, for the help
    default : None: the parameter is required
    low, high : inclusive bounds; None: unbounded
    """

    name: str
    kind: ParameterKind
    meaning: str
    default: ParameterValue | None = None
    low: float | None = None
    high: float | None = None

    @property
    def is_named(self) -> bool:
        """Whether the value is the name or the id of a record."""
        return self.kind in ("entity", "source")

    @property
    def shape(self) -> str:
        """Kind, bounds and default in words.

        Examples
        --------
        >>> parse_line("$hops integer 1..6 = 4: maximum number of steps").shape
        'integer 1..6, default 4'
        """
        bounds = "" if self.low is None and self.high is None else f" {_short(self.low)}..{_short(self.high)}"
        default = "needed" if self.default is None else f"default {_short(self.default)}"
        return f"{self.kind}{' (name or id)' if self.is_named else ''}{bounds}, {default}"

    def read(self, text: str) -> ParameterValue:
        """Parses a value from the command line.

        Raises InputError for a text that is not a value of the kind, and for a value out of bounds.

        Examples
        --------
        >>> parse_line("$hops integer 1..6 = 4: maximum number of steps").read("3")
        3
        """
        given: ParameterValue = text
        try:
            if self.kind == "integer":
                given = int(text)
            elif self.kind == "number":
                given = float(text)
            elif self.kind == "boolean":
                given = _TRUTHS[text.lower()]
        except (ValueError, KeyError) as error:
            raise self._refused(text) from error
        return self.check(given)

    def check(self, value: object) -> ParameterValue:
        """Returns the value if it has the right kind and is within the bounds; a whole number is also a number.

        Raises InputError otherwise.
        """
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = {
            "integer": is_number and isinstance(value, int),
            "number": is_number,
            "boolean": isinstance(value, bool),
        }.get(self.kind, isinstance(value, str) and bool(value.strip() or not self.is_named))
        if not fits:
            raise self._refused(value)
        found = cast(ParameterValue, value)
        if isinstance(found, str):
            return found
        low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
        if not low <= found <= high or not -_MOST <= found < _MOST:
            raise InputError(
                f"{self.name} is {value}; choose {_AN[self.kind]} in {_short(self.low)}..{_short(self.high)}"
            )
        return float(found) if self.kind == "number" else found

    def _refused(self, value: object) -> InputError:
        wanted = _AN.get(self.kind, "a name or an id" if self.is_named else "a text")
        return InputError(f"{self.name} is {value!r}; give {wanted}: {self.meaning}")


def parse_line(line: str) -> Parameter:
    """Parses a header line, without its ``//``, into a parameter.

    Raises InputError for a line of another form, and for a default of the wrong kind or out of bounds.

    Examples
    --------
    >>> parse_line("$share number 0..1 = 0.1: the least share of sources")
    Parameter(name='share', kind='number', meaning='the least share of sources', default=0.1, low=0.0, high=1.0)
    """
    found = _LINE.fullmatch(line)
    is_numeric = found is not None and found["kind"] in ("integer", "number")
    if found is None or ((found["low"] or found["high"]) and not is_numeric):
        raise InputError(f"has the line '// {line}'; write {_FORM}")
    low, high = (None if found[bound] is None else float(found[bound]) for bound in ("low", "high"))
    made = Parameter(found["name"], cast(ParameterKind, found["kind"]), found["meaning"], None, low, high)
    if found["default"] is None:
        return made
    text = found["default"]
    default = made.read(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text)
    return Parameter(made.name, made.kind, made.meaning, default, low, high)


def _short(value: ParameterValue | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) and value else repr(value)

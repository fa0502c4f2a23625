"""The reader of a JSON object: type, range and default of its members checked, findings located.

A missing or wrong member gives the default, so that reading continues and finds all errors in one
pass. If the caller can replace a wrong member, by a default or as the words for ``instead`` tell,
the finding is a warning that says so; else it is an error. The file is long since all methods share
these rules.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from gltf_bullet.diagnostics import Diagnostics, IssueKind, JsonPointer, error, note, warning
from gltf_bullet.number_ranges import NumberRange, carried, range_of

# --- Findings about wrong members: an error, or a warning if the caller can replace the member ----
#
# A caller that can replace a wrong member tells how in ``instead``, the end of the message:
# ``"0.6 is used"``, ``"it is left out"``. A file that is broken but readable is not refused.

WRONG_TYPE = error("WRONG_TYPE", "{key} is {got}; must be {allowed}")
TYPE_MENDED = warning("TYPE_MENDED", "{key} is {got}; must be {allowed}; {instead}")
VALUE_OUT_OF_RANGE = error("VALUE_OUT_OF_RANGE", "{key} is {got}; must be {allowed}")
RANGE_MENDED = warning("RANGE_MENDED", "{key} is {got}; must be {allowed}; {instead}")
VALUE_NOT_ALLOWED = error("VALUE_NOT_ALLOWED", "{key} is {got}; must be one of {allowed}")
WORD_MENDED = warning("WORD_MENDED", "{key} is {got}; must be one of {allowed}; {instead}")
INDEX_OUT_OF_RANGE = error("INDEX_OUT_OF_RANGE", "{key} is {got}; must be an index below {count}")
INDEX_MENDED = warning("INDEX_MENDED", "{key} is {got}; must be an index below {count}; {instead}")
REFERENCE_MISSING = error(
    "REFERENCE_MISSING",
    "{key} is {got}, which does not exist: there are {count}, counted from 0; {instead}",
    loads=True,
)
INDEX_MEANS_NONE = warning(
    "INDEX_MEANS_NONE", "{key} is -1; must be left out to mean none; {instead}"
)
REQUIRED_MISSING = error("REQUIRED_MISSING", "{key} is missing; must be {allowed}")
ABSENCE_MENDED = warning("ABSENCE_MENDED", "{key} is missing; must be {allowed}; {instead}")

# A number that is not finite, or a place or size that exceeds the engine's range, is always an
# error: no other number can be meant by it.
NUMBER_LIMITED = warning(
    "NUMBER_LIMITED", "{key} is {got}; the engine carries {allowed}; {used:g} is used"
)
NUMBER_AS_UNLIMITED = note(
    "NUMBER_AS_UNLIMITED", "{key} is {got}; more than {allowed:g} counts as unlimited"
)
NOT_UNIT_LENGTH = warning("NOT_UNIT_LENGTH", "{key} has length {got}; must be 1; it is normalized")

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_ONLY_ITEM = "it is taken as the only item"

JsonObject: TypeAlias = Mapping[str, object]

T = TypeVar("T")
D = TypeVar("D", float, None)


def shown(value: object) -> str:
    """A value of the file, short enough for a message."""
    # Content may be megabytes long, nested past the recursion limit, or an integer too long for
    # str(); reprlib looks at its beginning only.
    text = _SHORT.repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _used(value: float) -> str:
    """Words of a message for a number that replaces a wrong one."""
    return f"{value:g} is used" if math.isfinite(value) else "it is taken as unlimited"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Reader:
    """A JSON object of a file, with its place and the sink for what is wrong in it."""

    __slots__ = ("at", "diagnostics", "json")

    def __init__(self, json: JsonObject, at: JsonPointer, diagnostics: Diagnostics) -> None:
        self.json = json
        self.at = at
        self.diagnostics = diagnostics

    def __contains__(self, key: object) -> bool:
        return key in self.json

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def get(self, key: str, default: object = None) -> Any:
        """The member as it is in the file, unchecked."""
        return self.json.get(key, default)

    # --- Findings ---------------------------------------------------------------------------------

    def report(self, kind: IssueKind, /, *path: str | int, **values: object) -> None:
        """Report a finding at the place that ``path`` leads to from here."""
        at = self.at
        for token in path:
            at = at / token
        self.diagnostics.report(kind, at, **values)

    def wrong_type(
        self, key: str, value: object, allowed: str, instead: str | None, *path: int
    ) -> None:
        """Report that a member, or its item that ``path`` leads to, is of another JSON type."""
        kind = WRONG_TYPE if instead is None else TYPE_MENDED
        self._wrong(kind, key, path, instead, got=shown(value), allowed=allowed)

    def out_of_range(
        self, key: str, value: object, allowed: str, instead: str | None, *path: int
    ) -> None:
        """Report that a number is outside of its range."""
        kind = VALUE_OUT_OF_RANGE if instead is None else RANGE_MENDED
        self._wrong(kind, key, path, instead, got=shown(value), allowed=allowed)

    def _wrong(
        self,
        kind: IssueKind,
        key: str,
        path: tuple[int, ...],
        instead: str | None,
        **values: object,
    ) -> None:
        if instead is not None:
            values["instead"] = instead
        self.report(kind, key, *path, key=key, **values)

    def has(self, key: str, allowed: str, *, instead: str | None = None) -> bool:
        """Return True if the member exists; else report it, with ``allowed`` as its content."""
        if key not in self.json:
            kind = REQUIRED_MISSING if instead is None else ABSENCE_MENDED
            self._wrong(kind, key, (), instead, allowed=allowed)
        return key in self.json

    # --- Objects, words, booleans and indices -----------------------------------------------------

    def member(self, key: str, *, instead: str | None = None) -> Reader | None:
        """The reader of a JSON object, or ``None`` if it is absent or wrong."""
        value = self.json.get(key)
        if isinstance(value, dict):
            return Reader(value, self.at / key, self.diagnostics)
        if key in self.json:
            self.wrong_type(key, value, "an object", instead)
        return None

    def member_or_empty(self, key: str, *, instead: str | None = None) -> Reader:
        """The reader of a JSON object; one without members if it is absent or wrong."""
        found = self.member(key, instead=instead)
        return Reader({}, self.at / key, self.diagnostics) if found is None else found

    def entries(self, key: str, *, instead: str | None = None) -> Iterator[Reader]:
        """Yield the readers of a list of objects; wrong items are empty.

        ``instead`` is the replacement of the list and of an item alike.
        """
        value = self.json.get(key, [])
        if not isinstance(value, list):
            self.wrong_type(key, value, "a list of objects", instead)
            return
        at = self.at / key
        for position, item in enumerate(value):
            if not isinstance(item, dict):
                self.wrong_type(key, item, "an object", instead, position)
                item = {}
            yield Reader(item, at / position, self.diagnostics)

    def boolean(self, key: str, *, default: bool) -> bool:
        """A boolean; ``default`` if it is absent, or wrong with a warning.

        Exporters without booleans write 1 and 0, which are read as such, with a warning.
        """
        value = self.json.get(key, default)
        if isinstance(value, bool):
            return value
        is_meant = isinstance(value, (int, float)) and value in (0, 1)
        taken = bool(value) if is_meant else default
        instead = f"{str(taken).lower()} is {'meant' if is_meant else 'used'}"
        self.wrong_type(key, value, "true or false", instead)
        return taken

    def string(self, key: str, *, instead: str | None = None) -> str | None:
        """A string, or ``None`` if it is absent or wrong."""
        value = self.json.get(key)
        if isinstance(value, str):
            return value
        if key in self.json:
            self.wrong_type(key, value, "a string", instead)
        return None

    def choice(self, key: str, *, choices: Mapping[str, T], instead: str | None = None) -> T | None:
        """The value of ``choices`` for a string, or ``None`` if it is absent or wrong."""
        value = self.string(key, instead=instead)
        if value is None:
            return None
        if value not in choices:
            kind = VALUE_NOT_ALLOWED if instead is None else WORD_MENDED
            self._wrong(kind, key, (), instead, got=shown(value), allowed=", ".join(choices))
        return choices.get(value)

    def strings(self, key: str, *, instead: str | None = None) -> tuple[str, ...] | None:
        """A list of strings, or ``None`` if absent or wrong; with ``instead`` also a single one."""
        if key not in self.json:
            return None
        value = self.json[key]
        if instead is not None and isinstance(value, str):
            self.wrong_type(key, value, "a list of strings", _ONLY_ITEM)
            return (value,)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.wrong_type(key, value, "a list of strings", instead)
            return None
        return tuple(value)

    def index(
        self, key: str, *, count: int, instead: str | None = None, refers: bool = False
    ) -> int | None:
        """An index below ``count``, or ``None`` if it is absent or wrong.

        Exporters write -1 for none. ``refers``: it refers to a part of the physics, which is then
        lost: an error.
        """
        return self._index(key, self.json[key], count, instead, refers) if key in self else None

    def _index(
        self, key: str, value: object, count: int, instead: str | None, refers: bool, *path: int
    ) -> int | None:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong_type(key, value, "an index", instead, *path)
            return None
        if 0 <= value < count:
            return value
        if value == -1 and instead is not None:
            self._wrong(INDEX_MEANS_NONE, key, path, instead)
        else:
            mended = REFERENCE_MISSING if refers else INDEX_MENDED
            kind = INDEX_OUT_OF_RANGE if instead is None else mended
            self._wrong(kind, key, path, instead, got=shown(value), count=count)
        return None

    def indices(
        self, key: str, *, count: int, instead: str | None = None, refers: bool = False
    ) -> tuple[int, ...] | None:
        """A list of indices below ``count`` without wrong ones; ``None`` if absent or no list.

        With ``instead``, which is the replacement of an item, a single index is a list of one.
        """
        if key not in self.json:
            return None
        value = self.json[key]
        if instead is not None and type(value) is int:
            self.wrong_type(key, value, "a list of indices", _ONLY_ITEM)
            value = [value]
        if not isinstance(value, list):
            self.wrong_type(key, value, "a list of indices", instead)
            return None
        if all(type(item) is int and 0 <= item < count for item in value):
            return tuple(value)
        found = [
            self._index(key, item, count, instead, refers, position)
            for position, item in enumerate(value)
        ]
        return tuple(index for index in found if index is not None)

    # --- Numbers, lists of them and quaternions ---------------------------------------------------

    def number(
        self,
        key: str,
        *,
        default: D,
        at_least: float | None = None,
        above: float | None = None,
        instead: str | None = None,
        allowed: NumberRange | None = None,
    ) -> float | D:
        """A finite number inside a range; ``default`` if it is absent or wrong.

        A default replaces a wrong number, with a warning; without one, and without ``instead``, it
        is an error. ``allowed`` is the range that the engine carries, by default that of the name
        in glTF.
        """
        value = self.json.get(key)
        if value is None and key not in self.json:
            return default
        if instead is None and default is not None:
            instead = _used(default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            self.wrong_type(key, value, "a number", instead)
            return default
        try:
            number = float(value)
        except OverflowError:  # an integer of more than 308 digits
            number = math.inf
        if not math.isfinite(number):
            self.out_of_range(key, value, "finite", None)
            return default
        if at_least is not None and number < at_least:
            self.out_of_range(key, value, f">= {at_least:g}", instead)
            return default
        if above is not None and number <= above:
            self.out_of_range(key, value, f"> {above:g}", instead)
            return default
        taken = self._carried(key, number, allowed)
        if taken == 0.0 and above == 0.0:
            self.out_of_range(key, value, "> 0", instead)
            return default
        return default if taken is None else taken

    def _carried(
        self, key: str, value: float, allowed: NumberRange | None, *path: int
    ) -> float | None:
        """``value`` limited to the engine's range (``number_ranges.py``); ``None`` if refused."""
        if allowed is None:
            allowed = range_of(key)
        taken = carried(allowed, value)
        if taken == value:
            return value
        if taken is None:
            most = f"at most {allowed.largest:g} in magnitude"
            self.out_of_range(key, value, most, None, *path)
        elif math.isinf(taken):
            got, most_allowed = shown(value), allowed.largest
            self.report(NUMBER_AS_UNLIMITED, key, *path, key=key, got=got, allowed=most_allowed)
        elif allowed.beyond == "limited" and (taken != 0.0 or abs(value) > allowed.smallest):
            most = f"{allowed.smallest:g} to {allowed.largest:g} in magnitude"
            got = shown(value)
            self.report(NUMBER_LIMITED, key, *path, key=key, got=got, allowed=most, used=taken)
        return taken

    def numbers(
        self,
        key: str,
        *,
        count: int | None = None,
        at_least: float | None = None,
        instead: str | None = None,
        allowed: NumberRange | None = None,
    ) -> tuple[float, ...] | None:
        """A list of finite numbers (exactly ``count`` of them), or ``None`` if absent or wrong."""
        if key not in self.json:
            return None
        value = self.json[key]
        if (
            not isinstance(value, Sequence)
            or isinstance(value, str)
            or (count is not None and len(value) != count)
            or not all(map(_is_number, value))
        ):
            what = "a list of numbers" if count is None else f"a list of {count} numbers"
            self.wrong_type(key, value, what, instead)
            return None
        wrong = False
        taken: list[float] = []
        for position, number in enumerate(value):
            if not abs(number) <= 1.7976931348623157e308:
                self.out_of_range(key, number, "finite", None, position)
            elif at_least is not None and number < at_least:
                self.out_of_range(key, number, f">= {at_least:g}", instead, position)
            else:
                one = self._carried(key, float(number), allowed, position)
                if one is not None:
                    taken.append(one)
                    continue
            wrong = True
        return None if wrong else tuple(taken)

    def quaternion(
        self, key: str, *, instead: str | None = None
    ) -> tuple[float, float, float, float] | None:
        """A unit quaternion (xyzw), normalized with a finding if necessary; ``None`` if absent.

        One of length 0 counts as absent, with a warning: exporters write zeros for missing ones.
        """
        value = self.numbers(key, count=4, instead=instead)
        if value is None:
            return None
        length = math.hypot(*value)
        if length < 1e-6:
            self.out_of_range(key, list(value), "of length 1", "no rotation is used")
            return (0.0, 0.0, 0.0, 1.0)
        # Exporters write float32 with about seven digits; the tolerance is a percent.
        if abs(length - 1.0) > 1e-2:
            self.report(NOT_UNIT_LENGTH, key, key=key, got=round(length, 6))
        x, y, z, w = (component / length for component in value)
        return (x, y, z, w)

    def size(self, key: str, *, default: int | None) -> int | None:
        """A whole number >= 0; ``None`` if wrong, or absent and required (without ``default``)."""
        if default is None and not self.has(key, "a whole number"):
            return None
        value = self.json.get(key, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong_type(key, value, "a whole number", None)
            return None
        # No file is larger than that, and the int64 arithmetic of numpy holds it.
        if not 0 <= value < 2**53:
            self.out_of_range(key, value, "in 0 .. 2^53", None)
            return None
        return value

"""Findings about content: errors and approximations, with their place in the file and size.

A reader never raises on content. It carries an immutable :class:`JsonPointer` down and reports to a
:class:`Diagnostics` sink, so that one pass finds everything. Codes are declared as
:class:`IssueKind` constants in the room that raises them; ``tools/list_issues.py`` collects them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gltf_bullet.bounds import ISSUES_PER_CODE
from gltf_bullet.printable import printable


class Severity(enum.IntEnum):
    """Severity of a finding; the worst sorts first."""

    ERROR = 0
    """The content is wrong; the scene is not usable as authored."""
    WARNING = 1
    """Meaning is lost or approximated."""
    INFO = 2
    """Worth knowing; nothing is lost."""


class JsonPointer(str):
    """An RFC 6901 pointer into the asset's JSON, extended with ``/``.

    ``ROOT / "nodes" / 3`` is ``JsonPointer("/nodes/3")``. Immutable: there is no pop to forget.
    """

    __slots__ = ()

    def __truediv__(self, token: str | int) -> JsonPointer:
        """Return the pointer to member ``token`` (escaped as RFC 6901 asks)."""
        if isinstance(token, str) and ("~" in token or "/" in token):
            token = token.replace("~", "~0").replace("/", "~1")
        return JsonPointer(f"{self}/{token}")

    @property
    def tokens(self) -> tuple[str, ...]:
        """The unescaped reference tokens, outermost first."""
        return tuple(
            part.replace("~1", "/").replace("~0", "~") for part in str(self).split("/")[1:]
        )


ROOT = JsonPointer("")
"""The pointer to the whole document."""


@dataclass(frozen=True, slots=True, repr=False)
class IssueKind:
    """A kind of finding, declared once as a constant in the room that raises it."""

    code: str
    """Stable name, upper case with underscores."""
    severity: Severity
    message: str
    """``str.format`` template: the error, the rule, and what was done instead."""
    loads: bool = False
    """True for an error whose file is loaded all the same, without what the message names."""

    def __str__(self) -> str:
        return self.code

    def __repr__(self) -> str:
        return f"<IssueKind {self.code}, {self.severity.name.lower()}: {self.message}>"


@dataclass(frozen=True, slots=True, repr=False)
class Issue:
    """One finding: a kind, a place in the JSON and the values that fill the message.

    Prints as one line, alone and in a list; ``gltf-bullet explain CODE`` explains its kind.
    """

    kind: IssueKind
    pointer: JsonPointer
    values: dict[str, object] = field(default_factory=dict, hash=False)
    node: str = field(default="", compare=False)
    """Name of the glTF node that :attr:`pointer` leads to; empty if it is unknown."""

    @property
    def code(self) -> str:
        """The stable code of the kind."""
        return self.kind.code

    @property
    def severity(self) -> Severity:
        """The severity of the kind."""
        return self.kind.severity

    @property
    def is_error(self) -> bool:
        """True if the asset is unusable as authored."""
        return self.kind.severity is Severity.ERROR

    @property
    def refuses(self) -> bool:
        """True if the asset is not loaded because of it."""
        return self.is_error and not self.kind.loads

    @property
    def meaning(self) -> str:
        """Consequence of the finding, in one or two words."""
        if self.is_error:
            return "refused" if self.refuses else "left out"
        return "approximated" if self.severity is Severity.WARNING else "note"

    @property
    def where(self) -> str:
        """The location: the name of the node, if it has one, and the pointer."""
        pointer = printable(self.pointer) or "/"
        return f'node "{printable(self.node)}" ({pointer})' if self.node else pointer

    @property
    def message(self) -> str:
        """The finding in one line, without location and code, and without control characters."""
        return printable(self.kind.message.format(**self.values))

    def located(self, path: str) -> str:
        """The whole line: file, location, message, code."""
        place = f": {self.where}" if self.node else f"#{printable(self.pointer)}"
        if not self.pointer:
            place = ""
        return f"{printable(path)}{place}: {self.message} [{self.code}]"

    def __str__(self) -> str:
        return f"{self.severity.name.lower()}: {self.where}: {self.message} [{self.code}]"

    def __repr__(self) -> str:
        return f"<Issue {self}>"


def error(code: str, message: str, *, loads: bool = False) -> IssueKind:
    """Return a kind of finding that refuses the file, or only a part of it if it ``loads``."""
    return IssueKind(code, Severity.ERROR, message, loads)


def warning(code: str, message: str) -> IssueKind:
    """Return a kind of finding by which meaning is lost or approximated."""
    return IssueKind(code, Severity.WARNING, message)


def note(code: str, message: str) -> IssueKind:
    """Return a kind of finding that is worth knowing, by which nothing is lost."""
    return IssueKind(code, Severity.INFO, message)


MORE_ISSUES = note("MORE_ISSUES", "and {count} more of {code}; the first {most} are listed")


def with_names(issues: Iterable[Issue], names: Sequence[str]) -> tuple[Issue, ...]:
    """Issues with the names of the nodes that they point to.

    Args:
        issues: Issues of one file.
        names: Names of its nodes, empty for those without.
    """
    return tuple([_named(issue, names) for issue in issues])


def _named(issue: Issue, names: Sequence[str]) -> Issue:
    start, _, rest = issue.pointer.removeprefix("/").partition("/")
    index = rest.partition("/")[0]
    if start != "nodes" or issue.node or not (index.isascii() and index.isdigit()):
        return issue
    name = names[int(index)] if len(index) < 10 and int(index) < len(names) else ""
    return replace(issue, node=name) if name else issue


class Diagnostics:
    """A sink that collects issues in the order of discovery, each of them once.

    Of each code it keeps as many as the table of bounds has, and counts the others.
    """

    def __init__(self) -> None:
        self._issues: dict[tuple[str, str, str], Issue] = {}
        self._counts: dict[str, int] = {}
        """Number of kept issues by code."""
        self._others: dict[str, set[int]] = {}
        """Hashes of the issues that are not kept, by code."""

    def report(self, kind: IssueKind, at: JsonPointer, **values: object) -> None:
        """Add a finding of ``kind`` at ``at``; ``values`` fill the message template."""
        key = kind.code, at, repr(values)
        if key in self._issues:
            return
        count = self._counts.get(kind.code, 0)
        if count < ISSUES_PER_CODE:
            self._issues[key] = Issue(kind, at, values)
            self._counts[kind.code] = count + 1
        else:
            self._others.setdefault(kind.code, set()).add(hash(key))

    def has_room(self, kind: IssueKind) -> bool:
        """Return False if further findings of a kind are only counted, and need no good message."""
        return self._counts.get(kind.code, 0) < ISSUES_PER_CODE

    def extend(self, issues: tuple[Issue, ...] | list[Issue]) -> None:
        """Add findings that another sink has collected, with the names of their nodes."""
        for issue in issues:
            self.report(issue.kind, issue.pointer, **issue.values)
            key = issue.kind.code, issue.pointer, repr(issue.values)
            if issue.node and key in self._issues:
                self._issues[key] = issue

    @property
    def issues(self) -> tuple[Issue, ...]:
        """All findings, in the order of discovery, then the numbers of those that are not kept."""
        more = (
            Issue(MORE_ISSUES, ROOT, {"count": len(of), "code": code, "most": ISSUES_PER_CODE})
            for code, of in self._others.items()
        )
        return (*self._issues.values(), *more)

    @property
    def has_errors(self) -> bool:
        """True if any finding makes the asset unusable as authored."""
        return any(issue.is_error for issue in self._issues.values())

    @property
    def refuses(self) -> bool:
        """True if any finding keeps the asset from being loaded."""
        return any(issue.refuses for issue in self._issues.values())

    def take(self, kind: IssueKind | None = None) -> Issue:
        """Remove and return the first finding (of ``kind``); for tests.

        Raises:
            LookupError: There is none; the message lists all findings.
        """
        for key, issue in self._issues.items():
            if kind is None or issue.kind is kind:
                del self._issues[key]
                self._counts[issue.code] -= 1
                return issue
        wanted = kind.code if kind else "any issue"
        raise LookupError(f"{wanted} was not reported; present: {list(self.issues)}")

    def __iter__(self) -> Iterator[Issue]:
        return iter(self.issues)

    def __len__(self) -> int:
        return len(self._issues)

"""The reference page of all issue codes: ``python -m tools.list_issues``.

Severity, message and room of a code are taken from its declaration, its explanations from the page
itself: their text is written there by hand. A new code gets an entry to be filled in, an entry
without a code goes. ``--check`` only compares and fails where the page is out of date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gltf_bullet.reference import IssueEntry, parse_entries

__all__ = ["DeclaredKind", "declared_codes", "declared_kinds", "issues_page"]

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "gltf_bullet"
REFERENCE: Final = PACKAGE / "reference"
PAGE: Final = REFERENCE / "issues.md"

SECTIONS: Final = {
    "ERROR": "Errors: the file is refused",
    "WARNING": "Warnings: loaded, but not exactly as written",
    "INFO": "Notes: worth knowing, nothing is lost",
}
SEVERITIES: Final = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}
"""The severity by the function that declares a kind of issue."""
TO_BE_WRITTEN: Final = "(to be written)"

INTRODUCTION: Final = """\
# Issue codes

What the library finds about the content of a file is an issue: a code, a severity, a place in the
file (a JSON pointer such as `/nodes/3/mesh`) and a message with numbers. `scene.issues` and
`gb.check(path).issues` hold them; `gltf-bullet check FILE` prints them; `gltf-bullet explain CODE`
shows one of the entries below. Codes are stable, messages are not.

Errors raise `InvalidAssetError` (or `ContainerError`) when a file is loaded, but
`REFERENCE_MISSING`, which leaves a part of it out; `gb.check` goes on and lists everything.
Warnings raise `TranslationError` with `LoadOptions(strict=True)`. In the messages below, names in
braces stand for what each finding fills in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredKind:
    """A kind of issue as its module declares it."""

    code: str
    severity: str
    message: str
    loads: bool
    """True for an error whose file is loaded all the same."""
    room: str


def _kinds(package: Path) -> Iterator[DeclaredKind]:
    """Every ``error(...)``, ``warning(...)`` and ``note(...)`` at the top of a module."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"= {name}(" in text for name in SEVERITIES):
            continue  # parsing all of them takes a second
        room = path.relative_to(package).parts[0].removesuffix(".py")
        for statement in ast.parse(text).body:
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            if (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Name)
                and value.func.id in SEVERITIES
            ):
                code, message = (str(ast.literal_eval(argument)) for argument in value.args)
                severity = SEVERITIES[value.func.id]
                yield DeclaredKind(
                    code=code,
                    severity=severity,
                    message=message,
                    loads=bool(value.keywords),
                    room=room,
                )


def declared_codes(package: Path = PACKAGE) -> frozenset[str]:
    """The codes of every kind of issue in the package."""
    return frozenset(kind.code for kind in _kinds(package))


def declared_kinds(package: Path = PACKAGE) -> dict[str, DeclaredKind]:
    """Every declared kind by code, worst first, then by name.

    Raises:
        ValueError: Two modules declare one code with different meanings.
    """
    found: dict[str, DeclaredKind] = {}
    for kind in _kinds(package):
        first = found.setdefault(kind.code, kind)
        if (first.severity, first.message) != (kind.severity, kind.message):
            raise ValueError(f"{kind.code} is declared twice: {first} and {kind}")
    order = list(SECTIONS)
    kinds = sorted(found.values(), key=lambda kind: (order.index(kind.severity), kind.code))
    return {kind.code: kind for kind in kinds}


def issues_page(kinds: Mapping[str, DeclaredKind], written: Mapping[str, IssueEntry]) -> str:
    """The page in Markdown, with the explanations that are ``written`` already."""
    lines = [INTRODUCTION]
    section = None
    for kind in kinds.values():
        if kind.severity != section:
            section = kind.severity
            lines.append(f"## {SECTIONS[section]}")
        lines.append(_entry(kind, written.get(kind.code)))
    return "\n\n".join(lines) + "\n"


def _entry(kind: DeclaredKind, written: IssueEntry | None) -> str:
    parts = {
        "Why": written.why if written else TO_BE_WRITTEN,
        "How big": written.how_big if written else TO_BE_WRITTEN,
        "What to do": written.what_to_do if written else TO_BE_WRITTEN,
    }
    explained = "\n".join(f"- **{name}:** {text}" for name, text in parts.items() if text)
    return (
        f"### {kind.code}\n\n"
        f"*{kind.severity.lower()}, found in {kind.room}*\n\n"
        f"> {_shown(kind.message)}\n\n"
        f"{explained}"
    )


def _shown(message: str) -> str:
    """The template with its fields as plain names, and nothing that Markdown would take for its."""
    plain = re.sub(r"\{(\w+)[^}]*\}", r"{\1}", message)
    return plain.replace("<", "&lt;").replace("*", "\\*")


def main() -> int:
    """Write or compare; the exit code."""
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    new = issues_page(declared_kinds(), parse_entries(old))
    if "--check" in sys.argv[1:]:
        if new != old:
            sys.stderr.write("issues.md is out of date: run python -m tools.list_issues\n")
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The table of all issue codes, collected from the source: ``python -m tools.list_issues``.

Rewrites the part of README.md between two markers; ``--check`` only compares and fails where the
file is out of date.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["declared_codes", "issue_table", "readme_with_table"]

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = ROOT / "gltf_bullet"
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- issue codes: written by tools/list_issues.py -->"
END: Final = "<!-- end of issue codes -->"

SEVERITIES: Final = ("ERROR", "WARNING", "INFO")


def _kinds(package: Path) -> Iterator[tuple[str, str, str, str]]:
    """(code, severity, message, room) of every ``IssueKind(...)`` at the top of a module."""
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            if not (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Name)
                and value.func.id == "IssueKind"
            ):
                continue
            code, severity, message = (_text(argument) for argument in value.args)
            yield code, severity, message, room


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return str(ast.literal_eval(node))


def declared_codes(package: Path = PACKAGE) -> frozenset[str]:
    """The codes of every ``IssueKind`` in the package."""
    return frozenset(code for code, *_ in _kinds(package))


def issue_table(package: Path = PACKAGE) -> str:
    """A Markdown table, worst first.

    Raises:
        ValueError: Two modules declare one code with different meanings.
    """
    kinds: dict[str, tuple[str, str, str]] = {}
    for code, severity, message, room in _kinds(package):
        entry = (severity, message, room)
        if kinds.setdefault(code, entry)[:2] != entry[:2]:
            raise ValueError(f"{code} is declared twice: {kinds[code]} and {entry}")
    rows = sorted(kinds.items(), key=lambda item: (SEVERITIES.index(item[1][0]), item[0]))
    lines = ["| Code | Severity | Found in | Message |", "|---|---|---|---|"]
    for code, (severity, message, room) in rows:
        lines.append(f"| `{code}` | {severity.lower()} | {room} | {_escaped(message)} |")
    return "\n".join(lines)


def _escaped(message: str) -> str:
    return message.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def readme_with_table(readme: str, table: str, begin: str = BEGIN, end: str = END) -> str:
    """``readme`` with the part between the markers replaced.

    Raises:
        ValueError: A marker is missing.
    """
    before, found, rest = readme.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise ValueError(f"README.md must hold {begin!r} and {end!r}")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def main() -> int:
    """Write or compare; the exit code."""
    old = README.read_text(encoding="utf-8")
    new = readme_with_table(old, issue_table())
    if "--check" in sys.argv[1:]:
        if new != old:
            sys.stderr.write("README.md is out of date: run python -m tools.list_issues\n")
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

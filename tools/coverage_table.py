"""The reference page of all physics properties: ``python -m tools.coverage_table``.

Its rows are written by hand, a case of a property each; a property that a dialect reads and that
has none gets one to be filled in. The properties are the entries of ``model/properties.py``, and
what the dialects read by hand, so that none can be forgotten. Dialects, values and operations are
filled in from the source. ``--check`` only compares and fails where the page is out of date.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from gltf_bullet.behavior.operations.catalogue import OPERATIONS
from gltf_bullet.model.properties import JOINT_EXTRAS, TABLES, Dialect, Property, Range
from tools.list_issues import PACKAGE, REFERENCE, ROOT

__all__ = [
    "coverage_page",
    "introduction_of",
    "operation_rows",
    "properties",
    "value_lines",
    "written_rows",
]

PAGE: Final = REFERENCE / "coverage.md"
DIALECTS: Final = PACKAGE / "dialects"
TREATMENTS: Final = ("exact", "approximated", "ignored", "refused")
"""Kept within rounding or the stated number; different by a number that is stated; without effect;
a reason to refuse the file."""
TO_BE_WRITTEN: Final = "(to be written)"

DIALECT_OF: Final[Mapping[str, str]] = {
    "khr/": "KHR",
    "omi/collider": "OMI_collider",
    "omi/": "OMI",
    "msft/": "MSFT",
    "older_joint_forms": "MSFT",  # first drafts of KHR have its words
}
"""Dialects by the beginning of a module's path; other modules serve every dialect."""

NAME_OF: Final[Mapping[Dialect, str]] = {
    Dialect.KHR: "KHR",
    Dialect.CORE: "KHR",
    Dialect.OMI: "OMI",
    Dialect.OMI_COLLIDER: "OMI_collider",
    Dialect.MSFT_LATER: "MSFT",
    Dialect.MSFT_CAMEL: "MSFT",
}

VALUES: Final = "## Values"
_ABOUT_VALUES: Final = (
    "Units, ranges and defaults as they are read, from `model/properties.py`. Linear and angular\n"
    "units are given where both occur. A pointer is one of the object model, for `scene.get`,\n"
    "`scene.set` and animations."
)

BEHAVIOR: Final = "## Behavior (KHR_interactivity)"
OPERATION_TESTS: Final = (
    "tests/behavior/test_operations.py",
    "tests/behavior/test_running.py",
    "tests/runtime/test_behavior.py",
    "tests/behavior/test_reading.py",
)
"""Files with tests that show operations, the narrowest first."""
_ABOUT_OPERATIONS: Final = (
    "A row for each operation that is declared; sockets and types are in [behavior](behavior.md),\n"
    "`tests/browser/test_babylon.py` compares with Babylon.js. Graphs with other operations of\n"
    "the core text are refused (`BEHAVIOR_INVALID`); those of unknown extensions do nothing\n"
    "(`BEHAVIOR_UNSUPPORTED`). What is set of lights, textures and cameras is kept and read back,\n"
    "and not shown (`BEHAVIOR_UNSEEN`)."
)

SECTIONS: Final = (
    "Objects and references",
    "Shapes",
    "Motions",
    "Materials and filters",
    "Triggers",
    "Joints",
    "Gravity (OMI)",
)


def properties() -> dict[str, list[str]]:
    """Property names with the dialects that have them.

    From the tables, and from the calls of ``known_keys`` and ``read_only_table`` for what is read
    by hand.
    """
    found: dict[str, set[str]] = {}
    for table in TABLES:
        for dialect, where in NAME_OF.items():
            for name in table.names(dialect):
                found.setdefault(name, set()).add(where)
    for path in sorted(DIALECTS.rglob("*.py")):
        place = path.relative_to(DIALECTS).with_suffix("").as_posix()
        dialect = next(
            (name for start, name in DIALECT_OF.items() if place.startswith(start)), "all"
        )
        for name in _read_names(path, place):
            found.setdefault(name, set()).add(dialect)
    return {
        name: ["all"] if "all" in where else sorted(where) for name, where in sorted(found.items())
    }


def _read_names(path: Path, place: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        keys = {"known_keys": call.args, "read_only_table": call.args[2:3]}.get(call.func.id, ())
        if keys:
            module = import_module("gltf_bullet.dialects." + place.replace("/", "."))
            for argument in keys:
                yield from _names(argument, module)


def _names(argument: ast.expr, module: ModuleType) -> list[str]:
    """The keys that an argument stands for: a literal, or a constant of the module."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if isinstance(argument, ast.Name):
        value = getattr(module, argument.id, None)
        return [value] if isinstance(value, str) else []
    if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name):
        return [getattr(key, "value", key) for key in getattr(module, argument.value.id, ())]
    return []


class Row(NamedTuple):
    """A case of a property on the page."""

    name: str
    when: str
    """The case; empty: always, or in all cases that no other row names."""
    treatment: str
    how: str
    """Accuracy or means of the treatment, and the issue that is reported."""
    shown_by: str
    """The test that shows it, below ``tests``, as pytest names it."""

    @property
    def issue(self) -> str | None:
        """The code of the issue that is reported."""
        found = re.search(r"`([A-Z0-9]+_[A-Z0-9_]+)`$", self.how)
        return found and found[1]


def written_rows(page: str) -> dict[str, list[Row]]:
    """The rows of the page, by section, from exact to refused where they share a name."""
    rows: dict[str, list[Row]] = {}
    for section in SECTIONS:
        lines = page.partition(f"## {section}\n")[2].partition("\n## ")[0].splitlines()
        cells = [
            [cell.strip() for cell in line.split("|")[1:-1]]
            for line in lines
            if line.startswith("| `")
        ]
        found = [
            Row(name.strip("`"), when, treatment, how, test.strip("`"))
            for name, _, when, treatment, how, test in cells
        ]
        rows[section] = sorted(found, key=_order)
    return rows


def _order(row: Row) -> tuple[str, int]:
    known = row.treatment in TREATMENTS
    return row.name.lower(), TREATMENTS.index(row.treatment) if known else len(TREATMENTS)


def coverage_page(old: str) -> str:
    """The page in Markdown, with what is written by hand on the ``old`` one."""
    dialects = properties()
    parts = [introduction_of(old)]
    sections = written_rows(old)
    written = {row.name for rows in sections.values() for row in rows}
    sections[SECTIONS[0]] += [
        Row(name, "", TO_BE_WRITTEN, "", "") for name in dialects if name not in written
    ]
    for section, rows in sections.items():
        lines = [
            f"## {section}",
            "",
            "| Property | Dialects | Case | In PyBullet | How, or by how much | Shown by |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_line(row, dialects.get(row.name, ())) for row in rows]
        parts.append("\n".join(lines))
    parts.append(f"{VALUES}\n\n{_ABOUT_VALUES}\n\n" + "\n".join(value_lines()))
    parts.append(f"{BEHAVIOR}\n\n{_ABOUT_OPERATIONS}")
    operations = [
        f"| `{name}` | {text} | exact | {summary.replace('|', '/')} |"
        f" `{test.removeprefix('tests/')}` |"
        for name, text, summary, test in operation_rows()
    ]
    head = ["| Operation | Text | In PyBullet | What it does | Shown by |", "|---|---|---|---|---|"]
    parts.append("\n".join([*head, *operations]))
    return "\n\n".join(parts) + "\n"


def value_lines() -> list[str]:
    """Unit, range and default of every entry of the tables, as lines of Markdown."""
    lines = [
        "| Object | Property | Unit | Allowed | Default | Other defaults | Pointer |",
        "|---|---|---|---|---|---|---|",
    ]
    for table in (*TABLES, JOINT_EXTRAS):
        for entry in table:
            others: dict[str, list[str]] = {}
            for dialect, default in entry.defaults.items():
                if dialect in entry.dialects:
                    others.setdefault(_value(entry, default), []).append(dialect.value)
            cells = (
                table.what.removeprefix("a "),
                " / ".join(f"`{key}`" for key in dict.fromkeys((entry.key, *entry.keys.values()))),
                entry.unit if entry.unit != "1" else "",
                _allowed(entry.range),
                _value(entry, entry.default),
                "; ".join(f"{value}: {', '.join(names)}" for value, names in others.items()),
                "yes" if entry.has_pointer else "",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _allowed(allowed: Range) -> str:
    if allowed.above is not None:
        return f"> {allowed.above:g}"
    return "" if allowed.at_least is None else f">= {allowed.at_least:g}"


def _value(entry: Property, default: object) -> str:
    """A default as the file would have it, or what its absence means."""
    if default is MISSING:
        return "required"
    value = entry.type.to_json(default)
    if value in (None, ()):
        return "not stated"
    if value in (math.inf, -math.inf) or default in (math.inf, -math.inf):
        return "unlimited"
    return f"`{json.dumps(value)}`"


def operation_rows() -> list[tuple[str, str, str, str]]:
    """Name, text, meaning and test of every operation of behavior graphs."""
    shown = _tests_of_operations()
    return [
        (name, extension or "KHR_interactivity", operation.summary, shown.get(name, ""))
        for (extension, name), operation in sorted(OPERATIONS.items())
    ]


def _tests_of_operations() -> dict[str, str]:
    """The first test that names an operation, itself or in the table that it is run over."""
    found: dict[str, str] = {}
    for file in OPERATION_TESTS:
        body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
        tables = {
            target.id: _texts(statement)
            for statement in body
            for target in getattr(statement, "targets", [getattr(statement, "target", None)])
            if isinstance(target, ast.Name)
        }
        functions = [part for part in body if isinstance(part, ast.FunctionDef)]
        for function in functions:
            if not function.name.startswith("test_") or "every" in function.name:
                continue
            used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            helpers = [part for part in functions if part.name in used]
            texts = {text for part in (function, *helpers) for text in _texts(part)}
            for text in texts.union(*(tables.get(name, set()) for name in used)):
                found.setdefault(text, f"{file}::{function.name}")
    return found


def _texts(tree: ast.AST) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    } | {
        f"math/{start}{n}"
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant)
        for start in [str(node.values[0].value).removeprefix("math/")]
        for n in ("2", "3", "4", "2x2", "3x3", "4x4")
    }


def _line(row: Row, dialects: Sequence[str]) -> str:
    shown_by = row.shown_by and f"`{row.shown_by}`"
    cells = (f"`{row.name}`", ", ".join(dialects), row.when, row.treatment, row.how, shown_by)
    return f"| {' | '.join(cells)} |"


def introduction_of(page: str) -> str:
    """The text before the first table."""
    return page.partition(f"## {SECTIONS[0]}")[0].rstrip()


def main() -> int:
    """Write or compare; the exit code."""
    old = PAGE.read_text(encoding="utf-8")
    new = coverage_page(old)
    if "--check" in sys.argv[1:]:
        if new != old:
            sys.stderr.write("coverage.md is out of date: run python -m tools.coverage_table\n")
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

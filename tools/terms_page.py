"""The reference page of rewards, ends, actions and observations: ``python -m tools.terms_page``.

Its tables are the dataclasses of ``gltf_bullet.envs`` with the docstrings of their fields. What
stands before the first table is written by hand. ``--check`` only compares and fails where the page
is out of date.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Final

from tools.list_issues import PACKAGE, REFERENCE

__all__ = ["Described", "described_classes", "introduction_of", "terms_page"]

PAGE: Final = REFERENCE / "terms.md"
TERMS: Final = PACKAGE / "envs" / "terms.py"
CONFIG: Final = PACKAGE / "envs" / "config.py"
SIGHT: Final = PACKAGE / "envs" / "sight.py"
VALUES: Final = ("formula", "vector", "__call__")
FIRST: Final = "## Rewards and ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A dataclass as its source describes it."""

    name: str
    what: str
    result: str
    """Of the method that gives the value; ``""`` without one."""
    fields: tuple[tuple[str, str, str], ...]
    """Name, default and description of each."""


def described_classes(path: Path) -> dict[str, Described]:
    """The public classes of a module, in its order."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    classes = [item for item in module.body if isinstance(item, ast.ClassDef)]
    return {item.name: _described(item) for item in classes if not item.name.startswith("_")}


def _described(item: ast.ClassDef) -> Described:
    calls = (f for f in item.body if isinstance(f, ast.FunctionDef) and f.name in VALUES)
    call = next(calls, None)
    return Described(
        name=item.name,
        what=_markdown(ast.get_docstring(item) or ""),
        result="" if call is None else _markdown(ast.get_docstring(call) or ""),
        fields=tuple(_fields(item)),
    )


def _fields(item: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    for statement, following in zip(item.body, [*item.body[1:], None], strict=True):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        described = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            described = _markdown(str(following.value.value))
        default = "required" if statement.value is None else f"`{_default(statement.value)}`"
        yield statement.target.id, default, described


def _default(value: ast.expr) -> str:
    """The default as a reader would write it: ``dict()`` for ``field(default_factory=dict)``."""
    if isinstance(value, ast.Call) and value.keywords:
        return f"{ast.unparse(value.keywords[0].value)}()"
    return ast.unparse(value)


def _markdown(docstring: str) -> str:
    """One line of Markdown of a docstring in reStructuredText."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", docstring)
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


def terms_page(introduction: str) -> str:
    """The page in Markdown, behind the text that is written by hand."""
    config = described_classes(CONFIG) | described_classes(SIGHT)
    parts = [
        introduction,
        FIRST,
        "Values of `EnvConfig(rewards=..., terminations=..., observed=..., success=...)`, from "
        "`gltf_bullet.envs.terms`.",
        *(_section(term) for term in described_classes(TERMS).values()),
        "## Actions",
        _section(config["DriveAction"]),
        _section(config["VariableAction"]),
        _section(config["EventAction"]),
        "## The whole environment",
        _section(config["EnvConfig"]),
        _section(config["ResetOptions"]),
        _section(config["CameraObservation"]),
        _section(config["StepContext"]),
        _section(config["SentEvent"]),
    ]
    return "\n\n".join(parts) + "\n"


def _section(item: Described) -> str:
    text = f"### {item.name}\n\n{fill(item.what, 118)}"
    if item.result:
        text += "\n" + fill(f"Gives: {item.result[0].lower()}{item.result[1:]}", 118)
    if not item.fields:
        return text
    rows = "\n".join(f"| `{name}` | {default} | {what} |" for name, default, what in item.fields)
    return f"{text}\n\n| Field | Default | Meaning |\n|---|---|---|\n{rows}"


def introduction_of(page: str) -> str:
    """What stands before the first table."""
    return page.partition(FIRST)[0].rstrip()


def main() -> int:
    """Write or compare; the exit code."""
    old = PAGE.read_text(encoding="utf-8")
    new = terms_page(introduction_of(old))
    if "--check" in sys.argv[1:]:
        if new != old:
            sys.stderr.write("terms.md is out of date: run python -m tools.terms_page\n")
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

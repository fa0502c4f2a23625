"""The reference page of behavior graphs: ``python -m tools.behavior_page``.

Its table is what ``gltf_bullet.behavior.operations`` declares. What stands before it is written by
hand. ``--check`` only compares and fails where the page is out of date.
"""

from __future__ import annotations

import sys
from typing import Final

from gltf_bullet.behavior.operations.catalogue import OPERATIONS
from tools.list_issues import REFERENCE

__all__ = ["behavior_page", "introduction_of"]

PAGE: Final = REFERENCE / "behavior.md"
FIRST: Final = "## Operations"


def behavior_page(introduction: str) -> str:
    """The page in Markdown, behind the text that is written by hand."""
    rows = ["| Operation | Configuration | Takes | Gives | Does |", "|---|---|---|---|---|"]
    rows += [
        f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in operation_rows()
    ]
    intro = "Flows are set as `code`; values have a type, or several."
    return f"{introduction}{FIRST}\n\n{intro}\n\n" + "\n".join(rows) + "\n"


def operation_rows() -> list[tuple[str, str, str, str, str]]:
    """Every operation with its configuration, inputs, outputs and meaning, for the page."""
    rows = []
    for (extension, name), operation in sorted(OPERATIONS.items(), key=lambda item: item[0]):
        inputs: dict[str, list[str]] = {}
        outputs: dict[str, list[str]] = {}
        for variant in operation.variants:
            for socket, kind in variant.sockets.inputs.items():
                inputs.setdefault(socket, []).append(kind)
            for socket, kind in variant.sockets.outputs.items():
                outputs.setdefault(socket, []).append(kind)
        into = [f"`{flow}`" for flow in operation.flows_in] + _listed(inputs)
        out = [f"`{flow}`" for flow in operation.flows_out] + _listed(outputs)
        title = f"`{name}`" + (f" ({extension})" if extension else "")
        set_by = ", ".join(f"{key}: {kind}" for key, kind in operation.configuration.items())
        rows.append((title, set_by, ", ".join(into), ", ".join(out), operation.summary))
    return rows


def _listed(side: dict[str, list[str]]) -> list[str]:
    return [f"{socket}: {'/'.join(dict.fromkeys(kinds))}" for socket, kinds in side.items()]


def introduction_of(page: str) -> str:
    """What is written by hand."""
    return page.partition(FIRST)[0]


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    new = behavior_page(introduction_of(old))
    if "--check" in sys.argv[1:]:
        if old != new:
            sys.stderr.write("behavior.md is out of date: run python -m tools.behavior_page\n")
            sys.exit(1)
    else:
        PAGE.write_text(new, encoding="utf-8")

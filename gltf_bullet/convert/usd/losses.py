"""Findings about a stage, one for each kind of loss, with the paths of its prims."""

from __future__ import annotations

from typing import Final

from gltf_bullet.convert.issues import NOT_IN_GLTF, USD_APPROXIMATED
from gltf_bullet.diagnostics import ROOT, Diagnostics, IssueKind

LEFT_OUT: Final = "it is left out"
_MOST_NAMES: Final = 3


def listed(paths: list[str]) -> str:
    """The first paths of a list."""
    more = f", ... ({len(paths)})" if len(paths) > _MOST_NAMES else ""
    return ", ".join(paths[:_MOST_NAMES]) + more


class Losses:
    """Collects losses while a stage is read or written, so that equal ones become one finding."""

    def __init__(self, lacking: IssueKind = NOT_IN_GLTF) -> None:
        """Remember the finding for what the other format has no words for."""
        self._lacking = lacking
        self._lost: dict[tuple[str, str], list[str]] = {}
        self._changed: dict[tuple[str, str, str], list[str]] = {}
        self._other: list[tuple[IssueKind, dict[str, object]]] = []

    def lost(self, what: str, path: str, done: str = LEFT_OUT) -> None:
        """A property that the other format has no words for."""
        self._lost.setdefault((what, done), []).append(path)

    def changed(self, what: str, path: str, done: str, error: str) -> None:
        """A property that is approximated."""
        self._changed.setdefault((what, done, error), []).append(path)

    def add(self, kind: IssueKind, **values: object) -> None:
        """A finding of another kind."""
        self._other.append((kind, values))

    def report(self, diagnostics: Diagnostics) -> None:
        """Report everything that was collected."""
        for kind, values in self._other:
            diagnostics.report(kind, ROOT, **values)
        for (what, done), paths in self._lost.items():
            counted = f"{len(paths)} x {what}" if len(paths) > 1 else what
            diagnostics.report(self._lacking, ROOT, what=counted, owner=listed(paths), done=done)
        for (what, done, error), paths in self._changed.items():
            diagnostics.report(
                USD_APPROXIMATED, ROOT,
                count=len(paths), what=what, names=listed(paths), done=done, error=error,
            )  # fmt: skip

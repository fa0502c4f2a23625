"""``gltf-bullet simulate --csv``: a table whose rows are written as they are produced."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from gltf_bullet.output_files import FileAside
from gltf_bullet.printable import printable

_FORMULA = ("=", "+", "-", "@")
"""Characters that make a cell a formula, which may call other programs, in spreadsheets."""


def text_cell(text: str) -> str:
    """A name of a file as text of a cell: in one line, after ``'`` if it would be a formula."""
    text = printable(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


class CsvTable:
    """A table file that replaces another only when complete."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._path, self._columns = path, columns
        self._file: FileAside | None = None
        self._stream: TextIO | None = None

    def open(self) -> None:
        """Create the file and the folders above it.

        Raises:
            OSError: It cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = FileAside(self._path)
        self._stream = self._file.path.open("w", newline="", encoding="utf-8")
        self.write([self._columns])

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Append rows.

        Raises:
            OSError: The disk is full.
        """
        if self._stream is not None:
            csv.writer(self._stream).writerows(rows)

    def commit(self) -> None:
        """Move the file to its place.

        Raises:
            OSError: It cannot be written.
        """
        if self._stream is None or self._file is None:
            return
        try:
            self._stream.close()
        except OSError:  # the last rows did not fit
            self.discard()
            raise
        self._file.commit()

    def discard(self) -> None:
        """Keep the former file instead."""
        if self._stream is not None:
            with contextlib.suppress(OSError):  # of rows that nobody needs
                self._stream.close()
        if self._file is not None:
            self._file.discard()

"""Files that a robot may name: those in its folder, in ROS packages, and in permitted folders.

A downloaded robot must not copy other files of its user into the result; a glTF file may not
either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from gltf_bullet.convert.issues import ROBOT_FILE_MISSING, ROBOT_FILE_REFUSED
from gltf_bullet.diagnostics import ROOT, Diagnostics

_SCHEME: Final = re.compile(r"^(package|model|file)://")
_PACKAGE: Final = "package.xml"
"""File that marks a folder as a ROS package."""


class _Place(NamedTuple):
    """A path at which a named file may be, and the folder that must contain it."""

    path: Path
    root: Path
    """The folder that it must not leave."""
    follows_links: bool = False
    """True if symbolic links in that folder may lead elsewhere."""

    def is_inside(self) -> bool:
        try:
            if self.follows_links:
                return Path(os.path.normpath(self.path)).is_relative_to(self.root)
            return self.path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links
            return False


class RobotFolders:
    """The folders of one robot; finds its files by the names in its description."""

    def __init__(self, file: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        """Find the package of the robot.

        Args:
            file: The robot's description.
            allowed: Further folders in which the user lets it name files.
        """
        self._folder = file.absolute().parent
        above = (self._folder, *self._folder.parents)
        self._home = next((a for a in above if (a / _PACKAGE).is_file()), self._folder)
        """The package of the robot, or its folder."""
        self._allowed = tuple(Path(folder).absolute() for folder in allowed)
        self._used = dict.fromkeys((self._home, *self._allowed), False)
        """The folders that files were found in, and whether their links are followed."""

    def of(self, file: Path) -> RobotFolders:
        """The folders for another file of the robot, whose names are relative to its place."""
        other = RobotFolders(file, self._allowed)
        other._home = self._home
        other._used = self._used
        return other

    def find(self, name: str) -> Path | None:
        """Path of a file that the robot names; ``None`` if no permitted folder has it.

        Packages are found as ROS does; other names beside the description, or above it up to the
        root of its package.
        """
        for place in self._places(name):
            if place.is_inside() and place.path.is_file():
                self._used[place.root] = place.follows_links
                return place.path
        return None

    def is_outside(self, name: str) -> bool:
        """Return True if a name leads out of all permitted folders, even if no file exists."""
        places = list(self._places(name))
        return bool(places) and not any(place.is_inside() for place in places)

    def folder_of(self, names: Iterable[str]) -> str:
        """The folder whose permission would admit files that lead outside; ``FOLDER`` if none.

        It follows from the names alone, and says nothing of what is there.
        """
        paths = (next(place.path for place in self._places(name)) for name in names)
        try:
            found = os.path.commonpath([os.path.normpath(path.parent) for path in paths])
        except ValueError:  # on several drives
            return "FOLDER"
        return "FOLDER" if found == os.path.dirname(found) else found

    def holds(self, path: Path) -> bool:
        """Return True if a file that a mesh of the robot names is in a permitted folder."""
        return any(_Place(path, root, links).is_inside() for root, links in self._used.items())

    def _places(self, name: str) -> Iterator[_Place]:
        scheme = _SCHEME.match(name)
        rest = name[scheme.end() :] if scheme else name
        if not rest or "\0" in rest:
            return
        if scheme and scheme[1] == "package":
            yield from self._places_in_packages(rest)
        if Path(rest).is_absolute():
            yield from (_Place(Path(rest), root) for root in (self._home, *self._allowed))
            yield from (_Place(Path(rest), root, True) for root in _ros_roots())
            return
        for above in (self._folder, *self._folder.parents):
            if above.is_relative_to(self._home):
                yield _Place(above / rest, self._home)
        for folder in self._allowed:
            yield _Place(folder / rest, folder)
            yield _Place(self._folder / rest, folder)

    def _places_in_packages(self, rest: str) -> Iterator[_Place]:
        package, _, inside = rest.partition("/")
        if package in ("", ".", "..") or "\\" in package:
            return
        for root in _ros_roots():
            # Workspaces are full of links to sources, and the user named them.
            yield _Place(root / package / inside, root / package, True)
            yield _Place(root / "share" / package / inside, root / "share" / package, True)
        for above in (self._folder, *self._folder.parents):
            for folder in (above, above / package):
                if folder.name == package and (folder / _PACKAGE).is_file():
                    yield _Place(folder / inside, folder)
        for folder in self._allowed:
            if folder.name == package:
                yield _Place(folder / inside, folder)


def _ros_roots() -> list[Path]:
    values = [os.environ.get(key, "") for key in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")]
    parts = [part for value in values for part in value.split(os.pathsep) if part]
    return [Path(os.path.abspath(part)) for part in parts]


# --- Files that are not read ----------------------------------------------------------------------


class NamedFile(Struct, frozen=True, kw_only=True):
    """A file that a robot names and that is left out."""

    owner: str
    """The element that names it."""
    name: str
    where: str
    """Lines of the description."""
    what: str
    """The parts that are left out with it."""


def report_files(
    files: Sequence[NamedFile], folders: RobotFolders, diagnostics: Diagnostics
) -> None:
    """Report files that are missing, each, and those that lead outside, in one finding."""
    refused = [file for file in files if folders.is_outside(file.name)]
    for file in files:
        if file not in refused:
            diagnostics.report(
                ROBOT_FILE_MISSING, ROOT,
                owner=file.owner, got=repr(file.name[:120]), where=file.where, what=file.what,
            )  # fmt: skip
    if refused:
        first, others = refused[0], len(refused) - 1
        diagnostics.report(
            ROBOT_FILE_REFUSED, ROOT,
            owner=first.owner, got=repr(first.name[:120]), where=first.where,
            more=f", as do {others} others" if others else "",
            what=" and ".join(dict.fromkeys(file.what for file in refused)),
            folder=folders.folder_of(file.name for file in refused),
        )  # fmt: skip

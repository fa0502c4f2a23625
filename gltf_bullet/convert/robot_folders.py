"""Which files a robot may name: what is in its folder, in ROS packages, and where users allow it.

A robot that was downloaded must not copy other files of its user into what is made of it; a glTF
file may not either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["RobotFolders"]

_SCHEME: Final = re.compile(r"^(package|model|file)://")
_PACKAGE: Final = "package.xml"
"""What makes a folder a ROS package."""


class _Place(NamedTuple):
    """Where a file may be."""

    path: Path
    root: Path
    """The folder that it must not leave."""
    follows_links: bool = False
    """Whether links in that folder may lead elsewhere."""

    def is_inside(self) -> bool:
        try:
            if self.follows_links:
                return Path(os.path.normpath(self.path)).is_relative_to(self.root)
            return self.path.resolve().is_relative_to(self.root.resolve())
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links
            return False


class RobotFolders:
    """The folders of one robot, and the files in them by the names that it has for them."""

    def __init__(self, file: Path, allowed: Iterable[str | os.PathLike[str]] = ()) -> None:
        """Look around.

        Args:
            file: The description.
            allowed: Folders that the user lets it name files in.
        """
        self._folder = file.absolute().parent
        above = (self._folder, *self._folder.parents)
        self._home = next((a for a in above if (a / _PACKAGE).is_file()), self._folder)
        """What the robot came in: its package, or its folder."""
        self._allowed = tuple(Path(folder).absolute() for folder in allowed)
        self._used = dict.fromkeys((self._home, *self._allowed), False)
        """The folders that files were found in, and whether their links are followed."""

    def of(self, file: Path) -> RobotFolders:
        """The same for another file of the robot, which names files from where it is."""
        other = RobotFolders(file, self._allowed)
        other._home = self._home
        other._used = self._used
        return other

    def find(self, name: str) -> Path | None:
        """Where a file is that the robot names; ``None``: nowhere that it may name.

        Packages are found as ROS does; other names beside the description, or above it as far as
        its package reaches.
        """
        for place in self._places(name):
            if place.is_inside() and place.path.is_file():
                self._used[place.root] = place.follows_links
                return place.path
        return None

    def is_outside(self, name: str) -> bool:
        """Whether a name leads out of all folders, whatever is there."""
        places = list(self._places(name))
        return bool(places) and not any(place.is_inside() for place in places)

    def holds(self, path: Path) -> bool:
        """Whether a file that a mesh of the robot names is in a folder that it may name."""
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

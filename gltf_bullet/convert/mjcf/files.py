"""The text of an MJCF model with its includes written out, naming only permitted files.

Every attribute that MuJoCo takes for a file (its schema lists them) is replaced by a copy of that
file, or removed together with the elements that need it, so that MuJoCo opens nothing else. A
model must not copy other files of its user into the result; see ``robot_folders``.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.bounds import DESCRIPTION_FILES, MESH_FILE_BYTES
from gltf_bullet.convert.issues import ROBOT_INVALID
from gltf_bullet.convert.robot_folders import NamedFile, RobotFolders, report_files
from gltf_bullet.convert.robot_xml import (
    XmlElement,
    XmlError,
    escaped,
    parse_xml,
    places,
    read_text,
    written,
)
from gltf_bullet.convert.urdf_repairs import parse_robot
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

_FILES: Final = (
    "file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback",
)  # fmt: skip
_DIRECTORIES: Final = {
    "mesh": ("meshdir", "assetdir"),
    "flexcomp": ("meshdir", "assetdir"),
    "skin": ("assetdir", "meshdir"),
    "texture": ("texturedir", "assetdir"),
    "hfield": ("assetdir", "meshdir"),
}
"""Attributes of ``<compiler>`` that name the folders of an element's files, by element."""
_USERS: Final = {"mesh": "mesh", "hfield": "hfield", "model": "model"}
"""The attribute of other elements that names an element, by its tag."""
_PLACE: Final = "@gltf_bullet@"
"""Placeholder in the text for the folder that it will be written to."""
_DEEPEST: Final = 8
"""Most levels of models in models; MuJoCo needs no more."""


class MjcfText(Struct, frozen=True):
    """A text that MuJoCo can compile, and the files that it names."""

    text: str
    files: dict[str, Path | str] = msgspec_field(default_factory=dict)
    """Files by their name below the folder of the text; a text is that of another model."""

    def write(self, path: Path) -> None:
        """Write the text, and the files beside it."""
        folder = path.parent
        place = escaped(folder.as_posix())
        for name, content in self.files.items():
            target = folder / name
            target.parent.mkdir(exist_ok=True)
            if isinstance(content, str):
                target.write_text(content.replace(_PLACE, place), encoding="utf-8")
            else:
                shutil.copyfile(content, target)
        path.write_text(self.text.replace(_PLACE, place), encoding="utf-8")


def read_mjcf_text(
    path: str | os.PathLike[str], diagnostics: Diagnostics, folders: RobotFolders
) -> MjcfText:
    """Read a model, and report its files that are missing or refused.

    Raises:
        OSError: It cannot be read.
        ContainerError: It is no MJCF.
    """
    files: dict[str, Path | str] = {}
    text = _Reader(Path(path).absolute(), folders, files, diagnostics).read()
    return MjcfText(text, files)


class _Reader:
    """Reads one model; models that it attaches have readers of their own."""

    def __init__(
        self,
        path: Path,
        folders: RobotFolders,
        files: dict[str, Path | str],
        diagnostics: Diagnostics,
        depth: int = 0,
    ) -> None:
        self._path = path
        self._folders = folders
        self._files = files
        self._diagnostics = diagnostics
        self._depth = depth
        self._included = {path}
        self._lost: list[NamedFile] = []

    def read(self) -> str:
        root, _ = parse_robot(self._path, self._diagnostics)
        if root.tag != "mujoco":
            got = f"<{root.tag}> in {self._path.name}"
            self._diagnostics.report(
                ROBOT_INVALID, ROOT, where="line 1", got=got, allowed="<mujoco>"
            )
            raise ContainerError(str(self._path), self._diagnostics.issues)
        try:
            self._include(root, self._path)
            self._name_files(root)
        finally:
            report_files(self._lost, self._folders, self._diagnostics)
        return written(root)

    # --- includes -----------------------------------------------------------------------------

    def _include(self, root: XmlElement, path: Path) -> None:
        """Put the elements of its file in the place of each include."""
        for element in list(root.all_below()):
            if element.named("include"):
                children = []
                for child in element.children:
                    is_include = child.tag == "include"
                    children += self._included_elements(child, path) if is_include else [child]
                element.children = children
                for child in children:
                    child.parent = element

    def _included_elements(self, element: XmlElement, path: Path) -> list[XmlElement]:
        name = element.get("file")
        # MuJoCo looks beside the first file; the author means the folder of the including file.
        found = self._folders.find(name) or self._beside(path, name)
        if found is None:
            self._lose(element, name, "include")
            return []
        where = f"{path.name}, {places([element])}"
        if found in self._included:
            self._invalid(where, f"{name[:80]!r} is included twice", "included once")
        self._included.add(found)
        if len(self._included) > DESCRIPTION_FILES:
            self._invalid(where, "one more file", f"at most {DESCRIPTION_FILES} included files")
        try:
            root = parse_xml(read_text(found))
        except XmlError as error:
            self._invalid(f"{found.name}, line {error.line}", error.found, error.allowed)
        if root is None:
            return []
        self._include(root, found)
        return root.children

    def _beside(self, path: Path, name: str) -> Path | None:
        inside = os.path.relpath(path.parent, self._path.parent)
        return self._folders.find(os.path.normpath(os.path.join(inside, name))) if name else None

    def _invalid(self, where: str, got: str, allowed: str) -> None:
        self._diagnostics.report(ROBOT_INVALID, ROOT, where=where, got=got, allowed=allowed)
        raise ContainerError(str(self._path), self._diagnostics.issues)

    # --- files --------------------------------------------------------------------------------

    def _name_files(self, root: XmlElement) -> None:
        """Name copies of files; leave out elements whose file is missing, and their users."""
        compilers = root.named("compiler")
        stated: dict[str, str] = {
            name: compiler.get(name)
            for compiler in compilers
            for name in ("meshdir", "texturedir", "assetdir", "strippath")
            if name in compiler.attributes
        }
        for compiler in compilers:
            for name in ("meshdir", "texturedir", "assetdir", "strippath"):
                if name in compiler.attributes:
                    compiler.attributes[name] = "false" if name == "strippath" else ""
        lost: dict[str, set[str]] = {}
        for element in root.all_below():
            named = [name for name in _FILES if element.get(name)]
            copies = {name: self._copy(element, element.get(name), stated) for name in named}
            if None in copies.values():
                stem = Path(element.get(named[0])).stem
                if element.tag == "texture":
                    element.attributes = _white(element.name or stem)
                else:
                    element.is_left_out = True
                lost.setdefault(element.tag, set()).add(element.name or stem)
                continue
            for name, copy in copies.items():
                element.attributes[name] = f"{_PLACE}/{copy}"
        if lost:
            _leave_out_users(root, lost)

    def _copy(self, element: XmlElement, name: str, stated: dict[str, str]) -> str | None:
        """The name of the copy of a file; ``None`` if it was reported as missing or refused."""
        plain = os.path.basename(name) if stated.get("strippath") == "true" else name
        directories = [stated[key] for key in _DIRECTORIES.get(element.tag, ()) if stated.get(key)]
        names = [os.path.join(directory, plain) for directory in [*directories[:1], ""]]
        found = next(filter(None, map(self._folders.find, names)), None)
        if found is None:
            shown = next(filter(self._folders.is_outside, names), plain)
            self._lose(element, shown, element.tag)
            return None
        size = found.stat().st_size
        if size > MESH_FILE_BYTES:
            what = f"{found.name[:80]!r} with {size} bytes"
            self._invalid(places([element]), what, f"at most {MESH_FILE_BYTES}")
        # Elements without a name are named like their files.
        copy = f"file{len(self._files)}/{re.sub(r'[^ -~]', '_', found.name)}"
        self._files[copy] = found
        if element.tag == "model":
            if self._depth >= _DEEPEST:
                self._invalid(places([element]), "models in models in models", "fewer")
            reader = _Reader(
                found, self._folders.of(found), self._files, self._diagnostics, self._depth + 1
            )
            self._files[copy] = reader.read()
        return copy

    def _lose(self, element: XmlElement, name: str, what: str) -> None:
        owner = f"<{element.tag}>" + (f" {element.name!r}" if element.name else "")
        self._lost.append(NamedFile(owner=owner, name=name, where=places([element]), what=what))


def _white(name: str) -> dict[str, str]:
    """A texture that changes no colour, for materials that name one without a file."""
    size = {"width": "1", "height": "1"}
    return {"name": name, "type": "2d", "builtin": "flat", "rgb1": "1 1 1", **size}


def _leave_out_users(root: XmlElement, lost: dict[str, set[str]]) -> None:
    """Leave out geoms and other elements whose mesh, height field or model is lost."""
    for element in root.all_below():
        is_used = any(element.get(name) in lost.get(tag, ()) for tag, name in _USERS.items())
        if is_used and element.parent is not None:
            element.is_left_out = True

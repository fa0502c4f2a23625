"""The layers of a stage, each looked at before it is composed with others.

A layer may name any file of the machine as a reference, a payload, a sublayer or a value clip, and
composing opens it. So the layers are opened one by one, what leads out of the folders of the file
is removed from the layer in memory, and only then the stage is composed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pxr import Ar, Sdf, Usd

from gltf_bullet.bounds import DESCRIPTION_BYTES, DESCRIPTION_FILES
from gltf_bullet.convert.issues import (
    ROBOT_FILE_MISSING,
    ROBOT_FILE_REFUSED,
    ROBOT_FILE_UNREADABLE,
)
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.convert.usd.losses import Losses

_CLIPS: Final = ("clips", "clipSets")


class StageError(ValueError):
    """The reason why a stage cannot be read."""


def open_stage(
    path: Path, folders: RobotFolders, losses: Losses, more_time: Callable[[int], None]
) -> Any:
    """Compose the stage of a file.

    Args:
        path: The file.
        folders: Folders that its layers may name files in.
        losses: Receives the files that are missing or refused.
        more_time: Is called with the size of each layer [bytes] before it is opened.

    Raises:
        StageError: It is no stage, or composes to a file that was not looked at.
    """
    layers = _Layers(path, folders, losses, more_time)
    root = layers.open_all()
    # What nobody holds is opened anew, as it is on disk: the layers live until all are composed.
    stage = Usd.Stage.Open(root)
    del layers
    for layer in stage.GetUsedLayers():
        # A second look: nothing was composed that was not opened above.
        real = layer.realPath
        if real and folders.find(outer_path(real)) is None:
            raise StageError(f"it composes {Path(outer_path(real)).name!r} from another folder")
    return stage


def outer_path(identifier: str) -> str:
    """The file of a layer: the archive for one within a ``.usdz``, without arguments of formats."""
    plain, _ = Sdf.Layer.SplitIdentifier(identifier)
    outer, _ = Ar.SplitPackageRelativePathOuter(plain)
    return str(outer or plain)


class _Layers:
    """Opens the layers that a file names, one by another."""

    def __init__(
        self, path: Path, folders: RobotFolders, losses: Losses, more_time: Callable[[int], None]
    ) -> None:
        self._path = path
        self._folders = folders
        self._losses = losses
        self._more_time = more_time
        self._kept: list[Any] = []

    def open_all(self) -> Any:
        root = self._open(str(self._path))
        if root is None:
            raise StageError("OpenUSD does not read it")
        waiting, seen = [root], {root.identifier}
        while waiting:
            layer = waiting.pop()
            for name in layer.GetCompositionAssetDependencies():
                other = self._named(layer, name) if name else None
                if other is None:
                    if name:
                        layer.UpdateCompositionAssetDependency(name, "")
                elif other.identifier not in seen:
                    seen.add(other.identifier)
                    waiting.append(other)
                    if len(seen) > DESCRIPTION_FILES:
                        raise StageError(f"it has more than {DESCRIPTION_FILES} layers")
            self._remove_clips(layer)
        return root

    def _open(self, identifier: str) -> Any:
        size = os.path.getsize(outer_path(identifier))
        if size > DESCRIPTION_BYTES and not outer_path(identifier).endswith(".usdz"):
            raise StageError(f"a layer has {size} bytes; must be up to {DESCRIPTION_BYTES}")
        self._more_time(size)
        layer = Sdf.Layer.FindOrOpen(identifier)
        if layer is not None:
            self._kept.append(layer)
        return layer

    def _named(self, layer: Any, name: str) -> Any:
        """The layer that another names; ``None`` if it must not be composed."""
        if name.startswith("`"):
            self._losses.lost("a file name that is an expression", layer.GetDisplayName())
            return None
        identifier = Sdf.ComputeAssetPathRelativeToLayer(layer, name)
        outer = outer_path(identifier)
        if self._folders.find(outer) is None:
            shown = self._folders.is_outside(outer)
            if shown:
                folder = self._folders.folder_of([outer])
                self._report(ROBOT_FILE_REFUSED, layer, name, more="", folder=folder)
            else:
                self._report(ROBOT_FILE_MISSING, layer, name)
            return None
        try:
            found = self._open(identifier)
        except (RuntimeError, OSError) as error:
            self._report(ROBOT_FILE_UNREADABLE, layer, name, why=_short(error))
            return None
        if found is None:
            self._report(ROBOT_FILE_UNREADABLE, layer, name, why="it is no layer")
        return found

    def _report(self, kind: Any, layer: Any, name: str, **values: object) -> None:
        self._losses.add(
            kind, owner=f"layer {layer.GetDisplayName()!r}", got=repr(name[:120]),
            where="a reference, payload or sublayer", what="prims", **values,
        )  # fmt: skip

    def _remove_clips(self, layer: Any) -> None:
        """Value clips name files that are opened when a value is asked for."""

        def look(path: Any) -> None:
            prim: Any = layer.GetPrimAtPath(path) if path.IsPrimPath() else None
            for key in _CLIPS if prim else ():
                if prim.HasInfo(key):
                    prim.ClearInfo(key)
                    if key == _CLIPS[0]:
                        self._losses.lost("the value clips", str(path))

        layer.Traverse(Sdf.Path.absoluteRootPath, look)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]

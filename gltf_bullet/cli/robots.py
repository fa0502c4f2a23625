"""Robots in the place of glTF files: every command takes what ``convert`` makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from gltf_bullet.runtime.asset import Asset

__all__ = ["FixedBaseOption", "is_robot", "path_of_gltf", "read_source"]

FixedBaseOption: TypeAlias = Annotated[
    bool, typer.Option("--fixed-base", help="A URDF's base stands still.")
]


def is_robot(path: Path) -> bool:
    """Whether a file is for ``convert`` first: a .urdf, .sdf or MJCF .xml."""
    from gltf_bullet.convert.robot_files import ROBOT_SUFFIXES

    return path.suffix.lower() in ROBOT_SUFFIXES


def read_source(path: Path, *, fixed_base: bool = False) -> Asset:
    """A glTF file, or a robot as the glTF that ``convert`` makes of it."""
    from gltf_bullet.runtime.asset import read_asset

    if not is_robot(path):
        return read_asset(path)
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.runtime.world_export import robot_file

    return robot_file(path, Diagnostics(), fixed_base=fixed_base)[1]


@contextmanager
def path_of_gltf(path: Path, *, fixed_base: bool = False) -> Iterator[Path]:
    """The path itself, or of a robot's glTF that lasts as long as the context."""
    if not is_robot(path):
        yield path
        return
    import tempfile

    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.runtime.world_export import robot_file

    with tempfile.TemporaryDirectory(prefix="gltf_bullet_") as folder:
        target = Path(folder) / f"{path.stem}.glb"
        robot_file(path, Diagnostics(), fixed_base=fixed_base)[0].write(target)
        yield target

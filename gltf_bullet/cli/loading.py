"""``--concave``, robots in the place of glTF, and the line that shows what a load is busy with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from gltf_bullet.options import LoadOptions
    from gltf_bullet.runtime.asset import Asset

__all__ = [
    "Concave",
    "ConcaveOption",
    "FixedBaseOption",
    "is_robot",
    "load_options",
    "path_of_gltf",
    "read_source",
]

FixedBaseOption: TypeAlias = Annotated[
    bool, typer.Option("--fixed-base", help="A URDF's base stands still.")
]


class Concave(str, Enum):
    """What moving concave meshes become; see ``LoadOptions.concave``."""

    AUTO = "auto"
    DECOMPOSE = "decompose"
    HULL = "hull"
    BVH = "bvh"


ConcaveOption: TypeAlias = Annotated[
    Concave,
    typer.Option(
        help="Moving concave meshes. auto: triangles where that collides well, else convex parts; "
        "decompose: convex parts; hull: one convex hull, at once; bvh: triangles."
    ),
]


@contextmanager
def load_options(concave: Concave, **values: Any) -> Iterator[LoadOptions]:
    """The options of a load; a line on standard error says what takes seconds, on a terminal."""
    from rich.progress import Progress

    from gltf_bullet.cli.output import console
    from gltf_bullet.options import LoadOptions

    out = console(err=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def show(what: str, share: float) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what[:1].upper() + what[1:], total=1.0)
            bars.update(tasks[what], completed=share)

        yield LoadOptions(concave=concave.value, progress=show, **values)


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

"""``--concave`` and the line that shows what a load is busy with: the same for every command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from gltf_bullet.options import LoadOptions

__all__ = ["Concave", "ConcaveOption", "load_options"]


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

"""Options of loading a file and of the world, which are the same for all commands."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gltf_bullet.options import LoadOptions
    from gltf_bullet.transforms import Vec3

DEFAULT_DT = 1.0 / 240.0
"""PyBullet's default time step [s]."""
EARTH = 9.81
"""Gravity of the Earth [m/s^2]."""


class Concave(str, Enum):
    """Treatment of moving concave meshes; see ``LoadOptions.concave``."""

    AUTO = "auto"
    DECOMPOSE = "decompose"
    HULL = "hull"
    BVH = "bvh"


class Gravity(str, Enum):
    """Source of the world's gravity; see ``LoadOptions.world_gravity``."""

    FILE = "file"
    ENGINE = "engine"


class Play(str, Enum):
    """Ends of animations; see ``LoadOptions.loop_animations``."""

    LOOP = "loop"
    ONCE = "once"


class Up(str, Enum):
    """Axis of the world that points up."""

    Z = "z"
    Y = "y"


LOADING: dict[str, tuple[Any, Any]] = {
    "concave": (
        Annotated[
            Concave,
            typer.Option(
                help="Moving concave meshes. auto: triangles where that collides well, else convex "
                "parts; decompose: convex parts; hull: one convex hull, at once; bvh: triangles."
            ),
        ],
        Concave.AUTO,
    ),
    "density": (
        Annotated[float, typer.Option(help="Of bodies without a mass [kg/m3].")],
        1000.0,
    ),
    "strict": (
        Annotated[bool, typer.Option("--strict", help="Refuse what would be approximated.")],
        False,
    ),
    "max_hull_points": (Annotated[int, typer.Option(help="Of a convex hull.")], 1024),
    "max_convex_parts": (Annotated[int, typer.Option(help="Of one decomposed mesh.")], 32),
    "decomposition_threshold": (
        Annotated[float, typer.Option(help="Concavity to tolerate, by the mesh's size.")],
        0.05,
    ),
    "decomposition_seconds": (
        Annotated[float, typer.Option(help="Watchdog of each concave mesh [s].")],
        30.0,
    ),
    "fine_search_parts": (
        Annotated[int, typer.Option(help="Coarse parts up to which a finer search is made.")],
        6,
    ),
    "world_gravity": (
        Annotated[Gravity, typer.Option(help="Where the file states one (OMI): whose acts.")],
        Gravity.FILE,
    ),
    "slip_friction": (
        Annotated[bool, typer.Option(help="Static friction at rest, dynamic while sliding.")],
        True,
    ),
    "play_animations": (Annotated[bool, typer.Option(help="Run the file's animations.")], True),
    "play": (
        Annotated[Play, typer.Option(help="loop: animations start over; once: they end.")],
        Play.LOOP,
    ),
}
"""Type and default of each option, by its name in ``LoadOptions``; ``play`` is
``loop_animations``."""

WORLD: dict[str, tuple[Any, Any]] = {
    "dt": (
        Annotated[float, typer.Option(help="Time step [s].  [default: 1/240]", show_default=False)],
        DEFAULT_DT,
    ),
    "gravity": (
        Annotated[
            tuple[float, float, float] | None,
            typer.Option(
                metavar="X Y Z",
                help=f"In the world [m/s2].  [default: {EARTH:g} downwards]",
                show_default=False,
            ),
        ],
        None,
    ),
    "up_axis": (
        Annotated[Up, typer.Option(help="z: turn the asset up into a Z-up world; y: glTF's axes.")],
        Up.Z,
    ),
}


@dataclass(frozen=True, slots=True)
class Loading:
    """Values of the options of loading."""

    values: dict[str, Any]
    """Values by the names of ``LoadOptions``."""

    @contextmanager
    def options(self, **values: Any) -> Iterator[LoadOptions]:
        """The options of a load; work that takes more than a second is shown meanwhile."""
        from gltf_bullet.cli.waiting import waiting
        from gltf_bullet.options import LoadOptions

        with waiting("loading") as show:
            yield LoadOptions(**{**self.values, "progress": show, **values})

    def load_options(self) -> LoadOptions:
        """The options without a display of progress."""
        from gltf_bullet.options import LoadOptions

        return LoadOptions(**self.values)


@dataclass(frozen=True, slots=True)
class World(Loading):
    """Values of the options of loading and of the world."""

    dt: float
    """Time step [s]."""
    gravity: Vec3
    """Gravity [m/s^2] in the axes of the world."""
    up_axis: Any
    """Up axis of the world, ``"z"`` or ``"y"``."""


def takes_loading(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :data:`LOADING`, together as its argument ``loading``."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        loading = Loading(load_values(given))
        command(**given, loading=loading)

    return _with_options(run, command, "loading", LOADING)


def takes_world(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options :data:`LOADING` and :data:`WORLD`, as its argument ``world``."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        dt, gravity, up = (given.pop(name) for name in WORLD)
        require(0.0 < dt <= 1.0, "--dt", "in 0 .. 1 s")
        if gravity is None:
            gravity = (0.0, 0.0, -EARTH) if up is Up.Z else (0.0, -EARTH, 0.0)
        require(all(map(math.isfinite, gravity)), "--gravity", "three finite numbers")
        world = World(load_values(given), dt=dt, gravity=gravity, up_axis=up.value)
        command(**given, world=world)

    return _with_options(run, command, "world", {**WORLD, **LOADING})


def load_values(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of loading from ``given``; a usage error if one is out of range.

    Returns:
        Their values by the names of ``LoadOptions``.
    """
    from gltf_bullet.options import LoadOptions

    values = {name: given.pop(name) for name in LOADING}
    values["loop_animations"] = values.pop("play") is Play.LOOP
    values = {name: v.value if isinstance(v, Enum) else v for name, v in values.items()}
    try:
        LoadOptions(**values)
    except ValueError as error:
        name, _, rest = str(error).partition(" ")
        option = f"--{name.replace('_', '-')}" if name in LOADING else None
        raise typer.BadParameter(rest if option else str(error), param_hint=option) from None
    return values


def _with_options(
    run: Callable[..., None],
    command: Callable[..., None],
    replaced: str,
    options: dict[str, tuple[Any, Any]],
) -> Callable[..., None]:
    """Replace parameter ``replaced`` of ``command`` by ``options`` in the signature for typer."""
    signature = inspect.signature(command, eval_str=True)
    parameters = [p for p in signature.parameters.values() if p.name != replaced]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def require(good: bool, option: str, allowed: str) -> None:
    """End with a usage error if an option is invalid."""
    if not good:
        raise typer.BadParameter(f"must be {allowed}", param_hint=option)


def parse_size(text: str, smallest: int) -> tuple[int, int]:
    """Width and height [pixels] from ``800x600``, or a usage error."""
    width, _, height = text.lower().partition("x")
    good = width.isdecimal() and height.isdecimal()
    good = good and all(smallest <= int(pixels) <= 8192 for pixels in (width, height))
    require(good, "--size", f"like 800x600, in {smallest} .. 8192 pixels")
    return int(width), int(height)

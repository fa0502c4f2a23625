"""``gltf-bullet view``: a file in PyBullet's window, with everything that its physics does."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from gltf_bullet.cli.loading import FixedBaseOption, path_of_gltf
from gltf_bullet.cli.simulate import DEFAULT_DT, require
from gltf_bullet.viewer.keys import LAYERS, key_lines

__all__ = ["view"]


class Up(str, Enum):
    """Which axis of the world points up."""

    Z = "z"
    Y = "y"


class Visuals(str, Enum):
    """What bodies look like."""

    AUTO = "auto"
    MESH = "mesh"
    COLLIDER = "collider"


def view(
    file: Annotated[
        Path, typer.Argument(help="A .gltf or .glb file, or a robot: .urdf, .sdf, MJCF .xml.")
    ],
    show: Annotated[
        str,
        typer.Option(
            help="Layers to begin with, comma-separated: colliders, triggers, joints, inertia, "
            "velocities, contacts, names; or all, none."
        ),
    ] = "joints,triggers",
    up_axis: Annotated[
        Up, typer.Option(help="z: turn the asset up into a Z-up world; y: keep glTF's axes.")
    ] = Up.Z,
    visuals: Annotated[
        Visuals, typer.Option(help="auto: the file's meshes, or colliders where it has none.")
    ] = Visuals.AUTO,
    paused: Annotated[bool, typer.Option("--paused", help="Begin with time standing.")] = False,
    speed: Annotated[float, typer.Option(help="Simulated seconds per second.")] = 1.0,
    dt: Annotated[float, typer.Option(help="Time step [s].")] = DEFAULT_DT,
    gravity: Annotated[float, typer.Option(help="Downwards [m/s2].")] = 9.81,
    fixed_base: FixedBaseOption = False,
    floor: Annotated[bool, typer.Option("--floor", help="Put a floor at height 0.")] = False,
    size: Annotated[
        tuple[int, int], typer.Option(help="Width and height of the window [pixels].")
    ] = (1280, 800),
    seconds: Annotated[
        float, typer.Option(min=0.0, help="Close the window after this time [s].")
    ] = math.inf,
) -> None:
    """Show a file in a window: drag bodies, move drives, see what the physics does.

    The file is read again when it changes; what is wrong with it is shown, and the last good scene
    stays. Needs a display: under xvfb-run without one.

    Example: gltf-bullet view examples/assets/six_axis_arm.gltf
    """
    require(math.isfinite(speed) and speed >= 0.0, "--speed", "a finite number, not negative")
    require(0.0 < dt <= 1.0, "--dt", "in 0 .. 1 s")
    require(math.isfinite(gravity), "--gravity", "a finite number")
    require(all(64 <= pixels <= 8192 for pixels in size), "--size", "in 64 .. 8192 pixels")
    from gltf_bullet.viewer.program import view as run

    every = {"all": LAYERS, "none": ()}
    names = every[show] if show in every else tuple(show.split(","))
    require(set(names) <= set(LAYERS), "--show", f"of {', '.join(LAYERS)}, all, none")
    with path_of_gltf(file, fixed_base=fixed_base) as path:
        run(
            path,
            up_axis=up_axis.value,
            gravity=(0.0, 0.0, -gravity) if up_axis is Up.Z else (0.0, -gravity, 0.0),
            time_step=dt,
            speed=speed,
            play=not paused,
            visuals=visuals.value,
            show=names,
            floor=floor,
            size=size,
            seconds=seconds,
            say=typer.echo,
        )


# Lines that stand as they are: click takes this mark for "do not wrap".
view.__doc__ = f"{view.__doc__}\n\n    \b\n    Keys in the window:\n" + "\n".join(
    f"    {line}" for line in key_lines()
)

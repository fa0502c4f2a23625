"""``gltf-bullet view``: a file in PyBullet's window or in a browser, with its physics."""

from __future__ import annotations

import math
import os
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from gltf_bullet.cli.loading import World, parse_size, require, takes_world
from gltf_bullet.cli.robots import AllowOption, FixedBaseOption, path_of_gltf
from gltf_bullet.viewer.keys import LAYERS, key_lines


class Visuals(str, Enum):
    """Appearance of bodies."""

    AUTO = "auto"
    MESH = "mesh"
    COLLIDER = "collider"


@takes_world
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
    visuals: Annotated[
        Visuals,
        typer.Option(
            help="auto: the file's meshes, or colliders where something that moves has none."
        ),
    ] = Visuals.AUTO,
    paused: Annotated[bool, typer.Option("--paused", help="Begin with time standing.")] = False,
    speed: Annotated[float, typer.Option(help="Simulated seconds per second.")] = 1.0,
    fixed_base: FixedBaseOption = False,
    allow: AllowOption = None,
    floor: Annotated[bool, typer.Option("--floor", help="Put a floor at height 0.")] = False,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Width and height of the window [pixels].")
    ] = "1280x800",
    web: Annotated[
        bool, typer.Option("--web", help="Show it in the browser; needs no display.")
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Of --web; 127.0.0.1 is open to this machine alone, 0.0.0.0 to whoever reaches it "
            "and knows the address that is printed."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of --web; 0 takes any that is free.")
    ] = 8080,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="Close the window after this time [s].")
    ] = math.inf,
    *,
    world: World,
) -> None:
    """Show a file in a window or, with --web, in the browser.

    Drag bodies, move drives, see what the physics does.

    The file is read again when it changes; what is wrong with it is shown, and the last good scene
    stays. The window needs a display; --web does not.

    Example: gltf-bullet view examples/assets/six_axis_arm.gltf
    """
    require(math.isfinite(speed) and speed >= 0.0, "--speed", "a finite number, not negative")
    pixels = parse_size(size, smallest=64)
    every = {"all": LAYERS, "none": ()}
    names = every[show] if show in every else tuple(show.split(","))
    require(set(names) <= set(LAYERS), "--show", f"of {', '.join(LAYERS)}, all, none")
    from gltf_bullet.cli.output import say, say_error
    from gltf_bullet.viewer.session import ViewOptions

    if not os.path.exists(file):
        raise FileNotFoundError(2, "no such file", os.fspath(file))
    options = ViewOptions(
        load=world.load_options(),
        up_axis=world.up_axis,
        gravity=world.gravity,
        time_step=world.dt,
        speed=speed,
        play=not paused,
        visuals=visuals.value,
        show=names,
        floor=floor,
        seconds=seconds,
    )
    if web:
        from gltf_bullet.viewer.web.program import view_web

        try:
            with path_of_gltf(file, fixed_base=fixed_base, allow=allow) as path:
                view_web(path, options, host=host, port=port, say=say)
        except ImportError as error:
            say_error(error)
            raise typer.Exit(2) from None
        return
    from gltf_bullet.viewer.program import view as run

    with path_of_gltf(file, fixed_base=fixed_base, allow=allow) as path:
        run(path, options, size=pixels, say=say)


# click takes this mark for "do not wrap", so that the lines stay as they are.
view.__doc__ = f"{view.__doc__}\n\n    \b\n    Keys in the window:\n" + "\n".join(
    f"    {line}" for line in key_lines()
)

"""Robots in place of glTF files: every command accepts what ``convert`` can read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from gltf_bullet.printable import printable
from gltf_bullet.private_folders import scratch_folder

if TYPE_CHECKING:
    from gltf_bullet.convert.servo import Servo
    from gltf_bullet.runtime.asset import Asset

FixedBaseOption: TypeAlias = Annotated[
    bool, typer.Option("--fixed-base", help="A URDF's base stands still.")
]
AllowOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow",
        metavar="FOLDER",
        help="A folder that a robot may name files in, besides its own and ROS packages; "
        "several times for several.",
    ),
]


ServoOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--servo",
        metavar="KP,KD",
        help="Gains [1/s2, 1/s] that hold axes with limits and efforts; none: as the robot's file "
        "says.  [default: 10000,200; MJCF: none]",
        show_default=False,
    ),
]


def parse_servo(text: str | None, path: Path) -> Servo | None:
    """The gains of ``--servo``, or a usage error; by default those that hold an arm."""
    from gltf_bullet.convert.servo import default_servo

    if text is None:
        return default_servo(path)
    if text == "none":
        return None
    try:
        stiffness, damping = map(float, text.split(","))
    except ValueError:
        stiffness = damping = math.nan
    good = 0.0 < stiffness < math.inf and 0.0 <= damping < math.inf
    if not good:
        raise typer.BadParameter(
            f"{printable(text)}: must be two numbers like 10000,200, or none", param_hint="--servo"
        )
    return stiffness, damping


def is_robot(path: Path) -> bool:
    """Return True if a file must be converted first: a .urdf, .sdf, MJCF .xml or a USD stage."""
    from gltf_bullet.convert import ROBOT_SUFFIXES
    from gltf_bullet.convert.usd import USD_SUFFIXES

    return path.suffix.lower() in (*ROBOT_SUFFIXES, *USD_SUFFIXES)


def require_urdf(path: Path, option: str, wanted: bool) -> None:
    """End with a usage error if an option is given that does not apply to the file."""
    if wanted and path.suffix.lower() != ".urdf":
        raise typer.BadParameter(f"says nothing of {printable(path)}", param_hint=option)


def read_source(
    path: Path, *, fixed_base: bool = False, allow: Sequence[Path] | None = None
) -> Asset:
    """The asset of a glTF file, or of a converted robot, with the issues of its conversion."""
    from gltf_bullet.runtime.asset import read_asset

    require_urdf(path, "--fixed-base", fixed_base)
    if not is_robot(path):
        return read_asset(path)
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.records import replace
    from gltf_bullet.runtime.world_export import robot_file

    diagnostics = Diagnostics()
    servo = parse_servo(None, path)
    asset = robot_file(path, diagnostics, fixed_base=fixed_base, allowed=allow or (), servo=servo)[
        1
    ]
    diagnostics.extend(asset.issues)
    document = replace(asset.document, path=str(path))
    return replace(asset, path=str(path), document=document, issues=diagnostics.issues)


@contextmanager
def path_of_gltf(
    path: Path, *, fixed_base: bool = False, allow: Sequence[Path] | None = None
) -> Iterator[Path]:
    """The path itself, or that of a robot's glTF, which exists as long as the context.

    Losses of the conversion are printed.
    """
    require_urdf(path, "--fixed-base", fixed_base)
    if not is_robot(path):
        yield path
        return
    import tempfile

    from gltf_bullet.cli.output import console, print_issues
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.runtime.world_export import robot_file

    diagnostics = Diagnostics()
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
        target = Path(folder) / f"{path.stem}.glb"
        servo = parse_servo(None, path)
        file, _ = robot_file(
            path, diagnostics, fixed_base=fixed_base, allowed=allow or (), servo=servo
        )
        file.write(target)
        if len(diagnostics):
            print_issues(console(), diagnostics.issues)
        yield target

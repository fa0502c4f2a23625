"""``gltf-bullet convert``: physics of any dialect, and robots, as current KHR extensions."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gltf_bullet.cli.robots import (
    AllowOption,
    FixedBaseOption,
    ServoOption,
    is_robot,
    parse_servo,
    require_urdf,
)
from gltf_bullet.output_files import require_another_file
from gltf_bullet.printable import printable

if TYPE_CHECKING:
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.runtime.asset import Asset
    from gltf_bullet.runtime.content import AssetContent


class Target(enum.Enum):
    """Forms of physics that a file can be converted to."""

    KHR = "khr"
    GLTF_2_1 = "gltf-2.1"


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN", help="A .gltf or .glb, a robot: .urdf, .sdf, MJCF .xml, or a USD stage."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="The file to write: .gltf, .glb, .usd, .usda, .usdc or .usdz."
        ),
    ],
    to: Annotated[
        Target,
        typer.Option(
            "--to",
            help="khr: KHR_physics_rigid_bodies over KHR_implicit_shapes; gltf-2.1: over the core "
            "shapes of the glTF 2.1 draft.",
        ),
    ] = Target.KHR,
    force: Annotated[
        bool, typer.Option("--force", help="Write over the file that was read, too.")
    ] = False,
    fixed_base: FixedBaseOption = False,
    allow: AllowOption = None,
    self_collision: Annotated[
        bool, typer.Option("--self-collision", help="Links of one robot touch each other.")
    ] = False,
    inertia_from_file: Annotated[
        bool,
        typer.Option(
            "--inertia-from-file",
            help="The inertias that the URDF states; else, as loadURDF does, its shapes'.",
        ),
    ] = False,
    keyframe: Annotated[
        str | None,
        typer.Option("--keyframe", help="Name or number of the keyframe of an MJCF to start at."),
    ] = None,
    servo: ServoOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the issues as JSON.")] = False,
) -> None:
    """Rewrite a file's physics as current KHR extensions, in a file that needs no other.

    Buffers and image files are taken in: data URIs in .gltf, the binary chunk in .glb. A robot
    becomes the nodes, joints, colliders and meshes that PyBullet makes of it; an MJCF those that
    MuJoCo compiles. It may name files in its folder or package, in packages beside it and of
    ROS_PACKAGE_PATH, and in those of --allow.

    USD stages are read and written with OpenUSD (pip install 'gltf_bullet[usd]'): bodies, joints,
    drives, materials and filters of UsdPhysics; animations become time samples.

    Example: gltf-bullet convert old.glb new.glb --to khr

    Example: gltf-bullet convert robot.urdf robot.glb --fixed-base

    Example: gltf-bullet convert robot.usda robot.glb

    Example: gltf-bullet convert scene.glb scene.usda
    """
    from gltf_bullet.convert.usd import USD_SUFFIXES

    if target.suffix.lower() not in (".gltf", ".glb", *USD_SUFFIXES):
        allowed = "must end in .gltf, .glb, .usd, .usda, .usdc or .usdz"
        raise typer.BadParameter(f"{printable(target)} {allowed}", param_hint="OUT")
    to_stage = target.suffix.lower() in USD_SUFFIXES
    if to_stage and to is not Target.KHR:
        raise typer.BadParameter(f"says nothing of {printable(target)}", param_hint="--to")
    if target.is_dir():
        raise typer.BadParameter(f"{printable(target)} is a folder", param_hint="OUT")
    require_another_file(source, target, force=force, by="--force")
    require_urdf(source, "--fixed-base", fixed_base)
    require_urdf(source, "--inertia-from-file", inertia_from_file)
    is_model = is_robot(source) and source.suffix.lower() not in USD_SUFFIXES
    for option, is_given in (
        ("--keyframe", keyframe is not None),
        ("--self-collision", self_collision),
        ("--servo", servo is not None),
    ):
        if is_given and not is_model:
            raise typer.BadParameter(f"says nothing of {printable(source)}", param_hint=option)
    gains = parse_servo(servo, source)
    from gltf_bullet.cli.output import console, issue_rows, plain, print_issues, print_json
    from gltf_bullet.cli.waiting import waiting
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.errors import AssetError
    from gltf_bullet.gltf.writing import write_document

    diagnostics = Diagnostics()
    masses = ""
    asset: AssetContent
    try:
        if is_robot(source):
            from gltf_bullet.runtime.world_export import robot_file

            with waiting(f"Reading {printable(source.name)}, its meshes and their hulls"):
                file, robot = robot_file(
                    source,
                    diagnostics,
                    fixed_base=fixed_base,
                    self_collision=self_collision,
                    inertia_from_file=inertia_from_file,
                    keyframe=keyframe,
                    allowed=allow or (),
                    servo=gains,
                )
            root, buffers = file.root, file.buffers
            asset, masses = robot, _masses(source, robot)
        elif to_stage:
            asset = _usable(source, diagnostics)
        else:
            root, buffers = _rewritten(source, diagnostics)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--keyframe") from None
    except AssetError as error:
        if as_json:
            print_json({"written": None, "to": to.value, "issues": issue_rows(error.issues)})
        raise
    written = "usd" if to_stage else to.value
    if to_stage:
        from gltf_bullet.runtime.world_export import write_usd

        with waiting(f"Writing {printable(target.name)}"):
            write_usd(asset, target, diagnostics)
    if to is Target.GLTF_2_1:
        from gltf_bullet.dialects.khr.core_shapes import with_core_shapes

        root = with_core_shapes(root, diagnostics)
    if not to_stage:
        write_document(root, buffers, target)
    if as_json:
        print_json({"written": str(target), "to": written, "issues": issue_rows(diagnostics)})
    else:
        out = console()
        if len(diagnostics):
            print_issues(out, diagnostics.issues)
        out.print(plain(f"{target} written. {_lost(diagnostics)}{masses}"), soft_wrap=True)
    if diagnostics.has_errors:
        raise typer.Exit(1)


def _masses(source: Path, asset: Asset) -> str:
    """A sentence on the mass that the file of a robot states and the mass of the result."""
    from gltf_bullet.convert.urdf_repairs import stated_mass
    from gltf_bullet.convert.usd import USD_SUFFIXES

    is_stage = source.suffix.lower() in USD_SUFFIXES
    stated = None if is_stage else stated_mass(source)
    used = sum(motion.mass or 0.0 for motion in asset.physics.motions.values())
    if stated is None:
        return f" Mass of what moves: {used:.4g} kg."
    return f" Mass: {stated:.4g} kg stated, {used:.4g} kg of what moves."


def _lost(diagnostics: Diagnostics) -> str:
    """One line about the properties that were lost; empty if there are none."""
    from collections import Counter

    from gltf_bullet.diagnostics import Severity

    counts = Counter(i.code for i in diagnostics if i.severity is not Severity.INFO)
    if not counts:
        return "Nothing was lost."
    return "Lost or changed: " + ", ".join(f"{n} x {code}" for code, n in counts.items()) + "."


def _usable(source: Path, diagnostics: Diagnostics) -> AssetContent:
    """Read a glTF file; its findings are reported."""
    from gltf_bullet.runtime.content import read_usable

    asset = read_usable(source)
    diagnostics.extend(list(asset.issues))
    return asset


def _rewritten(
    source: Path, diagnostics: Diagnostics
) -> tuple[dict[str, Any], list[bytes | memoryview | None]]:
    """The root of a glTF file with its physics rewritten, and its buffers."""
    from gltf_bullet.dialects.khr.writer import write_physics
    from gltf_bullet.gltf.writing import self_contained

    asset = _usable(source, diagnostics)
    embedded, buffers = self_contained(asset.document, diagnostics)
    root = write_physics(asset.document, asset.physics, diagnostics)
    # The two change different members of the root.
    for key in ("images", "bufferViews", "buffers"):
        if key in embedded:
            root[key] = embedded[key]
        else:
            root.pop(key, None)
    return root, buffers

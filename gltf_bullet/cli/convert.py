"""``gltf-bullet convert``: any dialect as current KHR physics, everything else untouched."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from gltf_bullet.output_files import require_another_file

__all__ = ["Target", "convert"]


class Target(enum.Enum):
    """What a file can be converted to."""

    KHR = "khr"


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A .gltf or .glb file.")],
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file to write; ends in .gltf or .glb.")
    ],
    to: Annotated[
        Target, typer.Option("--to", help="KHR_physics_rigid_bodies over KHR_implicit_shapes.")
    ] = Target.KHR,
    force: Annotated[
        bool, typer.Option("--force", help="Write over the file that was read, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the issues as JSON.")] = False,
) -> None:
    """Rewrite a file's physics as current KHR extensions, in a file that needs no other.

    Buffers and image files are taken in: data URIs in .gltf, the binary chunk in .glb.

    Example: gltf-bullet convert old.glb new.glb --to khr
    """
    if target.suffix.lower() not in (".gltf", ".glb"):
        raise typer.BadParameter(f"{target} must end in .gltf or .glb", param_hint="OUT")
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise typer.BadParameter(f"{target} cannot be written: no such folder", param_hint="OUT")
    require_another_file(source, target, force=force)
    from gltf_bullet.cli.output import console, issue_rows, print_issues, print_json
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.dialects.khr.writer import write_physics
    from gltf_bullet.gltf.writing import self_contained, write_document
    from gltf_bullet.runtime.asset import read_asset

    asset = read_asset(source)
    diagnostics = Diagnostics()
    diagnostics.extend(asset.issues)
    embedded, buffers = self_contained(asset.document, diagnostics)
    root = write_physics(asset.document, asset.physics, diagnostics)
    # The two change different members of the root.
    for key in ("images", "bufferViews", "buffers"):
        if key in embedded:
            root[key] = embedded[key]
        else:
            root.pop(key, None)
    write_document(root, buffers, target)
    if as_json:
        print_json({"written": str(target), "to": to.value, "issues": issue_rows(diagnostics)})
    else:
        out = console()
        if len(diagnostics):
            print_issues(out, diagnostics.issues)
        out.print(f"{target} written.", markup=False, soft_wrap=True)
    if diagnostics.has_errors:
        raise typer.Exit(1)

"""``gltf-bullet bake``: simulate a file and write the rollout into it as an animation."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from gltf_bullet.cli.loading import World, require, takes_world
from gltf_bullet.output_files import require_another_file
from gltf_bullet.private_folders import scratch_folder


@takes_world
def bake(
    file: Annotated[Path, typer.Argument(help="A .gltf or .glb file.")],
    out: Annotated[
        Path, typer.Argument(help="Where to write: .gltf, .glb, .usd, .usda, .usdc or .usdz.")
    ],
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to simulate [s].")] = 5.0,
    fps: Annotated[
        float | None, typer.Option(help="Look so often a second instead of at every step.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(min=0.0, help="How far off playback may be [m]: 0.001, with --fps 0.0001."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over the file that was read, too.")
    ] = False,
    *,
    world: World,
) -> None:
    """Simulate a file and write the rollout as a glTF animation that any viewer plays.

    A USD stage gets it as time samples.

    Example: gltf-bullet bake examples/assets/shape_zoo.gltf out/zoo.glb --seconds 4
    """
    from gltf_bullet.convert.usd import USD_SUFFIXES

    require(math.isfinite(seconds), "--seconds", "a finite number")
    require(fps is None or 0.0 < fps < math.inf, "--fps", "above 0")
    is_stage = out.suffix.lower() in USD_SUFFIXES
    require(
        is_stage or out.suffix.lower() in (".gltf", ".glb"),
        "OUT", "a .gltf, .glb, .usd, .usda, .usdc or .usdz file",
    )  # fmt: skip
    require_another_file(file, out, force=force, by="--force")
    from gltf_bullet.bullet.session import headless_world
    from gltf_bullet.cli.output import console, print_issues, say
    from gltf_bullet.cli.waiting import waiting
    from gltf_bullet.diagnostics import Diagnostics
    from gltf_bullet.runtime.asset import read_asset
    from gltf_bullet.runtime.recording.scene_recording import record
    from gltf_bullet.runtime.world_export import write_usd

    diagnostics = Diagnostics()
    asset = read_asset(file)
    with headless_world(gravity=world.gravity, time_step=world.dt) as client:
        with world.options(visuals="none") as options:
            scene = asset.instantiate(client, up_axis=world.up_axis, options=options)
        recording = record(scene, fps=fps)
        steps = round(seconds / world.dt)
        with waiting("simulating") as show:
            for step in range(steps):
                scene.step()
                show("simulating", step / steps)
        out.parent.mkdir(parents=True, exist_ok=True)
        with waiting("writing"), tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
            target = Path(folder) / "scene.glb" if is_stage else out
            moved = recording.export_glb(target, tolerance=tolerance, force=force)
            if is_stage:
                write_usd(read_asset(target), out, diagnostics)
    diagnostics.extend(list(scene.issues))
    if len(diagnostics):
        print_issues(console(), diagnostics.issues)
    size = out.stat().st_size / 1e3
    say(f"{out}: {recording.frame_count} frames, {recording.duration:g} s, {size:.1f} kB")
    if not moved:
        typer.echo("Nothing in it moves: there is no animation in the written file.")

"""``gltf-bullet bake``: simulate a file and write the rollout into it as an animation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from gltf_bullet.cli.loading import Concave, ConcaveOption, load_options
from gltf_bullet.cli.simulate import DEFAULT_DT, require
from gltf_bullet.output_files import require_another_file

__all__ = ["bake"]


def bake(
    file: Annotated[Path, typer.Argument(help="A .gltf or .glb file.")],
    out: Annotated[Path, typer.Argument(help="Where to write; .gltf or .glb.")],
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to simulate [s].")] = 5.0,
    dt: Annotated[float, typer.Option(help="Time step [s].")] = DEFAULT_DT,
    fps: Annotated[float, typer.Option(help="Keyframes per second at most.")] = 30.0,
    gravity: Annotated[
        tuple[float, float, float], typer.Option(help="In glTF's Y-up world [m/s2].")
    ] = (0.0, -9.81, 0.0),
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="How far a dropped keyframe may be off [m].")
    ] = 1e-4,
    force: Annotated[
        bool, typer.Option("--force", help="Write over the file that was read, too.")
    ] = False,
    concave: ConcaveOption = Concave.AUTO,
) -> None:
    """Simulate a file and write the rollout as a glTF animation that any viewer plays.

    Example: gltf-bullet bake examples/assets/shape_zoo.gltf out/zoo.glb --seconds 4
    """
    require(math.isfinite(seconds), "--seconds", "a finite number")
    require(0.0 < dt <= 1.0, "--dt", "in 0 .. 1 s")
    require(0.0 < fps < math.inf, "--fps", "above 0")
    require(all(map(math.isfinite, gravity)), "--gravity", "three finite numbers")
    require(out.suffix.lower() in (".gltf", ".glb"), "OUT", "a .gltf or .glb file")
    require_another_file(file, out, force=force)
    from rich.progress import track

    from gltf_bullet.bullet.headless import headless_world
    from gltf_bullet.cli.output import console
    from gltf_bullet.runtime.asset import read_asset
    from gltf_bullet.runtime.recording import record

    asset = read_asset(file)
    with headless_world(gravity=gravity, time_step=dt) as client:
        with load_options(concave, visuals="none") as options:
            scene = asset.instantiate(client, up_axis="y", options=options)
        recording = record(scene, fps=fps)
        for _ in track(
            range(round(seconds / dt)), "Simulating", console=console(err=True), transient=True
        ):
            scene.step()
        out.parent.mkdir(parents=True, exist_ok=True)
        recording.export_glb(out, tolerance=tolerance, force=force)
    typer.echo(f"{out}: {recording.frame_count} frames, {recording.duration:g} s")

"""``gltf-bullet simulate``: run a file for some seconds and say where everything ended."""

from __future__ import annotations

import csv
import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene

__all__ = ["DEFAULT_DT", "require", "simulate"]

DEFAULT_DT = 1.0 / 240.0

CSV_COLUMNS = (
    "time", "node", "name", "x", "y", "z", "qx", "qy", "qz", "qw",
    "vx", "vy", "vz", "wx", "wy", "wz",
)  # fmt: skip


def simulate(
    file: Annotated[Path, typer.Argument(help="A .gltf or .glb file.")],
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to simulate [s].")] = 2.0,
    dt: Annotated[float, typer.Option(help="Time step [s].")] = DEFAULT_DT,
    fps: Annotated[float, typer.Option(help="Rows per second in --csv.")] = 60.0,
    gravity: Annotated[
        tuple[float, float, float], typer.Option(help="In the Z-up world [m/s2].")
    ] = (0.0, 0.0, -9.81),
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the poses of all bodies over time.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture of the last frame.")] = None,
    size: Annotated[
        tuple[int, int], typer.Option(help="Width and height of the picture [pixels].")
    ] = (960, 600),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate a file in a Z-up world and show where each body ended.

    Example: gltf-bullet simulate examples/assets/shape_zoo.gltf --seconds 3 --png out/last.png
    """
    require(math.isfinite(seconds), "--seconds", "a finite number")
    require(0.0 < dt <= 1.0, "--dt", "in 0 .. 1 s")
    require(0.0 < fps < math.inf, "--fps", "above 0")
    require(all(map(math.isfinite, gravity)), "--gravity", "three finite numbers")
    require(all(16 <= pixels <= 8192 for pixels in size), "--size", "in 16 .. 8192 pixels")
    from gltf_bullet.bullet.headless import headless_world
    from gltf_bullet.options import LoadOptions
    from gltf_bullet.runtime.asset import read_asset
    from gltf_bullet.runtime.render_meshes import has_render_meshes

    asset = read_asset(file)
    visuals = "none"
    if png is not None:
        visuals = "mesh" if has_render_meshes(asset.tree) else "collider"
    options = LoadOptions(visuals=visuals)  # type: ignore[arg-type]  # one of the literals
    with headless_world(gravity=gravity, time_step=dt) as client:
        scene = asset.instantiate(client, options=options)
        _run(scene, round(seconds / dt), max(1, round(1.0 / (fps * dt))), csv_file, not as_json)
        if png is not None:
            _write_picture(scene, png, size)
        _report(scene, as_json)


def require(good: bool, option: str, allowed: str) -> None:
    """End with a usage error where an option is not as it must be."""
    if not good:
        raise typer.BadParameter(f"must be {allowed}", param_hint=option)


def _run(scene: Scene, steps: int, steps_per_row: int, csv_file: Path | None, bar: bool) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from gltf_bullet.cli.output import console

    with ExitStack() as stack:
        write_rows = None
        if csv_file is not None:
            csv_file.parent.mkdir(parents=True, exist_ok=True)
            stream = stack.enter_context(csv_file.open("w", newline="", encoding="utf-8"))
            write_rows = csv.writer(stream).writerows
            write_rows([CSV_COLUMNS])
            write_rows(_csv_rows(scene))
        err = console(err=True)
        progress = stack.enter_context(
            Progress(
                TextColumn("Simulating"),
                BarColumn(),
                TextColumn("{task.fields[time]:.2f} s"),
                TimeRemainingColumn(),
                console=err,
                transient=True,
                disable=not bar or not err.is_terminal,
            )
        )
        task = progress.add_task("step", total=steps, time=0.0)
        for number in range(1, steps + 1):
            scene.step()
            progress.update(task, advance=1, time=scene.time)
            if write_rows is not None and number % steps_per_row == 0:
                write_rows(_csv_rows(scene))


def _csv_rows(scene: Scene) -> list[list[Any]]:
    return [
        [
            f"{scene.time:.6f}", row["node"], row["name"],
            *(f"{v:.9g}" for key in ("position", "rotation", "linear_velocity",
                                     "angular_velocity") for v in row[key]),
        ]
        for row in _poses(scene)
    ]  # fmt: skip


def _poses(scene: Scene) -> list[dict[str, Any]]:
    from gltf_bullet.transforms import decompose_trs

    rows = []
    for body in scene.bodies.values():
        position, rotation, _ = decompose_trs(scene.world_from_node(body.node))
        rows.append(
            {
                "node": body.node,
                "name": body.name,
                "kind": body.kind.value,
                "position": position.tolist(),
                "rotation": rotation.tolist(),
                "linear_velocity": body.linear_velocity.tolist(),
                "angular_velocity": body.angular_velocity.tolist(),
            }
        )
    return rows


def _write_picture(scene: Scene, path: Path, size: tuple[int, int]) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(scene.render(*size)).save(path)


def _report(scene: Scene, as_json: bool) -> None:
    from gltf_bullet.cli.output import console, issue_rows, print_issues, print_json, print_table

    rows = _poses(scene)
    if as_json:
        print_json({"time": scene.time, "bodies": rows, "issues": issue_rows(scene.issues)})
        return
    out = console()
    if scene.issues:
        print_issues(out, scene.issues)
    print_table(
        out,
        f"{scene.asset.path} after {scene.time:.3f} s (world, Z up)",
        (
            "Node>",
            "Name",
            "Kind",
            "Position [m]",
            "Rotation xyzw",
            "Velocity [m/s]",
            "Spin [rad/s]",
        ),
        (
            (
                row["node"], row["name"], row["kind"],
                *(_fixed(row[key]) for key in ("position", "rotation", "linear_velocity",
                                               "angular_velocity")),
            )
            for row in rows
        ),
    )  # fmt: skip
    if not rows:
        out.print("The file has no bodies that move.")


def _fixed(values: list[float]) -> str:
    # Adding 0.0 turns -0.0 into 0.0.
    return " ".join(f"{round(value, 3) + 0.0:7.3f}" for value in values)

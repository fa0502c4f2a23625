"""``gltf-bullet simulate``: run a file for some seconds, say where all ended, and show it."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gltf_bullet.cli.loading import (
    Concave,
    ConcaveOption,
    FixedBaseOption,
    load_options,
    read_source,
)
from gltf_bullet.output_files import written_aside

if TYPE_CHECKING:
    from gltf_bullet.options import Visuals
    from gltf_bullet.runtime.asset import Asset
    from gltf_bullet.runtime.scene import Scene

__all__ = ["DEFAULT_DT", "require", "simulate"]

DEFAULT_DT = 1.0 / 240.0
"""[s] PyBullet's own default."""

PICTURES = (".png", ".jpg", ".webp")

CSV_COLUMNS = (
    "time", "node", "name", "x", "y", "z", "qx", "qy", "qz", "qw",
    "vx", "vy", "vz", "wx", "wy", "wz",
)  # fmt: skip


def simulate(
    file: Annotated[
        Path, typer.Argument(help="A .gltf or .glb file, or a robot: .urdf, .sdf, MJCF .xml.")
    ],
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to simulate [s].")] = 2.0,
    dt: Annotated[float, typer.Option(help="Time step [s].")] = DEFAULT_DT,
    fps: Annotated[float, typer.Option(help="Rows per second in --csv and --plot.")] = 60.0,
    gravity: Annotated[
        tuple[float, float, float], typer.Option(help="In the Z-up world [m/s2].")
    ] = (0.0, 0.0, -9.81),
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the poses of all bodies over time.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write heights, speeds, energies and joints as a PNG.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture of the last frame.")] = None,
    filmstrip: Annotated[
        Path | None, typer.Option(help="Write some frames side by side, first to last.")
    ] = None,
    frames: Annotated[int, typer.Option(min=2, max=64, help="Frames of the filmstrip.")] = 6,
    mp4: Annotated[Path | None, typer.Option(help="Write a film.")] = None,
    gif: Annotated[Path | None, typer.Option(help="Write a film that web pages show.")] = None,
    film_fps: Annotated[float, typer.Option(help="Frames per second of the films.")] = 30.0,
    size: Annotated[
        tuple[int, int], typer.Option(help="Width and height of the pictures [pixels].")
    ] = (960, 600),
    camera: Annotated[
        str | None,
        typer.Option(help="Node (name or index) with a camera, or a camera's name; else framed."),
    ] = None,
    visuals: Annotated[
        str, typer.Option(help="mesh, collider, or auto: meshes where there are any.")
    ] = "auto",
    renderer: Annotated[
        str, typer.Option(help="tiny (software), or egl: OpenGL where it works, else tiny.")
    ] = "tiny",
    concave: ConcaveOption = Concave.AUTO,
    fixed_base: FixedBaseOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Simulate a file in a Z-up world and show where each body ended.

    Example: gltf-bullet simulate examples/assets/shape_zoo.gltf --seconds 3 --png out/last.png
    """
    require(math.isfinite(seconds), "--seconds", "a finite number")
    require(0.0 < dt <= 1.0, "--dt", "in 0 .. 1 s")
    require(0.0 < fps < math.inf, "--fps", "above 0")
    require(0.0 < film_fps <= 1000.0, "--film-fps", "in 0 .. 1000")
    require(all(map(math.isfinite, gravity)), "--gravity", "three finite numbers")
    require(all(16 <= pixels <= 8192 for pixels in size), "--size", "in 16 .. 8192 pixels")
    require(visuals in ("auto", "mesh", "collider"), "--visuals", "auto, mesh or collider")
    require(renderer in ("tiny", "egl"), "--renderer", "tiny or egl")
    for option, path, suffixes in (
        ("--png", png, PICTURES), ("--filmstrip", filmstrip, PICTURES), ("--plot", plot, PICTURES),
        ("--mp4", mp4, (".mp4", ".mkv", ".mov")), ("--gif", gif, (".gif",)),
    ):  # fmt: skip
        good = path is None or path.suffix.lower() in suffixes
        require(good, option, "a file that ends in " + " or ".join(suffixes))
    from gltf_bullet.cli.film import Film, FilmOptions
    from gltf_bullet.cli.plots import require_plots

    if plot is not None:
        require_plots()
    film = Film(
        FilmOptions(
            png=png, filmstrip=filmstrip, strip_frames=frames, mp4=mp4, gif=gif,
            fps=film_fps, size=size, camera=camera, renderer=renderer,
        )
    )  # fmt: skip
    asset = read_source(file, fixed_base=fixed_base)
    steps = round(seconds / dt)
    row_steps = max(1, round(1.0 / (fps * dt)))
    with film.world(gravity=gravity, time_step=dt) as client:
        shown = film.load_options(_visuals(asset, visuals))
        with load_options(concave, **shown) as options:
            scene = asset.instantiate(client, options=options)
        film.begin(scene, steps, dt)
        with ExitStack() as stack:
            on_row = _rows(scene, csv_file, plot, file.name, stack)
            _run(scene, steps, row_steps, on_row, film.watch, "Simulating", not as_json)
        film.roll(lambda show: _run(scene, steps, steps + 1, None, show, "Drawing", not as_json))
        _report(scene, as_json)


def require(good: bool, option: str, allowed: str) -> None:
    """End with a usage error where an option is not as it must be."""
    if not good:
        raise typer.BadParameter(f"must be {allowed}", param_hint=option)


def _visuals(asset: Asset, wanted: str) -> Visuals:
    from gltf_bullet.rendering.render_meshes import has_render_meshes

    shows_meshes = wanted == "mesh" or (wanted == "auto" and has_render_meshes(asset.tree))
    return "mesh" if shows_meshes else "collider"


def _rows(
    scene: Scene, csv_file: Path | None, plot: Path | None, title: str, stack: ExitStack
) -> Callable[[], None] | None:
    """What to call for each row of the table and of the plot; files end with ``stack``."""
    takers: list[Callable[[], None]] = []
    if csv_file is not None:
        csv_file.parent.mkdir(parents=True, exist_ok=True)
        aside = stack.enter_context(written_aside(csv_file))
        stream = stack.enter_context(aside.open("w", newline="", encoding="utf-8"))
        write_rows = csv.writer(stream).writerows
        write_rows([CSV_COLUMNS])
        takers.append(lambda: write_rows(_csv_rows(scene)))
    if plot is not None:
        from gltf_bullet.cli.plots import write_plot
        from gltf_bullet.runtime.telemetry import Telemetry

        telemetry = Telemetry(scene)
        takers.append(telemetry.sample)
        stack.callback(lambda: write_plot(plot, telemetry, title))
    if not takers:
        return None

    def take() -> None:
        for taker in takers:
            taker()

    return take


def _run(
    scene: Scene,
    steps: int,
    steps_per_row: int,
    on_row: Callable[[], None] | None,
    on_step: Callable[[int], None] | None,
    verb: str,
    bar: bool,
) -> None:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from gltf_bullet.cli.output import console

    err = console(err=True)
    if on_row is not None:
        on_row()
    if on_step is not None:
        on_step(0)
    with Progress(
        TextColumn(verb),
        BarColumn(),
        TextColumn("{task.fields[time]:.2f} s"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not bar or not err.is_terminal,
    ) as progress:
        task = progress.add_task("step", total=steps, time=0.0)
        for number in range(1, steps + 1):
            scene.step()
            progress.update(task, advance=1, time=scene.time)
            if on_row is not None and number % steps_per_row == 0:
                on_row()
            if on_step is not None:
                on_step(number)


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

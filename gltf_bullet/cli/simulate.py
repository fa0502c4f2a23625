"""``gltf-bullet simulate``: run a file for some seconds, report the poses, and draw them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gltf_bullet.cli.loading import World, parse_size, require, takes_world
from gltf_bullet.cli.output import Attempts
from gltf_bullet.cli.outputs.tables import CsvTable, text_cell
from gltf_bullet.cli.robots import AllowOption, FixedBaseOption, read_source
from gltf_bullet.output_files import require_another_file

if TYPE_CHECKING:
    from gltf_bullet.diagnostics import Issue
    from gltf_bullet.runtime.recording.scene_recording import Recording
    from gltf_bullet.runtime.scene import Scene
    from gltf_bullet.runtime.trigger_reports import TriggerEvent

PICTURES = (".png", ".jpg", ".webp")
WIDE = 120
"""[columns] Width from which on the table has rotations and angular velocities, too."""

MOST_EVENTS = 40
"""Most trigger events that a table lists; --json has all."""

CSV_COLUMNS = (
    "time", "node", "name", "x", "y", "z", "qx", "qy", "qz", "qw",
    "vx", "vy", "vz", "wx", "wy", "wz", "axes",
)  # fmt: skip


@takes_world
def simulate(
    file: Annotated[
        Path, typer.Argument(help="A .gltf or .glb file, or a robot: .urdf, .sdf, MJCF .xml.")
    ],
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to simulate [s].")] = 2.0,
    fps: Annotated[float, typer.Option(help="Rows per second in --csv and --plot.")] = 60.0,
    csv_file: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            help="Write the poses of all bodies over time: s, m, quaternions xyzw, m/s, rad/s, in "
            "the axes that the last column names; a ' stands before names like formulas.",
        ),
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
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page that plays it in any browser, off the network."),
    ] = None,
    glb: Annotated[
        Path | None,
        typer.Option(help="Write the file with the rollout as an animation, as bake does."),
    ] = None,
    film_fps: Annotated[float, typer.Option(help="Frames per second of the films.")] = 30.0,
    size: Annotated[
        str, typer.Option(metavar="WxH", help="Width and height of the pictures [pixels].")
    ] = "960x600",
    camera: Annotated[
        str | None,
        typer.Option(help="Node (name or index) with a camera, or a camera's name; else framed."),
    ] = None,
    visuals: Annotated[
        str, typer.Option(help="mesh, collider, or auto: meshes where all that moves has one.")
    ] = "auto",
    renderer: Annotated[
        str, typer.Option(help="tiny (software), or egl: OpenGL where it works, else tiny.")
    ] = "tiny",
    floor: Annotated[bool, typer.Option("--floor", help="Put a floor at height 0.")] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Print what the behavior graph logs, and its variables.")
    ] = False,
    fixed_base: FixedBaseOption = False,
    allow: AllowOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    *,
    world: World,
) -> None:
    """Simulate a file and show where each body ended.

    A file that cannot be written does not keep the others from being written; it is named at the
    end. What needs an extra that is not installed is said before anything is simulated.

    Example: gltf-bullet simulate examples/assets/shape_zoo.gltf --seconds 3 --png out/last.png
    """
    require(math.isfinite(seconds), "--seconds", "a finite number")
    require(0.0 < fps < math.inf, "--fps", "above 0")
    require(0.0 < film_fps <= 1000.0, "--film-fps", "in 0 .. 1000")
    pixels = parse_size(size, smallest=16)
    require(visuals in ("auto", "mesh", "collider"), "--visuals", "auto, mesh or collider")
    require(renderer in ("tiny", "egl"), "--renderer", "tiny or egl")
    for option, path, suffixes in (
        ("--png", png, PICTURES), ("--filmstrip", filmstrip, PICTURES), ("--plot", plot, PICTURES),
        ("--mp4", mp4, (".mp4", ".mkv", ".mov")), ("--gif", gif, (".gif",)),
        ("--html", html, (".html", ".htm")), ("--glb", glb, (".glb", ".gltf")),
    ):  # fmt: skip
        good = path is None or path.suffix.lower() in suffixes
        require(good, option, "a file that ends in " + " or ".join(suffixes))
    from gltf_bullet.bullet.owned_world import add_floor
    from gltf_bullet.cli.outputs.film import Film, FilmOptions
    from gltf_bullet.cli.outputs.media import require_media
    from gltf_bullet.cli.outputs.plots import require_plots
    from gltf_bullet.runtime.recording.scene_recording import record
    from gltf_bullet.runtime.telemetry import FallWatch
    from gltf_bullet.runtime.trigger_reports import TriggerEvent

    if plot is not None:
        require_plots()
    if html is not None:
        require_media("viser", "--html", extra="web")
    if glb is not None:
        require_another_file(file, glb, force=False)
    attempts = Attempts()
    film = Film(
        FilmOptions(
            png=png, filmstrip=filmstrip, strip_frames=frames, mp4=mp4, gif=gif,
            fps=film_fps, size=pixels, camera=camera, renderer=renderer,
        ),
        attempts,
    )  # fmt: skip
    asset = read_source(file, fixed_base=fixed_base, allow=allow)
    shown: Any = asset.automatic_visuals if visuals == "auto" else visuals
    steps = round(seconds / world.dt)
    row_steps = max(1, round(1.0 / (fps * world.dt)))
    with film.world(gravity=world.gravity, time_step=world.dt) as client:
        if floor:
            add_floor(client, y_up=world.up_axis == "y")
        with world.options(**film.load_options(shown)) as options:
            scene = asset.instantiate(client, up_axis=world.up_axis, options=options)
        film.begin(scene, steps, world.dt)
        falls, events = FallWatch(scene), list[TriggerEvent]()
        end_of_events = scene.on_trigger(events.append)
        recording = None if html is None else record(scene, fps=film_fps)
        baked = None if glb is None else record(scene)
        on_row, close = _rows(scene, csv_file, plot, file.name, attempts)
        try:
            _run(scene, steps, row_steps, on_row, film.watch)
        except BaseException:
            close(False)
            raise
        close(True)
        end_of_events()
        fallen = falls.issues()
        if recording is not None and html is not None:
            recording.stop()
            _write_page(recording, html, visuals, attempts)
        if baked is not None and glb is not None:
            baked.stop()
            _write_animation(baked, glb, attempts)
        _report(scene, as_json, world.up_axis, log=log, fallen=fallen, events=events)
        film.draw(fell_out=bool(fallen))
    attempts.report()


def _write_page(recording: Recording, path: Path, visuals: Any, attempts: Attempts) -> None:
    from gltf_bullet.cli.waiting import waiting

    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        recording.export_html(path, visuals=visuals)

    with waiting("writing the page"):
        attempts.do("--html", write)


def _write_animation(recording: Recording, path: Path, attempts: Attempts) -> None:
    from gltf_bullet.cli.waiting import waiting

    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        recording.export_glb(path)

    with waiting("writing the animation"):
        attempts.do("--glb", write)


def _rows(
    scene: Scene, csv_file: Path | None, plot: Path | None, title: str, attempts: Attempts
) -> tuple[Callable[[], None] | None, Callable[[bool], None]]:
    """A function to call for each row, and one for the end with True on success."""
    takers: list[Callable[[], None]] = []
    closers: list[Callable[[bool], None]] = []
    if csv_file is not None:
        table = CsvTable(csv_file, CSV_COLUMNS)
        attempts.do("--csv", table.open)
        takers.append(lambda: attempts.do("--csv", lambda: table.write(_csv_rows(scene))))
        closers.append(
            lambda good: (
                table.discard()
                if not good or attempts.has_failed("--csv")
                else attempts.do("--csv", table.commit)
            )
        )
    if plot is not None:
        from gltf_bullet.cli.outputs.plots import write_plot
        from gltf_bullet.runtime.telemetry import Telemetry

        telemetry = Telemetry(scene)
        takers.append(lambda: attempts.do("--plot", telemetry.sample))
        closers.append(
            lambda good: (
                attempts.do("--plot", lambda: write_plot(plot, telemetry, title)) if good else None
            )
        )

    def close(good: bool) -> None:
        for closer in closers:
            closer(good)

    def take() -> None:
        for taker in takers:
            taker()

    return (take if takers else None), close


def _run(
    scene: Scene,
    steps: int,
    steps_per_row: int,
    on_row: Callable[[], None] | None,
    on_step: Callable[[int], None],
) -> None:
    from gltf_bullet.cli.waiting import waiting

    if on_row is not None:
        on_row()
    on_step(0)
    with waiting("simulating") as show:
        for number in range(1, steps + 1):
            scene.step()
            show("simulating", number / steps)
            if on_row is not None and number % steps_per_row == 0:
                on_row()
            on_step(number)


def _csv_rows(scene: Scene) -> list[list[Any]]:
    axes = f"world, {'xyz'[int(scene.core.placement.up.argmax())]} up"
    return [
        [
            f"{scene.time:.6f}", row["node"], text_cell(row["name"]),
            *(f"{v:.9g}" for key in ("position", "rotation", "linear_velocity",
                                     "angular_velocity") for v in row[key]),
            axes,
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


def _report(
    scene: Scene,
    as_json: bool,
    up_axis: str,
    *,
    log: bool,
    fallen: tuple[Issue, ...],
    events: list[TriggerEvent],
) -> None:
    from gltf_bullet.cli.output import console, issue_rows, print_issues, print_json, print_table

    rows, issues = _poses(scene), (*scene.issues, *scene.asset.lacks, *fallen)
    if as_json:
        found = {
            "time": scene.time,
            "bodies": rows,
            "events": [asdict(event) for event in events],
            "issues": issue_rows(issues),
        }
        print_json(found | (_behavior_rows(scene) if log else {}))
        return
    out = console()
    if issues:
        print_issues(out, issues)
    columns = {"Position [m]": "position", "Velocity [m/s]": "linear_velocity"}
    if out.width >= WIDE:
        columns |= {"Rotation xyzw": "rotation", "Spin [rad/s]": "angular_velocity"}
    print_table(
        out,
        f"{scene.asset.path} after {scene.time:.3f} s (world, {up_axis.upper()} up)",
        ("Node>", "Name", "Kind", *columns),
        (
            (row["node"], row["name"], row["kind"], *(_fixed(row[k]) for k in columns.values()))
            for row in rows
        ),
    )
    print_table(
        out,
        "Trigger events" + (f", the first {MOST_EVENTS}" if len(events) > MOST_EVENTS else ""),
        ("Time [s]>", "Event", "Trigger", "Collider", "Of the body"),
        (
            (
                f"{event.time:.4f}", event.kind, event.trigger or event.trigger_node,
                event.collider or event.collider_node,
                (event.motion or event.motion_node) if event.motion_node >= 0 else "none",
            )
            for event in events[:MOST_EVENTS]
        ),
    )  # fmt: skip
    if not rows:
        out.print("The file has no bodies that move.")
    if log and scene.behavior is None:
        out.print("The file has no behavior graph that can be run.")
    elif log:
        behavior = _behavior_rows(scene)
        for entry in behavior["log"]:
            line = f"{entry['time']:10.4f} s  {entry['message']}"
            out.print(line, markup=False, highlight=False, soft_wrap=True)
        print_table(out, "Variables", ("Variable", "Value"), behavior["variables"].items())


def _behavior_rows(scene: Scene) -> dict[str, Any]:
    """The last lines of the log, and all variables as text."""
    from gltf_bullet.behavior.values import shown

    behavior = scene.behavior
    if behavior is None:
        return {"log": [], "variables": {}}
    return {
        "log": [entry._asdict() for entry in behavior.log],
        "variables": {str(name): shown(value) for name, value in behavior.variables.items()},
    }


def _fixed(values: list[float]) -> str:
    # Adding 0.0 turns -0.0 into 0.0.
    return " ".join(f"{round(value, 3) + 0.0:.3f}" for value in values)

"""Drawing of a recording as a film, a GIF or a sheet of frames, in a private world."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from msgspec import Struct

from gltf_bullet.bullet.rendering.film_layers import FilmLayers
from gltf_bullet.bullet.rendering.pictures import PixelArray
from gltf_bullet.bullet.rendering.stand_ins import StandIn, StandIns
from gltf_bullet.disk_cache import cache_folder
from gltf_bullet.output_files import written_aside
from gltf_bullet.rendering.camera import Camera, course_boxes, framed_box, framing_camera
from gltf_bullet.rendering.film_files import GifFrames, MovieFile, filmstrip
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.shown_meshes import (
    Shown,
    foreign_floors,
    is_moved,
    mesh_boxes,
    mesh_matrices,
    shown_meshes,
    trigger_meshes,
)
from gltf_bullet.transforms import BoolArray, FloatArray

SUFFIXES = (".mp4", ".gif", ".png")


class FilmLook(Struct, frozen=True, kw_only=True):
    """The settings of a film."""

    size: tuple[int, int]
    """Width and height [pixels]."""
    fps: float
    """Frames per second of simulated time."""
    frames: int
    """Number of frames on a sheet."""
    camera: Camera | None
    """Fixed camera; ``None``: one that sees the whole recording."""
    visuals: Shown


def film_look(
    *, size: tuple[int, int], fps: float, frames: int, camera: Camera | None, visuals: Shown
) -> FilmLook:
    """Check the settings that users give.

    Raises:
        ValueError: Numbers that make no film, or unknown visuals.
    """
    if len(size) != 2 or not all(1 <= pixels <= 8192 for pixels in size):
        raise ValueError(f"size is {size}; must be two numbers in 1 .. 8192")
    if not 0.0 < fps <= 1000.0:
        raise ValueError(f"fps is {fps}; must be in 0 .. 1000")
    if not 2 <= frames <= 64:
        raise ValueError(f"frames is {frames}; must be in 2 .. 64")
    if visuals not in ("auto", "mesh", "collider"):
        raise ValueError(f"visuals is {visuals!r}; must be auto, mesh or collider")
    return FilmLook(size=size, fps=fps, frames=frames, camera=camera, visuals=visuals)


def film_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path, which selects the kind of film.

    Raises:
        ValueError: The suffix is unknown.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{os.fspath(path)} must end in .mp4, .gif or .png")
    return suffix


def write_film(
    core: SceneCore,
    path: str | os.PathLike[str],
    times: FloatArray,
    world_from_nodes: list[FloatArray],
    look: FilmLook,
) -> None:
    """Write the file; its suffix selects the format.

    Args:
        core: A scene, in any world.
        path: As for :func:`film_suffix`; folders above it are made.
        times: Times of the frames [s], ascending.
        world_from_nodes: Matrices of all nodes per frame, shape [node_count, 4, 4].
        look: The settings.

    Raises:
        ImportError: ``.mp4`` without the extra ``media``.
        OSError: The file cannot be written.
    """
    suffix, target = film_suffix(path), Path(path)
    span = float(times[-1] - times[0])
    if suffix == ".png":
        wanted = times[0] + np.linspace(0.0, span, look.frames)
    else:
        wanted = times[0] + np.arange(int(span * look.fps + 1e-9) + 1) / look.fps
    last = np.searchsorted(times, wanted + 1e-9, side="right") - 1
    chosen = [world_from_nodes[k] for k in np.maximum(last, 0).tolist()]
    report = core.options.progress
    with closing(film_frames(core, chosen, look, report=report)) as drawn:
        if suffix == ".png":
            from PIL import Image

            strip = filmstrip(list(zip((wanted - times[0]).tolist(), drawn, strict=True)))
            with written_aside(target) as aside:
                Image.fromarray(strip).save(aside)
        elif suffix == ".gif":
            gif = GifFrames()
            for pixels in drawn:
                gif.add(pixels)
            gif.write(target, look.fps)
        else:
            movie = MovieFile(target, look.fps)
            try:
                for pixels in drawn:
                    movie.add(pixels)
            except BaseException:
                movie.discard()
                raise
            movie.close()


def film_frames(
    core: SceneCore,
    frames: Sequence[FloatArray],
    look: FilmLook,
    *,
    cameras: Sequence[Camera] | None = None,
    shadows_of: tuple[FloatArray, FloatArray] | None = None,
    report: Callable[[str, float], object] | None = None,
) -> Generator[PixelArray]:
    """Draw the frames of a film, colours of shape [height, width, 3] each.

    Args:
        core: A scene, in any world.
        frames: Matrices of all nodes per frame, shape [node_count, 4, 4].
        look: The settings.
        cameras: Cameras of the frames; ``None``: that of the settings in all.
        shadows_of: Lowest and highest corner [m] of the box whose contents throw shadows; ``None``:
            that of what moves in the film.
        report: Called after each frame, as ``LoadOptions.progress``.
    """
    bodies, volumes = shown_meshes(core, look.visuals) + foreign_floors(core), trigger_meshes(core)
    meshes, kept = bodies + volumes, cache_folder(core.options.cache_folder)
    matrices = [mesh_matrices(core, meshes, frame) for frame in frames]
    shown = [matrices[0]]
    is_volume = np.arange(len(meshes)) >= len(bodies)
    is_glass = np.array([mesh.mesh.is_transparent for mesh in meshes], dtype=bool) & ~is_volume
    rests = np.ones(len(meshes), dtype=bool)
    for poses in matrices:
        rests &= (poses == matrices[0]).all(axis=(1, 2))
    boxes = [mesh_boxes(bodies, poses[: len(bodies)]) for poses in matrices]
    moves = np.array([is_moved(core, mesh.owner) for mesh in bodies], dtype=bool)
    framed = course_boxes([box[moves] for box in boxes], boxes[0][~moves]), boxes[0][~moves]
    up = np.asarray(core.placement.up, dtype=np.float64)
    width, height = look.size
    if cameras is None:
        cameras = [look.camera or framing_camera(*framed, up, width / height)] * len(frames)
    with ExitStack() as stack:

        def stage(which: BoolArray) -> StandIns:
            shapes = [
                StandIn(mesh=meshes[k].mesh, link=(k, -1)) for k in np.flatnonzero(which).tolist()
            ]
            made = StandIns(shapes, lambda: shown[0][which], kept)
            stack.callback(made.close)
            return made

        is_background = rests & ~is_glass & ~is_volume
        layers = FilmLayers(
            look.size,
            up=up,
            shadows_of=shadows_of or framed_box(*framed),
            resting=stage(is_background),
            planes=[
                meshes[k].world_from_mesh if meshes[k].is_endless else None
                for k in np.flatnonzero(is_background).tolist()
            ],
            moving=stage(~rests & ~is_glass & ~is_volume),
            glass=stage(is_glass),
            veils=stage(is_volume),
        )
        corners, before = np.concatenate(boxes), None
        for number, camera in enumerate(cameras):
            shown[0] = matrices[number]
            if before is None or not camera.is_like(before):
                ways = np.abs(corners - camera.world_from_camera[:3, 3]).max(axis=1)
                layers.look_from(camera, float(np.linalg.norm(ways, axis=1).max(initial=1.0)))
                before = camera
            yield layers.frame()
            if report is not None:
                report("drawing a film", (number + 1) / len(frames))

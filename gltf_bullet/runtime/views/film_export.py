"""Drawing of a recording as a film, a GIF or a sheet of frames, in a private world."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
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
    ShownMesh,
    is_moved,
    mesh_boxes,
    mesh_matrices,
    shown_meshes,
    trigger_meshes,
)
from gltf_bullet.transforms import FloatArray

SUFFIXES = (".mp4", ".gif", ".png")


class _FilmLook(Struct, frozen=True, kw_only=True):
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
) -> _FilmLook:
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
    return _FilmLook(size=size, fps=fps, frames=frames, camera=camera, visuals=visuals)


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
    look: _FilmLook,
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
    with ExitStack() as stack:
        drawn = _drawn(core, chosen, look, stack)
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


def _drawn(
    core: SceneCore, frames: list[FloatArray], look: _FilmLook, stack: ExitStack
) -> Iterator[PixelArray]:
    """Yield the frames as pictures."""
    meshes, volumes = shown_meshes(core, look.visuals), trigger_meshes(core)
    shown = [frames[0]]
    kept = cache_folder(core.options.cache_folder)

    def stage(of: tuple[ShownMesh, ...]) -> StandIns:
        shapes = [StandIn(mesh=mesh.mesh, link=(k, -1)) for k, mesh in enumerate(of)]
        made = StandIns(shapes, lambda: mesh_matrices(core, of, shown[0]), kept)
        stack.callback(made.close)
        return made

    moves = np.array([is_moved(core, mesh.owner) for mesh in meshes], dtype=bool)
    first = mesh_matrices(core, meshes, frames[0])
    rests = np.ones(len(meshes), dtype=bool)
    boxes = []
    for frame in frames:
        matrices = mesh_matrices(core, meshes, frame)
        rests &= (matrices == first).all(axis=(1, 2))
        boxes.append(mesh_boxes(meshes, matrices))
    is_glass = np.array([mesh.mesh.is_transparent for mesh in meshes], dtype=bool)
    resting_meshes, moving_meshes, glass_meshes = (
        tuple(meshes[k] for k in np.flatnonzero(which))
        for which in (rests & ~is_glass, ~rests & ~is_glass, is_glass)
    )
    resting = boxes[0][~moves]
    moving = course_boxes([frame[moves] for frame in boxes], resting)
    width, height = look.size
    up = np.asarray(core.placement.up, dtype=np.float64)
    camera = look.camera or framing_camera(moving, resting, up, width / height)
    eye = camera.world_from_camera[:3, 3]
    corners = np.concatenate(boxes)
    reach = float(np.linalg.norm(np.abs(corners - eye).max(axis=1), axis=1).max(initial=1.0))
    layers = FilmLayers(
        camera,
        look.size,
        up=up,
        reach=reach,
        shadows_of=framed_box(moving, resting),
        resting=stage(resting_meshes),
        planes=[mesh.world_from_mesh if mesh.is_endless else None for mesh in resting_meshes],
        moving=stage(moving_meshes),
        glass=stage(glass_meshes),
        veils=stage(volumes),
    )
    for frame in frames:
        shown[0] = frame
        yield layers.frame()

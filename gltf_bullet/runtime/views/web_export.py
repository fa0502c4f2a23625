"""A rollout as one HTML file that plays without a network."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from gltf_bullet.rendering.camera import course_boxes
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.shown_meshes import Shown, ShownMesh, mesh_boxes, mesh_matrices
from gltf_bullet.runtime.views.web_stage import WebStage, aim_at_boxes, web_server
from gltf_bullet.transforms import FloatArray

__all__ = ["page_of", "require_page_suffix"]


def require_page_suffix(path: str | os.PathLike[str]) -> None:
    """Raise where a path is no page's.

    Raises:
        ValueError: It ends otherwise.
    """
    if os.path.splitext(path)[1].lower() not in (".html", ".htm"):
        raise ValueError(f"{os.fspath(path)} must end in .html")


def page_of(
    core: SceneCore, times: FloatArray, world_from_nodes: Iterable[FloatArray], shown: Shown
) -> str:
    """The page.

    Args:
        core: The scene.
        times: Of the frames [s], ascending from 0.
        world_from_nodes: Per frame, of all nodes, shape [node_count, 4, 4].
        shown: Meshes or colliders.

    Raises:
        ImportError: The extra ``web`` is not installed.
    """
    frames = list(world_from_nodes)
    with web_server() as server:
        stage = WebStage(server, core, shown, triggers=True)
        stage.place(frames[0])
        aim_at_boxes(server, core, *_course(core, stage.meshes, frames))
        page = server.get_scene_serializer()
        for number, frame in enumerate(frames):
            if number:
                page.insert_sleep(float(times[number] - times[number - 1]))
            stage.place(frame)
        return str(page.as_html())


def _course(
    core: SceneCore, meshes: tuple[ShownMesh, ...], frames: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Boxes of what moves in all frames, and of what rests."""
    moves = np.array([mesh.owner is not None for mesh in meshes], dtype=bool)
    boxes = [mesh_boxes(meshes, mesh_matrices(core, meshes, frame)) for frame in frames]
    return course_boxes([frame[moves] for frame in boxes]), boxes[0][~moves]

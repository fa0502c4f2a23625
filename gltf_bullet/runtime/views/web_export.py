"""A recording as one HTML file that plays without a network."""

from __future__ import annotations

import contextlib
import io
import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gltf_bullet.bullet.rendering.foreign_planes import foreign_planes
from gltf_bullet.errors import EngineError
from gltf_bullet.rendering.camera import course_boxes, framed_box, framing_camera, picture_axes
from gltf_bullet.rendering.glb_meshes import glb_of
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.pictures import Pictures
from gltf_bullet.runtime.views.shown_meshes import (
    Shown,
    ShownMesh,
    is_moved,
    mesh_boxes,
    mesh_matrices,
    shown_meshes,
    trigger_meshes,
)
from gltf_bullet.runtime.views.web_door import Door
from gltf_bullet.scene import PerspectiveLens
from gltf_bullet.transforms import FloatArray, quats_from_matrices

if TYPE_CHECKING:
    import viser

# --- A scene's meshes in a viser server, for exported pages and for the viewer in the browser -----
#
# viser is the extra ``web`` and is imported on first use.

STILL = 1e-6
"""Largest change [m, and of rotation matrices] that is not sent again."""
PAGE_FPS = 60.0
"""[1/s] Most frames of a page: screens show no more."""
PAGE_ASPECT = 1.6
"""Aspect ratio for which the first view is framed."""
BELOW = 0.01
"""Distance [m] of the grid below the lowest thing, where there is no floor."""
BESIDE_PANEL, PANEL_SHIFT = 1.2, 0.45
"""Free part of a page of 1200 x 800 pixels beside the panel: its aspect ratio, and the distance of
its middle to the left of the page's, in halves of the height.
"""


def require_viser() -> Any:
    """Import viser, or raise a clear error.

    Raises:
        ImportError: The extra is not installed.
    """
    try:
        import viser
    except ImportError as error:
        message = "pages for the browser need the extra web: pip install 'gltf_bullet[web]'"
        raise ImportError(message) from error
    return viser


def open_server(host: str, port: int) -> tuple[viser.ViserServer, str]:
    """Start a server without terminal output; return it and its address. Port 0: any free one.

    The whole address is needed for access; see :mod:`.web_door`.

    Raises:
        ImportError: The extra is not installed.
        EngineError: The address cannot be bound, or this viser has no access check.
    """
    module = require_viser()
    door = Door(host)
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            port = probe.getsockname()[1]
    except (OSError, OverflowError) as error:
        why = f"the address {host}:{port} cannot be used: {error}; port 0 takes one that is free"
        raise EngineError(why) from error
    with contextlib.redirect_stdout(io.StringIO()), door.before():  # a banner of two addresses
        server: viser.ViserServer = module.ViserServer(
            host=host, port=port, label="gltf_bullet", verbose=False
        )
    if not door.is_in_place:
        stop_server(server)
        raise EngineError(
            f"viser {module.__version__} makes its server in a way that is not known here, so "
            "that everybody could come in: nothing was opened"
        )
    return server, door.url(server.get_port())


def stop_server(server: viser.ViserServer) -> None:
    """Stop a server without terminal output."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


@contextmanager
def web_server() -> Iterator[viser.ViserServer]:
    """Run a server on this machine alone while a page is being made."""
    server, _ = open_server("127.0.0.1", 0)
    try:
        yield server
    finally:
        stop_server(server)


class WebStage:
    """The meshes of one scene in one server."""

    def __init__(
        self,
        server: viser.ViserServer,
        core: SceneCore,
        shown: Shown = "auto",
        *,
        triggers: bool = False,
    ) -> None:
        """Add the meshes, and with ``triggers`` the volumes of triggers."""
        self._scene, self._core = server.scene, core
        self.meshes = shown_meshes(core, shown) + (trigger_meshes(core) if triggers else ())
        """Meshes in the order of :attr:`handles`."""
        up = np.asarray(core.placement.up, dtype=np.float64)
        with server.atomic():
            self._scene.set_up_direction(up)
            self._scene.configure_default_lights(enabled=True, cast_shadow=True)
            self.handles: list[Any] = [self._add(mesh) for mesh in self.meshes]
            self.ground: list[Any] = self._add_ground(up)
            """Handles of the ground, which is no mesh of the scene."""
        self._placed = np.full((len(self.meshes), 4, 4), np.nan)

    def _add(self, shown: ShownMesh) -> Any:
        if shown.is_endless:
            return add_ground(self._scene, shown.label, shown.world_from_mesh)
        return self._scene.add_glb(f"/{shown.label}", glb_of(shown.mesh))

    def _add_ground(self, up: FloatArray) -> list[Any]:
        """Add planes of others in the world as floor; without any, a grid below all meshes."""
        core = self._core
        planes = foreign_planes(core.client_id, set(core.world.body_ids))
        if planes:
            return [add_ground(self._scene, f"floor {k}", planes[k]) for k in planes]
        if any(mesh.is_endless for mesh in self.meshes) or not self.meshes:
            return []
        boxes = mesh_boxes(self.meshes, mesh_matrices(core, self.meshes)).reshape(-1, 3)
        world_from_grid = np.eye(4)
        world_from_grid[:3, :3] = picture_axes(up)[:, [0, 2, 1]] * [1.0, 1.0, -1.0]
        world_from_grid[:3, 3] = up * float((boxes @ up).min() - BELOW)
        return [add_ground(self._scene, "lines of a metre", world_from_grid, is_solid=False)]

    def place(self, world_from_node: FloatArray | None = None) -> None:
        """Set the poses of all meshes; ``None``: at the nodes' present matrices."""
        matrices = mesh_matrices(self._core, self.meshes, world_from_node)
        moved = ~(np.abs(matrices - self._placed) <= STILL).all(axis=(1, 2))
        rows = [k for k in np.flatnonzero(moved).tolist() if not self.meshes[k].is_endless]
        if not rows:
            return
        rotations = quats_from_matrices(matrices[rows, :3, :3])[:, [3, 0, 1, 2]]
        for row, rotation in zip(rows, rotations, strict=True):
            self.handles[row].position = matrices[row, :3, 3]
            self.handles[row].wxyz = rotation
        self._placed[rows] = matrices[rows]

    def remove(self) -> None:
        """Remove the meshes."""
        for handle in (*self.handles, *self.ground):
            handle.remove()
        self.handles, self.ground = [], []


def add_ground(
    scene: viser.SceneApi, label: str, world_from_plane: FloatArray, *, is_solid: bool = True
) -> Any:
    """Add an infinite plane through x and z of a frame, with squares of a metre.

    ``is_solid``: True for a visible plane, False for its lines alone.
    """
    x, y, z, w = quats_from_matrices(world_from_plane[None, :3, :3])[0].tolist()
    return scene.add_grid(
        f"/{label}",
        plane="xz",
        infinite_grid=True,
        cell_size=1.0,
        section_size=5.0,
        plane_opacity=0.9 if is_solid else 0.0,
        plane_color=(225, 228, 232),
        shadow_opacity=0.35 if is_solid else 0.0,
        wxyz=(w, x, y, z),
        position=world_from_plane[:3, 3],
    )


def aim_at_boxes(
    server: viser.ViserServer,
    core: SceneCore,
    moving: FloatArray,
    resting: FloatArray,
    *,
    aspect: float = PAGE_ASPECT,
    aside: float = 0.0,
) -> None:
    """Set the first view of new visitors to that of pictures.

    Args:
        server: Server of the page.
        core: The scene.
        moving: Boxes that matter most, as in ``framing_camera``.
        resting: The other boxes.
        aspect: Aspect ratio of the part of the page to fill.
        aside: Distance of its middle left of the page's, in halves of the page's height.
    """
    low, high = framed_box(moving, resting)
    camera = framing_camera(moving, resting, core.placement.up, aspect)
    matrix = camera.world_from_camera
    eye, back = matrix[:3, 3], matrix[:3, 2]
    # The mouse rotates the view about a point at the distance of the boxes' centre.
    target = eye - back * float(back @ (eye - 0.5 * (low + high)))
    shift = np.zeros(3)
    if isinstance(camera.lens, PerspectiveLens):
        angle = camera.lens.vertical_field_of_view
        server.initial_camera.fov = angle
        half_height = float(np.linalg.norm(matrix[:3, 3] - target)) * np.tan(0.5 * angle)
        shift = aside * half_height * matrix[:3, 0]
    server.initial_camera.position = matrix[:3, 3] + shift
    server.initial_camera.look_at = target + shift
    server.initial_camera.up = matrix[:3, 1]


def aim_at_scene(server: viser.ViserServer, core: SceneCore) -> None:
    """Set a view of the scene and its surroundings at present, beside the panel."""
    pictures = Pictures(core)
    try:
        whole = np.stack(pictures.framed_box())[None]
        aim_at_boxes(server, core, whole, whole[:0], aspect=BESIDE_PANEL, aside=PANEL_SHIFT)
    finally:
        pictures.close()


def require_page_suffix(path: str | os.PathLike[str]) -> None:
    """Raise an error for a path that is not of a page.

    Raises:
        ValueError: The suffix is another one.
    """
    if os.path.splitext(path)[1].lower() not in (".html", ".htm"):
        raise ValueError(f"{os.fspath(path)} must end in .html")


def page_of(
    core: SceneCore, times: FloatArray, world_from_nodes: Iterable[FloatArray], shown: Shown
) -> str:
    """Return the page.

    Args:
        core: The scene.
        times: Times of the frames [s], ascending from 0.
        world_from_nodes: Matrices of all nodes per frame, shape [node_count, 4, 4].
        shown: Meshes or colliders.

    Raises:
        ImportError: The extra ``web`` is not installed.
    """
    kept = np.unique(np.floor(times * PAGE_FPS + 1e-6), return_index=True)[1].tolist()
    kept += [len(times) - 1] * (kept[-1] < len(times) - 1)
    wanted = set(kept)
    frames = [frame for number, frame in enumerate(world_from_nodes) if number in wanted]
    times = times[kept]
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
    """Return the boxes of what moves over all frames, and of what rests."""
    moves = np.array([is_moved(core, mesh.owner) for mesh in meshes], dtype=bool)
    boxes = [mesh_boxes(meshes, mesh_matrices(core, meshes, frame)) for frame in frames]
    resting = boxes[0][~moves]
    return course_boxes([frame[moves] for frame in boxes], resting), resting

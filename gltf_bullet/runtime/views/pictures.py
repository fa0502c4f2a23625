"""Pictures of a scene through a camera of the file or of the caller, with glTF nodes per pixel."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gltf_bullet.bounds import DRAWN_TRIGGERS
from gltf_bullet.bullet.rendering.node_picking import NodePicking
from gltf_bullet.bullet.rendering.pictures import (
    PixelArray,
    RawPicture,
    Renderer,
    body_boxes,
    png_of,
    take_picture,
)
from gltf_bullet.bullet.rendering.visuals import ShownLink
from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.gltf.cameras import read_camera
from gltf_bullet.output_files import written_aside
from gltf_bullet.planning.shapes.shape_plans import InfinitePlanePlan
from gltf_bullet.records import replace
from gltf_bullet.rendering.camera import (
    Camera,
    ViewMatrices,
    camera_on_box,
    framed_box,
    framing_camera,
    view_matrices,
)
from gltf_bullet.rendering.shading import world_points
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.views.nodes import ByNode
from gltf_bullet.runtime.views.shown_meshes import (
    TRIGGER_ALPHA,
    is_moved,
    stand_ins,
    trigger_stand_ins,
)
from gltf_bullet.scene import Lens, PerspectiveLens
from gltf_bullet.suggestions import did_you_mean
from gltf_bullet.transforms import FloatArray, decompose_trs, matrices_from_quats

DEFAULT_SIZE = (800, 600)
"""Width and height [pixels]."""
NOTHING, OTHERS = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """A picture; the first row is the upper edge."""

    rgb: PixelArray
    """Colours, shape [height, width, 3]."""
    depth: npt.NDArray[np.float32]
    """Distance along the direction of view [m], infinite in the background; shape [height, width].
    """
    segmentation: npt.NDArray[np.int32]
    """glTF node per pixel, -1 in the background and -2 for bodies of others; shape [height, width].
    A transparent surface hides what is behind it, also in ``depth``.
    """
    camera: Camera | None = None
    """The camera, at its pose at that time; ``None`` for pictures that nobody took."""

    @property
    def intrinsics(self) -> FloatArray:
        """Camera matrix in OpenCV's convention, shape [3, 3]: focal lengths and centre [pixels].

        ``intrinsics @ (x, y, z)`` is ``z * (column, row, 1)`` of a point to the right, downwards
        and away from the camera [m]; pixels are counted from 0 and have their numbers in their
        middles. Of an orthographic camera it maps ``(x, y, 1)`` to ``(column, row, 1)``.
        """
        height, width = self.depth.shape
        projection = self._matrices().projection
        return np.array(
            [
                [0.5 * width * projection[0, 0], 0.0, 0.5 * (width - 1)],
                [0.0, 0.5 * height * projection[1, 1], 0.5 * (height - 1)],
                [0.0, 0.0, 1.0],
            ]
        )

    def points(self) -> FloatArray:
        """Return the point of the world at each pixel [m], shape [height, width, 3].

        They are NaN in the background.
        """
        found = world_points(self._taken_by(), self._matrices(), self.depth)
        found[~np.isfinite(self.depth)] = np.nan
        return found

    def _matrices(self) -> ViewMatrices:
        height, width = self.depth.shape
        return view_matrices(self._taken_by(), width / height, 0.0, for_tiny_renderer=False)

    def _taken_by(self) -> Camera:
        if self.camera is None:
            raise ValueError("the picture has no camera")
        return self.camera

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the colours as a file; folders above it are made.

        Args:
            path: Ends in ``.png``, ``.jpg`` or another suffix that Pillow knows.

        Raises:
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        from PIL import Image

        target = Path(path)
        known = Image.registered_extensions()
        if target.suffix.lower() not in known:
            raise ValueError(f"path is {str(target)!r}; must end in .png, .jpg or the like")
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_aside(target) as aside:
            Image.fromarray(self.rgb).save(aside, format=known[target.suffix.lower()])

    def _repr_png_(self) -> bytes:
        """Return the colours for notebooks."""
        return png_of(self.rgb)


@holds_world_lock("_core.session.lock")
class CameraView:
    """A camera of the file, at the present pose of its node."""

    __slots__ = ("_core", "lens", "name", "node")

    def __init__(self, core: SceneCore, node: int, name: str, lens: Lens) -> None:
        self._core = core
        self.node = node
        """The glTF node that carries it."""
        self.name = name
        """Name of the camera; the node has its own."""
        self.lens = lens

    @property
    def world_from_camera(self) -> FloatArray:
        """Rigid pose, shape [4, 4]; the camera looks along -Z, +Y is up in the picture."""
        self._core.require_alive()
        position, rotation, _ = decompose_trs(self._core.nodes.world_from_node[self.node])
        matrix = np.eye(4)
        matrix[:3, :3] = matrices_from_quats(rotation)
        matrix[:3, 3] = position
        return matrix

    @property
    def camera(self) -> Camera:
        """The camera at its present pose, as a value."""
        return Camera(world_from_camera=self.world_from_camera, lens=self.lens)

    def __repr__(self) -> str:
        return f"CameraView(node={self.node}, name={self.name!r}, lens={self.lens!r})"


def _cameras_of(core: SceneCore) -> ByNode[CameraView]:
    """Return the usable cameras of a scene, by node."""
    document, tree = core.asset.document, core.asset.tree
    found: dict[int, CameraView] = {}
    for node, index in enumerate(tree.camera_of):
        if index is None:
            continue
        # Problems of a camera were reported when the file was read.
        camera = read_camera(document, index, Diagnostics())
        if camera is not None:
            found[node] = CameraView(core, node, camera.name, camera.lens)
    return ByNode("cameras", found, tree.names)


@holds_world_lock("_core.session.lock")
class Pictures:
    """Takes the pictures of one scene."""

    def __init__(self, core: SceneCore) -> None:
        self._core = core
        self._painter: _Painter | None = None
        self.cameras = _cameras_of(core)
        """Cameras of the file by node index or name."""

    def take(
        self,
        camera: int | str | Camera | None = None,
        size: tuple[int, int] | None = None,
        *,
        renderer: Renderer = "tiny",
        with_nodes: bool = True,
        shadows: bool | tuple[FloatArray, FloatArray] = False,
        triggers: bool = False,
    ) -> Picture:
        """Take a picture; arguments and errors as for ``Scene.render``.

        Args:
            camera: As for ``Scene.render``.
            size: As for ``Scene.render``.
            renderer: As for ``Scene.render``.
            with_nodes: ``False`` leaves ``segmentation`` empty, which is cheaper.
            shadows: As for ``Scene.render``; or lowest and highest corner in the world of the box
                whose contents throw shadows, where several pictures shall have the same.
            triggers: As for ``Scene.render``.
        """
        self._core.require_alive()
        if size is not None and not all(1 <= pixels <= 16384 for pixels in size):
            raise ValueError(f"size is {size}; must be two numbers in 1 .. 16384")
        if renderer not in ("tiny", "hardware"):
            raise ValueError(f"renderer is {renderer!r}; must be tiny or hardware")
        if camera is not None and not isinstance(camera, Camera):
            camera = self.require_camera(camera).camera
        return self._current_painter().take(
            camera, size, renderer, with_nodes=with_nodes, shadows=shadows, triggers=triggers
        )

    def rgb(
        self,
        camera: int | str | Camera | None = None,
        size: tuple[int, int] | None = None,
        *,
        renderer: Renderer = "tiny",
        box: tuple[FloatArray, FloatArray] | None = None,
        shadows: bool | tuple[FloatArray, FloatArray] = False,
        triggers: bool = False,
    ) -> PixelArray:
        """Return only the colours of :meth:`take`, shape [height, width, 3].

        For films with a fixed camera, give the ``box`` to frame: lowest and highest corner in the
        world, as :meth:`framed_box` returns them for one time; shadows are of what is in it.
        """
        if camera is None and box is not None:
            width, height = size or DEFAULT_SIZE
            camera = camera_on_box(*box, self._core.placement.up, width / height)
            shadows = box if shadows is True else shadows
        return self.take(
            camera, size, renderer=renderer, with_nodes=False, shadows=shadows, triggers=triggers
        ).rgb

    def framed_box(self) -> tuple[FloatArray, FloatArray]:
        """Return the box that a picture without a camera would frame now: two corners [m]."""
        return framed_box(*self.boxes())

    def still_camera(self, size: tuple[int, int]) -> Camera:
        """Return the camera of a picture without one now, which stays there as things move.

        Things may go three times as far away as they are, and are seen still.
        """
        boxes, (width, height) = self.boxes(), size
        camera = framing_camera(*boxes, self._core.placement.up, width / height)
        lens = camera.lens
        if isinstance(lens, PerspectiveLens) and lens.far is None:
            lens = replace(lens, far=3.0 * _reach(np.concatenate(boxes), camera))
        return replace(camera, lens=lens)

    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Return corners of the boxes that move, and that rest [m], shape [n, 2, 3] each."""
        self._core.require_alive()
        return self._current_painter().boxes()

    def require_camera(self, key: int | str) -> CameraView:
        """Return a camera of the file by node index, node name or its own name.

        Raises:
            KeyError: There is none, or several of that name.
        """
        if key in self.cameras:
            return self.cameras[key]
        found = [view for view in self.cameras.values() if view.name == key]
        if len(found) == 1:
            return found[0]
        names = [
            view.name or self._core.asset.tree.names[node] for node, view in self.cameras.items()
        ]
        if not names:
            raise UnknownNameError(
                f"there is no camera {key!r}: the file has none that is on a node"
            )
        near = did_you_mean(key, names) if isinstance(key, str) else ""
        raise UnknownNameError(f"{key!r} names {len(found)} cameras; there are {names}{near}")

    def close(self) -> None:
        """Free the resources for drawing; the next picture makes them anew."""
        if self._painter is not None:
            self._painter.close()
        self._painter = None

    def _current_painter(self) -> _Painter:
        # A rebuilt scene has other bodies.
        if self._painter is None or self._painter.world is not self._core.world:
            self.close()
            self._painter = _Painter(self._core)
        return self._painter


class _Painter:
    """Draws the bodies that a scene has at present."""

    def __init__(self, core: SceneCore) -> None:
        self._core = core
        self.world = core.world
        self._shown: tuple[ShownLink, ...] = core.world.shown
        bounds = [shown.visual.mesh.bounds() for shown in self._shown]
        self._centers: FloatArray = np.array([0.5 * (low + high) for low, high in bounds])
        self._halves: FloatArray = np.array([0.5 * (high - low) for low, high in bounds])
        self._several = [
            shown for shown in self._shown if len(np.unique(shown.visual.mesh.part_of_triangle)) > 1
        ]
        self._stand_ins = stand_ins(core)
        self._triggers = trigger_stand_ins(core)
        shows_planes = core.options.visuals == "collider" or (
            self._stand_ins is not None and core.asset.automatic_visuals == "collider"
        )
        is_filled = core.options.visuals == "auto" or self._stand_ins is not None
        bare = core.asset.bare_colliders if is_filled else frozenset()
        self._planes = _endless_planes(core, None if shows_planes else bare)
        self._picking = NodePicking([shown.visual for shown in self._several])

    def close(self) -> None:
        """Free the resources for drawing."""
        self._picking.close()
        for hidden in (self._stand_ins, self._triggers):
            if hidden is not None:
                hidden.close()

    def take(
        self,
        camera: Camera | None,
        size: tuple[int, int] | None,
        renderer: Renderer,
        *,
        with_nodes: bool,
        shadows: bool | tuple[FloatArray, FloatArray],
        triggers: bool,
    ) -> Picture:
        """Take a picture; see ``Scene.render``."""
        core = self._core
        if renderer == "hardware" and core.options.visuals == "mesh" and not self._shown:
            warnings.warn(
                "no body of the scene shows a mesh, so there is nothing to see of it by hardware; "
                'LoadOptions(visuals="collider") shows its collision shapes',
                RuntimeWarning,
                stacklevel=4,
            )
        volumes = len(core.world.plan.triggers.volumes) if triggers else 0
        if volumes > DRAWN_TRIGGERS:
            warnings.warn(
                f"the scene has {volumes} volumes of triggers; {DRAWN_TRIGGERS} of them are drawn",
                RuntimeWarning,
                stacklevel=4,
            )
        width, height = size or _size_for(camera)
        boxes = self.boxes() if shadows is True else None
        shadows_of = shadows or None
        if shadows_of is True:
            shadows_of = framed_box(*(boxes or self.boxes()))
        if camera is None:
            boxes = boxes or self.boxes()
            camera = framing_camera(*boxes, core.placement.up, width / height)
        reach = 0.0
        if isinstance(camera.lens, PerspectiveLens) and camera.lens.far is None:
            reach = _reach(np.concatenate(boxes or self.boxes()), camera)
        raw = take_picture(
            core.client_id,
            camera,
            width,
            height,
            up=core.placement.up,
            reach=reach,
            transparent=[
                (shown.body_id, shown.link, shown.visual.mesh.color[3])
                for shown in self._shown
                if shown.visual.mesh.is_transparent
            ],
            renderer=renderer,
            shadows_of=shadows_of,
            planes=self._planes,
            stand_ins=self._stand_ins if renderer == "tiny" else None,
            veils=self._triggers if triggers else None,
            veil_alpha=TRIGGER_ALPHA,
        )
        nodes = np.zeros((0, 0), dtype=np.int32)
        if with_nodes:
            nodes = self._nodes(raw, camera, width, height, reach)
        return Picture(rgb=raw.rgb, depth=raw.depth, segmentation=nodes, camera=camera)

    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Return corners of the boxes that move, and that rest [m], shape [n, 2, 3] each."""
        core = self._core
        movers = core.world.moving_links
        moving: list[FloatArray] = []
        resting: list[FloatArray] = []
        for body_id in core.world.body_ids:
            # Anchors of joints, and floors that these are on, are links of what moves.
            for link, box in enumerate(body_boxes(core.client_id, body_id), start=-1):
                (moving if (body_id, link) in movers else resting).append(box)
        if self._shown:
            matrices = core.nodes.shown_matrices(self._shown)
            turns = matrices[:, :3, :3]
            middles = np.einsum("kij,kj->ki", turns, self._centers) + matrices[:, :3, 3]
            reaches = np.einsum("kij,kj->ki", np.abs(turns), self._halves)
            found = np.stack([middles - reaches, middles + reaches], axis=1)
            moves = np.array([is_moved(core, shown.owner) for shown in self._shown])
            moving.extend(found[moves])
            resting.extend(found[~moves])
        return (np.array(moving).reshape(-1, 2, 3), np.array(resting).reshape(-1, 2, 3))

    def _nodes(
        self, raw: RawPicture, camera: Camera, width: int, height: int, reach: float
    ) -> npt.NDArray[np.int32]:
        # Few links are visible, however many there are.
        keys = np.where(raw.bodies < 0, -1, (raw.links + 1) << 32 | raw.bodies)
        seen, numbers = np.unique(keys, return_inverse=True)
        numbers = numbers.reshape(keys.shape)
        collider_of_link = self._core.world.collider_node_of_link
        shown_of_link = {(shown.body_id, shown.link): shown for shown in self._shown}
        several = {(shown.body_id, shown.link) for shown in self._several}
        nodes, is_several = [], []
        for key in seen.tolist():
            link = (key & 0xFFFFFFFF, (key >> 32) - 1)
            node = collider_of_link.get(link, OTHERS)
            if link in shown_of_link:
                visual = shown_of_link[link].visual
                node = visual.nodes[int(visual.mesh.part_of_triangle[0])]
            nodes.append(NOTHING if key < 0 else node)
            is_several.append(key >= 0 and link in several)
        result = np.array(nodes)[numbers]
        if any(is_several):
            found = self._picking.nodes_seen(
                camera,
                width,
                height,
                up=self._core.placement.up,
                reach=reach,
                world_from_visuals=self._core.nodes.shown_matrices(self._several),
            )
            for shown in self._several:
                # Where two bodies touch, the private world may show the other one: keep ours.
                here = (raw.bodies == shown.body_id) & (raw.links == shown.link)
                here &= np.isin(found, shown.visual.nodes)
                result[here] = found[here]
        return result.astype(np.int32)


def _endless_planes(
    core: SceneCore, only: frozenset[int] | None
) -> dict[tuple[int, int], FloatArray]:
    """Return world_from_plane, normal y, of infinite planes by body id and link.

    ``only``: the collider nodes of interest; ``None``: all.
    """
    frames = core.nodes.frames_now()
    link_of_node = {node: link for link, node in core.world.collider_node_of_link.items()}
    return {
        link_of_node[plan.node]: frames.pose(plan.node).matrix()
        @ plan.shape.body_from_shape.matrix()
        for plan in core.world.plan.bodies.statics
        if isinstance(plan.shape.shape, InfinitePlanePlan)
        and plan.node in link_of_node
        and (only is None or plan.node in only)
    }


def _size_for(camera: Camera | None) -> tuple[int, int]:
    aspect = None if camera is None else camera.aspect_ratio()
    if aspect is None:
        return DEFAULT_SIZE
    return DEFAULT_SIZE[0], max(1, round(DEFAULT_SIZE[0] / aspect))


def _reach(boxes: FloatArray, camera: Camera) -> float:
    """Return the distance to the farthest corner [m], for lenses without a far plane."""
    if not len(boxes):
        return 100.0
    eye = camera.world_from_camera[:3, 3]
    corners = boxes[np.isfinite(boxes).all(axis=(1, 2))]
    if not len(corners):
        return 100.0
    farthest = np.abs(corners - eye).max(axis=1)
    return float(min(np.linalg.norm(farthest, axis=1).max(), 1e5))

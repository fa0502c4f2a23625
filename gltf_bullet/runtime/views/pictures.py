"""Pictures of a scene: through a camera of the file or of the caller, with glTF nodes in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gltf_bullet.bullet.rendering.node_picking import NodePicking
from gltf_bullet.bullet.rendering.pictures import (
    PixelArray,
    RawPicture,
    Renderer,
    body_boxes,
    take_picture,
)
from gltf_bullet.bullet.rendering.visuals import ShownLink
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.cameras import read_camera
from gltf_bullet.rendering.camera import Camera, framing_camera
from gltf_bullet.runtime.views.handles import ByNode
from gltf_bullet.scene import Lens, PerspectiveLens
from gltf_bullet.transforms import FloatArray, decompose_trs, matrices_from_quats

if TYPE_CHECKING:
    from gltf_bullet.runtime.views.picture_scene import PictureScene

__all__ = ["DEFAULT_SIZE", "CameraView", "Picture", "ScenePictures", "cameras_of"]

DEFAULT_SIZE = (800, 600)
NOTHING, OTHERS = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """What a camera saw; the first row is the upper edge."""

    rgb: PixelArray
    """Shape [height, width, 3]."""
    depth: npt.NDArray[np.float32]
    """Distance along the direction of view [m], infinite where nothing is; shape [height, width].
    """
    segmentation: npt.NDArray[np.int32]
    """glTF node that is seen, -1 where nothing is and -2 for bodies of others; shape [height,
    width]. What is seen through hides what is behind it, also in ``depth``."""


class CameraView:
    """A camera of the file, as its node stands now."""

    __slots__ = ("_scene", "lens", "name", "node")

    def __init__(self, scene: PictureScene, node: int, name: str, lens: Lens) -> None:
        self._scene = scene
        self.node = node
        """The glTF node that carries it."""
        self.name = name
        """Of the camera itself; the node has its own."""
        self.lens = lens

    @property
    def world_from_camera(self) -> FloatArray:
        """Rigid; it looks along -Z, +Y is up in the picture; shape [4, 4]."""
        position, rotation, _ = decompose_trs(self._scene.node_matrix(self.node))
        matrix = np.eye(4)
        matrix[:3, :3] = matrices_from_quats(rotation)
        matrix[:3, 3] = position
        return matrix

    @property
    def camera(self) -> Camera:
        """As it stands now, to be changed or kept."""
        return Camera(world_from_camera=self.world_from_camera, lens=self.lens)

    def __repr__(self) -> str:
        return f"CameraView(node={self.node}, name={self.name!r}, lens={self.lens!r})"


def cameras_of(scene: PictureScene) -> ByNode[CameraView]:
    """The usable cameras of a scene, by node."""
    document, tree = scene.asset.document, scene.asset.tree
    found: dict[int, CameraView] = {}
    for node, index in enumerate(tree.camera_of):
        if index is None:
            continue
        # What is wrong with a camera was reported when the file was read.
        camera = read_camera(document, index, Diagnostics())
        if camera is not None:
            found[node] = CameraView(scene, node, camera.name, camera.lens)
    return ByNode(found, tree.names)


class ScenePictures:
    """Draws one scene; one per stage, as body ids change with it."""

    def __init__(self, scene: PictureScene) -> None:
        self._scene = scene
        self._world = scene.world
        self._shown: tuple[ShownLink, ...] = scene.world.shown
        bounds = [shown.visual.mesh.bounds() for shown in self._shown]
        self._centers: FloatArray = np.array([0.5 * (low + high) for low, high in bounds])
        self._halves: FloatArray = np.array([0.5 * (high - low) for low, high in bounds])
        self._several = [
            shown for shown in self._shown if len(np.unique(shown.visual.mesh.part_of_triangle)) > 1
        ]
        self._finder = NodePicking([shown.visual for shown in self._several])

    @property
    def is_current(self) -> bool:
        """Whether the scene still has the bodies that this knows."""
        return self._world is self._scene.world

    def close(self) -> None:
        """Free what drawing needed."""
        self._finder.close()

    def take(
        self,
        camera: Camera | None,
        size: tuple[int, int] | None,
        renderer: Renderer,
        *,
        with_nodes: bool,
    ) -> Picture:
        """A picture; see ``Scene.render``."""
        scene = self._scene
        width, height = size or _size_for(camera)
        boxes = None
        if camera is None:
            boxes = self.boxes()
            camera = framing_camera(*boxes, scene.up, width / height)
        reach = 0.0
        if isinstance(camera.lens, PerspectiveLens) and camera.lens.far is None:
            reach = _reach(np.concatenate(boxes or self.boxes()), camera)
        raw = take_picture(
            scene.client_id,
            camera,
            width,
            height,
            up=scene.up,
            reach=reach,
            transparent=[
                (shown.body_id, shown.link, shown.visual.mesh.color[3])
                for shown in self._shown
                if shown.visual.mesh.is_transparent
            ],
            renderer=renderer,
        )
        nodes = np.zeros((0, 0), dtype=np.int32)
        if with_nodes:
            nodes = self._nodes(raw, camera, width, height, reach)
        return Picture(rgb=raw.rgb, depth=raw.depth, segmentation=nodes)

    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """What moves and what rests: lowest and highest corners [m], shape [n, 2, 3] each."""
        scene = self._scene
        moving_ids = scene.world.moving_ids
        moving: list[FloatArray] = []
        resting: list[FloatArray] = []
        for body_id in scene.world.body_ids:
            boxes = body_boxes(scene.client_id, body_id)
            (moving if body_id in moving_ids else resting).extend(boxes)
        if self._shown:
            matrices = scene.shown_matrices(self._shown)
            turns = matrices[:, :3, :3]
            middles = np.einsum("kij,kj->ki", turns, self._centers) + matrices[:, :3, 3]
            reaches = np.einsum("kij,kj->ki", np.abs(turns), self._halves)
            found = np.stack([middles - reaches, middles + reaches], axis=1)
            moves = np.array([shown.body_id in moving_ids for shown in self._shown])
            moving.extend(found[moves])
            resting.extend(found[~moves])
        return (np.array(moving).reshape(-1, 2, 3), np.array(resting).reshape(-1, 2, 3))

    def _nodes(
        self, raw: RawPicture, camera: Camera, width: int, height: int, reach: float
    ) -> npt.NDArray[np.int32]:
        # Few links are seen, however many there are.
        keys = np.where(raw.bodies < 0, -1, (raw.links + 1) << 32 | raw.bodies)
        seen, numbers = np.unique(keys, return_inverse=True)
        numbers = numbers.reshape(keys.shape)
        collider_of_link = self._scene.world.collider_node_of_link
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
            found = self._finder.nodes_seen(
                camera,
                width,
                height,
                up=self._scene.up,
                reach=reach,
                world_from_visuals=self._scene.shown_matrices(self._several),
            )
            for shown in self._several:
                # Where two bodies touch, the private world may see the other one: keep ours.
                here = (raw.bodies == shown.body_id) & (raw.links == shown.link)
                here &= np.isin(found, shown.visual.nodes)
                result[here] = found[here]
        return result.astype(np.int32)


def _size_for(camera: Camera | None) -> tuple[int, int]:
    aspect = None if camera is None else camera.aspect_ratio()
    if aspect is None:
        return DEFAULT_SIZE
    return DEFAULT_SIZE[0], max(1, round(DEFAULT_SIZE[0] / aspect))


def _reach(boxes: FloatArray, camera: Camera) -> float:
    """Distance to the farthest corner, for lenses without an end."""
    if not len(boxes):
        return 100.0
    eye = camera.world_from_camera[:3, 3]
    corners = boxes[np.isfinite(boxes).all(axis=(1, 2))]
    if not len(corners):
        return 100.0
    farthest = np.abs(corners - eye).max(axis=1)
    return float(min(np.linalg.norm(farthest, axis=1).max(), 1e5))

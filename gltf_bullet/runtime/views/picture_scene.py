"""A scene that can be looked at; :class:`~gltf_bullet.runtime.scene.Scene` adds all else."""

from __future__ import annotations

from collections.abc import Sequence

from gltf_bullet.bullet.rendering.pictures import PixelArray, Renderer
from gltf_bullet.bullet.rendering.visuals import ShownLink
from gltf_bullet.rendering.camera import Camera, camera_on_box, framed_box
from gltf_bullet.runtime.scene_core import LiveScene
from gltf_bullet.runtime.views.handles import ByNode
from gltf_bullet.runtime.views.pictures import (
    DEFAULT_SIZE,
    CameraView,
    Picture,
    ScenePictures,
    cameras_of,
)
from gltf_bullet.transforms import FloatArray

__all__ = ["PictureScene"]


class PictureScene(LiveScene):
    """What makes pictures of a scene."""

    _pictures: ScenePictures | None = None
    _cameras: ByNode[CameraView] | None = None

    def node_matrix(self, node: int) -> FloatArray:
        """world_from_node, scale included; a copy, shape [4, 4]."""
        matrix: FloatArray = self._stage.world_from_node[node].copy()
        return matrix

    @property
    def cameras(self) -> ByNode[CameraView]:
        """Cameras of the file by node index or name."""
        if self._cameras is None:
            self._cameras = cameras_of(self)
        return self._cameras

    def render(
        self,
        camera: int | str | Camera | None = None,
        size: tuple[int, int] | None = None,
        *,
        renderer: Renderer = "tiny",
    ) -> Picture:
        """A picture of the world: colours, distances, and the glTF node seen at each pixel.

        What is seen of the scene is chosen by :attr:`LoadOptions.visuals`.

        Args:
            camera: The node that carries a camera of the file (index or name), the name of such a
                camera, or a :class:`Camera`; ``None`` frames this scene.
            size: Width and height [pixels]; ``None``: 800 wide, as high as the camera asks for.
            renderer: ``"tiny"`` is PyBullet's software renderer, which works everywhere;
                ``"hardware"`` is OpenGL, in a client with a window or with the EGL plugin.

        Raises:
            KeyError: There is no such camera, or several of that name.
            ValueError: A size that is no picture.
        """
        return self._take(camera, size, renderer, with_nodes=True)

    def render_rgb(
        self,
        camera: int | str | Camera | None = None,
        size: tuple[int, int] | None = None,
        *,
        renderer: Renderer = "tiny",
        box: tuple[FloatArray, FloatArray] | None = None,
    ) -> PixelArray:
        """Only the colours of :meth:`render`, shape [height, width, 3].

        For films, whose camera shall stand still, give the ``box`` to frame: lowest and highest
        corner in the world, as :meth:`framed_box` tells them for one moment.
        """
        if camera is None and box is not None:
            width, height = size or DEFAULT_SIZE
            camera = camera_on_box(*box, self.up, width / height)
        return self._take(camera, size, renderer, with_nodes=False).rgb

    def framed_box(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest corner of what a picture without a camera would frame now [m]."""
        self.require_alive()
        return framed_box(*self.pictures.boxes())

    def _take(
        self,
        camera: int | str | Camera | None,
        size: tuple[int, int] | None,
        renderer: Renderer,
        *,
        with_nodes: bool,
    ) -> Picture:
        self.require_alive()
        if size is not None and not all(1 <= pixels <= 16384 for pixels in size):
            raise ValueError(f"size is {size}; must be two numbers in 1 .. 16384")
        if renderer not in ("tiny", "hardware"):
            raise ValueError(f"renderer is {renderer!r}; must be tiny or hardware")
        if isinstance(camera, (int, str)):
            camera = self.require_camera(camera).camera
        return self.pictures.take(camera, size, renderer, with_nodes=with_nodes)

    @property
    def pictures(self) -> ScenePictures:
        """What draws this scene."""
        if self._pictures is None or not self._pictures.is_current:
            if self._pictures is not None:
                self._pictures.close()
            self._pictures = ScenePictures(self)
        return self._pictures

    def require_camera(self, key: int | str) -> CameraView:
        """A camera of the file by node index, node name or its own name.

        Raises:
            KeyError: There is none, or several of that name.
        """
        if key in self.cameras:
            return self.cameras[key]
        found = [view for view in self.cameras.values() if view.name == key]
        if len(found) != 1:
            names = [view.name or self.asset.tree.names[node]
                     for node, view in self.cameras.items()]  # fmt: skip
            raise KeyError(f"{key!r} names {len(found)} cameras; there are {names}")
        return found[0]

    @property
    def up(self) -> FloatArray:
        """The asset's +Y in the world, shape [3]."""
        return self._placement.up

    def shown_matrices(self, links: Sequence[ShownLink]) -> FloatArray:
        """Where shown meshes stand, rigid, shape [len(links), 4, 4]."""
        return self._stage.shown_matrices(links)

    def remove(self) -> None:
        """Take every body of this scene out of the world; later use raises. Twice is harmless."""
        if self._pictures is not None:
            self._pictures.close()
            self._pictures = None
        super().remove()

"""A rollout as a glTF animation of the same file, which any viewer plays."""

from __future__ import annotations

import math
import os
from html import escape

import numpy as np

from gltf_bullet.errors import GltfBulletError
from gltf_bullet.output_files import written_aside
from gltf_bullet.runtime.keyframes import (
    continuous_rotations,
    reduce_rotations,
    reduce_vectors,
)
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.views.export import Track, node_poses, write_posed
from gltf_bullet.runtime.views.notebook import framed_page
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.runtime.views.web_export import page_of
from gltf_bullet.transforms import FloatArray, decompose_trs

__all__ = ["Recording", "record"]


def record(scene: Scene, *, fps: float = 30.0) -> Recording:
    """Record a scene from now on; step it, then call ``export_glb``.

    Args:
        scene: Any scene; the present moment is the first frame.
        fps: Frames per second of simulated time at most; frames fall on engine steps.

    Raises:
        ValueError: ``fps`` is not a finite number above 0.
    """
    if not (math.isfinite(fps) and fps > 0.0):
        raise ValueError(f"fps is {fps!r}; must be a finite number > 0")
    return Recording(scene, fps)


class Recording:
    """Frames of one scene: local transforms of every node that physics or animation moves."""

    def __init__(self, scene: Scene, fps: float) -> None:
        scene.core.require_alive()
        self._core = scene.core
        self._interval = 1.0 / fps
        self._start = scene.time
        self._nodes = scene.core.nodes.moving_nodes
        self._times: list[float] = []
        self._frames: list[FloatArray] = []
        self._note(force=True)
        self._stop = scene.core.on_step(self._note)

    @property
    def frame_count(self) -> int:
        """Frames so far."""
        return len(self._times)

    @property
    def duration(self) -> float:
        """Recorded time [s]."""
        return self._times[-1]

    def stop(self) -> None:
        """Record no more; what there is can still be exported."""
        self._stop()

    def export_glb(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "Simulation",
        tolerance: float = 1e-4,
        angle_tolerance: float = 2e-4,
        force: bool = False,
    ) -> bool:
        """Write the file with the rollout as one more animation, at the pose of its first frame.

        Args:
            path: Ends in ``.glb`` or ``.gltf``.
            name: Of the animation.
            tolerance: How far a dropped key may be off [m in the node's parent], and for scales.
            angle_tolerance: ... and for rotations [rad].
            force: Write over the file that the scene was loaded from, too.

        Returns:
            Whether anything moves: without that there is no animation in the written file.

        Raises:
            FileExistsError: ``path`` is the file that the scene was loaded from.
            ContainerError: A buffer of the file cannot be read.
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        self._note(force=True)
        times = np.array(self._times)
        frames = np.array(self._frames).reshape(len(times), len(self._nodes), 4, 4)
        translations, rotations, scales = decompose_trs(frames)
        tracks: list[Track] = []
        for column, node in enumerate(self._nodes.tolist()):
            turned = continuous_rotations(rotations[:, column])
            for property_path, values, keys in (
                (
                    "translation",
                    translations[:, column],
                    reduce_vectors(times, translations[:, column], tolerance),
                ),
                ("rotation", turned, reduce_rotations(times, turned, angle_tolerance)),
                ("scale", scales[:, column], reduce_vectors(times, scales[:, column], tolerance)),
            ):
                if len(keys) > 1:
                    tracks.append(Track(node, property_path, times[keys], values[keys]))
        write_posed(
            self._core.asset.document,
            path,
            poses=node_poses(self._nodes, frames[0]),
            velocities={},
            tracks=tracks,
            animation_name=name,
            force=force,
        )
        return bool(tracks)

    def export_html(
        self,
        path: str | os.PathLike[str],
        *,
        visuals: Shown = "auto",
    ) -> None:
        """Write a page that plays the rollout in any browser, with a time slider, off the network.

        Needs the extra ``web``. While the page is made, a port of this machine alone is open.

        Args:
            path: Ends in ``.html``.
            visuals: ``"mesh"``, ``"collider"``, or ``"auto"``: meshes where the file has any.

        Raises:
            ImportError: The extra is not installed.
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        if os.path.splitext(path)[1].lower() not in (".html", ".htm"):
            raise ValueError(f"{os.fspath(path)} must end in .html")
        page = self._page(visuals)
        with written_aside(path) as aside:
            aside.write_text(page, encoding="utf-8")

    def _page(self, visuals: Shown) -> str:
        self._note(force=True)
        nodes = self._core.nodes
        frames = (nodes.composed(self._nodes, frame) for frame in self._frames)
        return page_of(self._core, np.array(self._times), frames, visuals)

    def __repr__(self) -> str:
        return f"Recording({self._core.asset.path!r}, {self.frame_count} frames)"

    def _repr_html_(self) -> str:
        """In notebooks: a player, with the extra ``web``."""
        try:
            return framed_page(self._page("auto"))
        except (ImportError, GltfBulletError) as error:
            return f"<p>{escape(repr(self))}: {escape(str(error))}</p>"

    def _note(self, *, force: bool = False) -> None:
        time = self._core.time - self._start
        if self._times and time <= self._times[-1]:
            return
        due = not self._times or time >= self._times[0] + self._interval * len(self._times) - 1e-9
        if due or force:
            self._times.append(time)
            self._frames.append(self._core.nodes.local_matrices(self._nodes))

"""Recording of a scene as a glTF animation of its file, for any viewer."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from html import escape
from typing import Literal

import numpy as np

from gltf_bullet.bullet.world_lock import holds_world_lock
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.output_files import written_aside
from gltf_bullet.rendering.camera import Camera
from gltf_bullet.runtime.followers import Jump
from gltf_bullet.runtime.recording.keyframes import (
    ascending_times,
    continuous_rotations,
    next_due,
    reduce_rotations,
    reduce_steps,
    reduce_vectors,
    require_number,
)
from gltf_bullet.runtime.recording.link_tracks import Chain, chain_tracks
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.views.export import Track, node_poses, write_posed
from gltf_bullet.runtime.views.film_export import film_look, film_suffix, write_film
from gltf_bullet.runtime.views.notebook import framed_page
from gltf_bullet.runtime.views.shown_meshes import Shown
from gltf_bullet.runtime.views.web_export import page_of, require_page_suffix
from gltf_bullet.transforms import FloatArray, IntArray, decompose_trs


def record(scene: Scene, *, fps: float | None = None, tolerance: float | None = None) -> Recording:
    """Record a scene from now on; step it, then call ``export_glb``.

    By default every step is read, and keys are kept where playback would be off by more than a
    millimetre at any of them. At 240 steps a second a flying and bouncing box takes some 4 kB of
    the file for each second, one at rest next to nothing; until it is written, 128 bytes for each
    step and each node that may move (:attr:`Recording.size`).

    ``reset``, ``restart`` and ``restore_state`` begin a new take at the state that they go to: the
    earlier frames are dropped, so that for an environment there is the latest episode from its
    start. To keep a run, call ``stop`` before, or export it.

    Args:
        scene: Any scene; its present state is the first frame.
        fps: Largest number of frames per second of simulated time, instead of every step; frames
            fall on engine steps, and what happens between them is lost: at 30 a second a bounce at
            4 m/s is missed by some 5 cm.
        tolerance: Largest error [m] of a node in the world at any frame, and of points at a
            distance of 1 m that rotate with it; ``None``: 1e-3, with ``fps`` 1e-4 in its parent's
            frame.

    Raises:
        TypeError: It is no scene; ``record_world`` records whole worlds.
        ValueError: ``fps`` or ``tolerance`` is not a finite number above 0.
    """
    if not isinstance(scene, Scene):
        raise TypeError(f"scene is {scene!r}; must be a Scene; record_world(client) records worlds")
    for name, value in (("fps", fps), ("tolerance", tolerance)):
        if value is not None:
            require_number(name, value)
    return Recording(scene, fps, tolerance)


@holds_world_lock("_core.session.lock")
class Recording:
    """Frames of one scene: local transforms of all nodes that are moved or were set."""

    def __init__(self, scene: Scene, fps: float | None, tolerance: float | None) -> None:
        self._core = scene.core
        self._interval = 0.0 if fps is None else 1.0 / fps
        self._tolerance = tolerance
        self._is_stopped = False
        with scene.core.session.lock:
            scene.core.require_alive()
            self._begin_take()
            self._stop = scene.core.on_step(self._note)
            self._stop_jumps = scene.core.followers.on_jump(self._note_jump)

    @property
    def size(self) -> int:
        """Memory of the frames until they are written [bytes]."""
        return sum(matrices.nbytes for _, matrices in self._frames)

    @property
    def frame_count(self) -> int:
        """Number of frames so far."""
        return len(self._times)

    @property
    def duration(self) -> float:
        """Recorded time [s]."""
        return self._times[-1]

    def stop(self) -> None:
        """Stop recording, with the present state as the last frame; export is still possible."""
        self._note(force=True)
        self._is_stopped = True
        self._stop()
        self._stop_jumps()

    def export_glb(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "Simulation",
        tolerance: float | None = None,
        angle_tolerance: float | None = None,
        force: bool = False,
    ) -> bool:
        """Write the file with the recording as one more animation, at the pose of its first frame.

        Args:
            path: Ends in ``.glb`` or ``.gltf``.
            name: Name of the animation.
            tolerance: Largest error [m] of a node in the world at dropped keys; with ``fps``, in
                its parent. ``None``: that of the recording.
            angle_tolerance: Largest error of rotations [rad]; ``None``: as much as ``tolerance``
                allows for what they carry, with ``fps`` 2e-4.
            force: Write over the file that the scene was loaded from, too.

        Returns:
            True if anything moves: without that there is no animation in the written file.

        Raises:
            FileExistsError: ``path`` is the file that the scene was loaded from.
            ContainerError: A buffer of the file cannot be read.
            ValueError: Another suffix, or a tolerance that is not a finite number of 0 or more.
            OSError: The file cannot be written.
        """
        for key, value in (("tolerance", tolerance), ("angle_tolerance", angle_tolerance)):
            if value is not None:
                require_number(key, value, or_zero=True)
        self._note(force=True)
        nodes = np.unique(np.concatenate([nodes for nodes, _ in self._frames]))
        frames = self._frames_of(nodes)
        tracks = self._tracks(nodes, frames, tolerance, angle_tolerance)
        write_posed(
            self._core.asset.document,
            path,
            poses=node_poses(self._core.asset.tree, nodes, frames[0]),
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
        """Write a page that plays the recording in any browser, with a time slider, offline.

        It needs the extra ``web``. While the page is made, a port of this machine alone is open.

        Args:
            path: Ends in ``.html``.
            visuals: ``"mesh"``, ``"collider"``, or ``"auto"``: meshes if the file has any.

        Raises:
            ImportError: The extra is not installed.
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        require_page_suffix(path)
        page = self._page(visuals)
        with written_aside(path) as aside:
            aside.write_text(page, encoding="utf-8")

    def export_film(
        self,
        path: str | os.PathLike[str],
        *,
        size: tuple[int, int] = (640, 400),
        fps: float = 30.0,
        frames: int = 6,
        camera: Camera | None = None,
        visuals: Shown = "auto",
    ) -> None:
        """Draw the recording as a film: ``.mp4``, ``.gif``, or as ``.png`` a sheet of some frames.

        It is drawn in a private world, with shadows and triggers. Of others in the scene's world it
        shows infinite planes alone: :func:`~gltf_bullet.record_world` records their bodies. The
        scene's ``LoadOptions.progress`` is told about it.

        Args:
            path: Its suffix selects the format; folders above it are made.
            size: Width and height of a frame [pixels].
            fps: Frames per second of simulated time.
            frames: Number of frames on a sheet, the first and the last of the recording among them.
            camera: Fixed camera; ``None``: one that sees the whole recording.
            visuals: As for :meth:`export_html`.

        Raises:
            ImportError: ``.mp4`` without the extra ``media``.
            ValueError: Another suffix, or numbers that make no film.
            OSError: The file cannot be written.
        """
        look = film_look(size=size, fps=fps, frames=frames, camera=camera, visuals=visuals)
        film_suffix(path)
        times, matrices = self._course()
        write_film(self._core, path, times, list(matrices), look)

    def _page(self, visuals: Shown) -> str:
        times, frames = self._course()
        return page_of(self._core, times, frames, visuals)

    def _course(self) -> tuple[FloatArray, Iterator[FloatArray]]:
        """Return times [s], and world_from_node of all nodes at each, shape [node_count, 4, 4]."""
        self._note(force=True)
        every = np.arange(len(self._core.asset.tree))
        composed = self._core.nodes.composed
        frames = (composed(every, frame) for frame in self._each_frame(every))
        return ascending_times(np.array(self._times)), frames

    def _frames_of(self, nodes: IntArray) -> FloatArray:
        """Return :meth:`_each_frame` in one array, shape [frame_count, node_count, 4, 4]."""
        return np.stack(list(self._each_frame(nodes)))

    def _each_frame(self, nodes: IntArray) -> Iterator[FloatArray]:
        """Yield parent_from_node of every frame, shape [node_count, 4, 4].

        Args:
            nodes: Ascending node indices; they include those of all frames.
        """
        of_file = self._core.asset.tree.local_matrices()[nodes]
        for moved, matrices in self._frames:
            frame = of_file.copy()
            frame[np.searchsorted(nodes, moved)] = matrices
            yield frame

    def _tracks(
        self,
        nodes: IntArray,
        frames: FloatArray,
        tolerance: float | None,
        angle_tolerance: float | None,
    ) -> list[Track]:
        if tolerance is None:
            tolerance = self._tolerance
        if self._interval == 0.0 and angle_tolerance is None:
            return self._tracks_in_world(nodes, frames, 1e-3 if tolerance is None else tolerance)
        return self._tracks_in_parents(
            nodes,
            frames,
            1e-4 if tolerance is None else tolerance,
            2e-4 if angle_tolerance is None else angle_tolerance,
        )

    def _tracks_in_world(
        self, nodes: IntArray, frames: FloatArray, tolerance: float
    ) -> list[Track]:
        """Return curves and lines that keep every node within a tolerance in the world."""
        times = ascending_times(np.array(self._times))
        has_jumps = len(set(self._times)) < len(self._times)
        tree, moving = self._core.asset.tree, np.isin(nodes, self._core.nodes.moving_nodes)
        translations, rotations, scales = decompose_trs(frames, tree.scales[nodes])
        # Parents come before their children.
        depths = [len(tree.ancestors(node)) for node in nodes.tolist()]
        columns = [k for k in np.argsort(depths, kind="stable").tolist() if moving[k]]
        row_of = {int(nodes[column]): row for row, column in enumerate(columns)}
        chain_nodes = list(row_of)
        parents = [
            next((row_of[above] for above in tree.ancestors(node) if above in row_of), -1)
            for node in chain_nodes
        ]
        local = [(translations[:, k], rotations[:, k]) for k in columns]
        start = self._core.nodes.composed(nodes, frames[0])
        above = tree.parents[np.array(chain_nodes, dtype=np.intp)]
        units = np.linalg.norm(start[above, :3, :3], axis=1).max(axis=1, initial=0.0)
        root = np.linalg.norm(self._core.placement.matrix[:3, :3], axis=0).max()
        world = local
        if max(parents, default=-1) >= 0:
            courses = np.stack([self._core.nodes.composed(nodes, f)[chain_nodes] for f in frames])
            _, turned, _ = decompose_trs(courses)
            world = [(courses[:, k, :3, 3], turned[:, k]) for k in range(len(chain_nodes))]
        chain = Chain(
            chain_nodes, parents, world, local,
            np.where(above < 0, root, units), self._reaches(chain_nodes, start),
        )  # fmt: skip
        tracks = chain_tracks(chain, times, tolerance, is_dense=not has_jumps)
        tracks += self._tracks_in_parents(nodes, frames, tolerance, tolerance, but=row_of)
        for column in columns:
            values = scales[:, column]
            keys = reduce_vectors(times, values, tolerance)
            if len(keys) > 1:
                tracks.append(Track(int(nodes[column]), "scale", times[keys], values[keys]))
        return tracks

    def _reaches(self, nodes: Sequence[int], world_from_node: FloatArray) -> FloatArray:
        """Return the largest distance of each node to the nodes that it carries [m]."""
        tree, own = self._core.asset.tree, set(nodes)
        reaches = np.zeros(len(nodes))
        for row, node in enumerate(nodes):
            carried = [below for below in tree.descendants(node) if below not in own]
            if carried:
                ways = world_from_node[carried, :3, 3] - world_from_node[node, :3, 3]
                reaches[row] = float(np.linalg.norm(ways, axis=1).max())
        return reaches

    def _tracks_in_parents(
        self,
        nodes: IntArray,
        frames: FloatArray,
        tolerance: float,
        angle_tolerance: float,
        but: Container[int] = (),
    ) -> list[Track]:
        """Return lines that keep every node within a tolerance in its parent."""
        times = ascending_times(np.array(self._times))
        translations, rotations, scales = decompose_trs(frames, self._core.asset.tree.scales[nodes])
        # Nodes that only ``scene.set`` moves rest in between.
        is_set = ~np.isin(nodes, self._core.nodes.moving_nodes)
        tracks: list[Track] = []
        for column, node in enumerate(nodes.tolist()):
            if node in but:
                continue
            turned = continuous_rotations(rotations[:, column])
            for path, values, allowed in (
                ("translation", translations[:, column], tolerance),
                ("rotation", turned, angle_tolerance),
                ("scale", scales[:, column], tolerance),
            ):
                if is_set[column]:
                    # The sign of a quaternion is irrelevant; its difference is half the angle.
                    keys = reduce_steps(values, allowed / 2.0 if path == "rotation" else allowed)
                elif path == "rotation":
                    keys = reduce_rotations(times, values, allowed)
                else:
                    keys = reduce_vectors(times, values, allowed)
                if len(keys) > 1:
                    how: Literal["STEP", "LINEAR"] = "STEP" if is_set[column] else "LINEAR"
                    tracks.append(Track(node, path, times[keys], values[keys], how))
        return tracks

    def __repr__(self) -> str:
        kilobytes = self.size / 1e3
        path = self._core.asset.path
        return f"Recording({path!r}, {self.frame_count} frames, {kilobytes:.1f} kB)"

    def _repr_html_(self) -> str:
        """Return a player for notebooks, with the extra ``web``."""
        try:
            return framed_page(self._page("auto"))
        except (ImportError, GltfBulletError) as error:
            return f"<p>{escape(repr(self))}: {escape(str(error))}</p>"

    def _begin_take(self) -> None:
        self._start = self._core.time
        self._times: list[float] = []
        self._frames: list[tuple[IntArray, FloatArray]] = []
        """Nodes, and their parent_from_node; other nodes are as in the file."""
        self._note(force=True)

    def _note(self, *, force: bool = False) -> None:
        time = self._core.time - self._start
        if self._is_stopped or (self._times and time <= self._times[-1]):
            return
        if force or time >= self._due:
            self._add(time)

    def _note_jump(self, jump: Jump) -> None:
        if jump is Jump.OTHER_RUN:
            self._begin_take()
        elif jump is Jump.BEGINS:
            self._note(force=True)
        elif jump is Jump.ENDS:
            time = self._times[-1]
            # The frame before the jump stays, with the same time; one such frame, and not the
            # first.
            if len(self._times) == 1 or self._times[-2] == time:
                del self._times[-1], self._frames[-1]
            self._add(time)

    def _add(self, time: float) -> None:
        nodes = self._core.nodes.written_nodes
        self._due = next_due(time, self._interval)
        self._times.append(time)
        self._frames.append((nodes, self._core.nodes.local_matrices(nodes)))

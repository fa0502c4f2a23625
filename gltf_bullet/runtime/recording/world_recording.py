"""Recording of any PyBullet simulation as an animated glTF file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from gltf_bullet.bullet.reading.issues import RECORDED_BODY_GONE, RECORDED_WITHOUT_BODY
from gltf_bullet.bullet.reading.poses import InertialPoses
from gltf_bullet.bullet.reading.world_reader import Newcomers, read_bodies, read_world
from gltf_bullet.bullet.session import PhysicsClient, headless_world, require_client
from gltf_bullet.bullet.world_lock import holds_world_lock, world_lock
from gltf_bullet.convert.description import WorldDescription
from gltf_bullet.diagnostics import ROOT, Diagnostics, Issue
from gltf_bullet.errors import EngineError
from gltf_bullet.gltf.writing import write_document
from gltf_bullet.options import LoadOptions
from gltf_bullet.output_files import written_aside
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.rendering.camera import Camera
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.recording.keyframes import next_due, require_number
from gltf_bullet.runtime.recording.link_tracks import body_tracks
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.step_program import step_world
from gltf_bullet.runtime.views.export import Track, add_animation
from gltf_bullet.runtime.views.film_export import film_look, film_suffix, write_film
from gltf_bullet.runtime.views.web_export import page_of, require_page_suffix
from gltf_bullet.runtime.world_export import checked_file, require_gltf_suffix
from gltf_bullet.runtime.worlds.live_scenes import idle_axes, scenes_among
from gltf_bullet.runtime.worlds.scene_losses import report_losses
from gltf_bullet.transforms import FloatArray, matrices_from_trs

# --- A written recording in a private world, for drawing it ---------------------------------------


@contextmanager
def replayed(
    write: Callable[[Path], None], times: FloatArray
) -> Iterator[tuple[SceneCore, list[FloatArray]]]:
    """Load a file with one animation into a private world.

    Args:
        write: Writes the file, ``.glb``.
        times: Times of the animation [s].

    Yields: The scene, and world_from_node of all nodes at each time, shape [node_count, 4, 4].

    Raises:
        OSError: There is no room for the file.
        EngineError: PyBullet has no room for another client.
    """
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder, headless_world() as client:
        path = Path(folder) / "rollout.glb"
        write(path)
        options = LoadOptions(visuals="none", behavior=False)
        scene = read_asset(path).instantiate(client, options=options)
        core, tree = scene.core, scene.asset.tree
        samplers = [player.sampler for player in core.followers.animations]
        frames = []
        for time in times.tolist():
            parts = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
            for sampler in samplers:
                sampler.sample_into(time, *parts)
            frames.append(tree.compose(matrices_from_trs(*parts), core.placement.matrix))
        yield core, frames


def record_world(
    physics_client: PhysicsClient = 0,
    fps: float | None = None,
    *,
    bodies: Sequence[int] | None = None,
    tolerance: float | None = None,
) -> WorldRecording:
    """Record bodies of any PyBullet world from now on.

    ::

        rec = gb.record_world()
        for _ in range(240):
            pybullet.stepSimulation()
            rec.after_step()          # or rec.step(), which does both
        rec.export_glb("rollout.glb")

    A body that is removed meanwhile ends its motion there, and a new one is left out; from the next
    frame on ``issues`` names it. Recorded bodies get a user datum (``addUserData``) that
    distinguishes them from later bodies with the same id.

    Args:
        physics_client: A client id or a ``BulletClient``.
        fps: Largest number of frames per second of simulated time, instead of every step; frames
            fall on engine steps, and what happens between them is lost.
        bodies: Ids of the bodies; ``None``: all present ones.
        tolerance: Largest error [m] of playback at any step, whatever ``fps`` is; ``None``: 1e-3
            without ``fps``. Until it is written a link takes 56 bytes for each step.

    Raises:
        EngineError: The client is not connected, or a body does not exist.
        ValueError: ``fps`` or ``tolerance`` is not a finite number above 0.
    """
    for name, value in (("fps", fps), ("tolerance", tolerance)):
        if value is not None:
            require_number(name, value)
    if fps is None and tolerance is None:
        tolerance = 1e-3
    client_id = require_client(physics_client)
    with world_lock(client_id):
        return WorldRecording(client_id, fps, bodies, tolerance)


@holds_world_lock("_lock")
class WorldRecording:
    """Frames of a world: poses of all links of its bodies."""

    def __init__(
        self,
        client_id: int,
        fps: float | None,
        bodies: Sequence[int] | None,
        tolerance: float | None,
    ) -> None:
        diagnostics = Diagnostics()
        self._client_id = client_id
        self._lock = world_lock(client_id)
        ids = read_bodies(client_id, bodies)
        scenes = scenes_among(client_id, ids)
        # Frames have the engine's links, so scenes are described by these.
        self._world: WorldDescription = read_world(
            client_id, bodies, diagnostics, idle_axes=idle_axes(scenes)
        )
        for scene in scenes:
            report_losses(scene, diagnostics, is_whole=False)
        self._poses = InertialPoses(client_id, ids)
        # A caller who names the bodies has left out others on purpose.
        self._newcomers = Newcomers(client_id) if bodies is None else None
        self._diagnostics = diagnostics
        self._interval = 0.0 if tolerance is not None or fps is None else 1.0 / fps
        self._tolerance = tolerance
        self._now = 0.0
        self._frame_counts: dict[int, int] = {}
        """Number of frames of each removed body."""
        self._times: list[float] = []
        self._frames: list[FloatArray] = []
        self._note()

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Issues about what PyBullet does not return, or glTF cannot express."""
        return self._diagnostics.issues

    @property
    def frame_count(self) -> int:
        """Number of frames so far."""
        return len(self._times)

    @property
    def duration(self) -> float:
        """Recorded time [s]."""
        return self._now

    def step(self, count: int = 1) -> None:
        """Step the world, scenes in it included, and record after each step.

        Raises:
            EngineError: The client is not connected.
        """
        for _ in range(count):
            step_world(self._client_id)
            self.after_step()

    def after_step(self) -> None:
        """Record the world after a ``stepSimulation`` of your own.

        Raises:
            EngineError: The client is not connected.
        """
        self._now += self._poses.time_step()
        if self._now >= self._due:
            self._note_changes()
            self._note()

    def export_glb(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "Simulation",
        tolerance: float | None = None,
    ) -> None:
        """Write the bodies at the poses of the first frame, with the recording as an animation.

        The world may be gone by then.

        Args:
            path: Ends in ``.glb`` or ``.gltf``; written whole or not at all.
            name: Name of the animation.
            tolerance: Largest error [m] of a link in the world at dropped keys, and of points at a
                distance of 1 m that rotate with it; ``None``: that of the recording, else 1e-4. The
                joints of a chain share it.

        Raises:
            ValueError: Another suffix, or ``tolerance`` is not a finite number above 0.
            OSError: The file cannot be written.
        """
        require_gltf_suffix(path)
        if tolerance is not None:
            require_number("tolerance", tolerance)
        self._note_last()
        allowed = tolerance or self._tolerance or 1e-4
        file, _ = checked_file(self._world, Diagnostics())
        root: dict[str, Any] = dict(file.root)
        buffers = file.buffers
        tracks = self._tracks(file.nodes.link_nodes, allowed)
        if tracks:
            add_animation(root, buffers, tracks, name)
        write_document(root, buffers, path)

    def export_film(
        self,
        path: str | os.PathLike[str],
        *,
        size: tuple[int, int] = (640, 400),
        fps: float = 30.0,
        frames: int = 6,
        camera: Camera | None = None,
    ) -> None:
        """Draw the recording as a film: ``.mp4``, ``.gif``, or as ``.png`` a sheet of some frames.

        Args:
            path: Its suffix selects the format; folders above it are made.
            size: Width and height of a frame [pixels].
            fps: Frames per second of simulated time.
            frames: Number of frames on a sheet, the first and the last of the recording among them.
            camera: Fixed camera; ``None``: one that sees the whole recording.

        Raises:
            ImportError: ``.mp4`` without the extra ``media``.
            ValueError: Another suffix, or numbers that make no film.
            OSError: The file cannot be written.
        """
        look = film_look(size=size, fps=fps, frames=frames, camera=camera, visuals="auto")
        film_suffix(path)
        with self._replayed() as (core, matrices):
            write_film(core, path, np.array(self._times), matrices, look)

    def export_html(self, path: str | os.PathLike[str]) -> None:
        """Write a page that plays the recording in any browser, without a network.

        It needs the extra ``web``. While the page is made, a port of this machine alone is open.

        Args:
            path: Ends in ``.html``; folders above it are made.

        Raises:
            ImportError: The extra is not installed.
            ValueError: Another suffix.
            OSError: The file cannot be written.
        """
        require_page_suffix(path)
        with self._replayed() as (core, matrices):
            page = page_of(core, np.array(self._times), matrices, "auto")
        with written_aside(path) as aside:
            aside.write_text(page, encoding="utf-8")

    @contextmanager
    def _replayed(self) -> Iterator[tuple[SceneCore, list[FloatArray]]]:
        self._note_last()
        with replayed(self.export_glb, np.array(self._times)) as replay:
            yield replay

    def _note_last(self) -> None:
        if self._now > self._times[-1]:
            with suppress(EngineError):  # disconnected: the frames until then
                self._note_changes()
                self._note()

    def _note_changes(self) -> None:
        for number, body_id in self._poses.newly_lost():
            self._frame_counts[number] = len(self._times)
            body = self._world.bodies[number]
            name = body.name or body.links[0].name
            self._diagnostics.report(
                RECORDED_BODY_GONE, ROOT, body=body_id, name=name, time=self._now
            )
        for body_id, name in self._newcomers.newly_made() if self._newcomers else ():
            self._diagnostics.report(
                RECORDED_WITHOUT_BODY, ROOT, body=body_id, name=name, time=self._now
            )

    def _note(self) -> None:
        self._frames.append(self._poses.read())
        self._times.append(self._now)
        self._due = next_due(self._now, self._interval)

    def _tracks(self, node_of: dict[tuple[int, int], int], tolerance: float) -> list[Track]:
        every_frame = np.stack(self._frames)  # [frame, link, 7]
        tracks: list[Track] = []
        column = 0
        for number, body in enumerate(self._world.bodies):
            links = slice(column, column + len(body.links))
            column = links.stop
            frames = every_frame[: self._frame_counts.get(number), links]
            nodes = [node_of[number, index] for index in range(len(body.links))]
            times = np.array(self._times[: len(frames)])
            is_dense = self._tolerance is not None
            tracks += body_tracks(body, nodes, times, frames, tolerance, is_dense=is_dense)
        return tracks

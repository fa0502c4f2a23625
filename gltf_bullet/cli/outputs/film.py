"""The pictures of ``gltf-bullet simulate``: frames, camera and renderer.

A film without a camera of the file frames everything that moves in the run, which is known at its
end: the states of its frames are kept, and drawn then. Nothing is simulated a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer
from msgspec import Struct

from gltf_bullet.cli.output import Attempts
from gltf_bullet.cli.outputs.media import Frames, PixelArray, require_media, write_picture
from gltf_bullet.transforms import FloatArray, Vec3

if TYPE_CHECKING:
    from gltf_bullet.options import Visuals
    from gltf_bullet.rendering.camera import Camera
    from gltf_bullet.runtime.scene import Scene
    from gltf_bullet.runtime.scene_state import SceneState

BOXES_PER_SECOND = 15.0
"""Rate [1/s] at which the extent of the moving objects is sampled."""


class FilmOptions(Struct, frozen=True, kw_only=True):
    """Options of pictures and films."""

    png: Path | None
    filmstrip: Path | None
    strip_frames: int
    mp4: Path | None
    gif: Path | None
    fps: float
    size: tuple[int, int]
    camera: str | None
    renderer: str

    @property
    def is_moving(self) -> bool:
        """True if more frames than the last are requested."""
        return any(path is not None for path in (self.filmstrip, self.mp4, self.gif))


class Film:
    """Draws one simulation."""

    def __init__(self, options: FilmOptions, attempts: Attempts) -> None:
        self._options, self._attempts = options, attempts
        if options.mp4 is not None:
            require_media("imageio.v2", "--mp4")
            require_media("imageio_ffmpeg", "--mp4")
        self._uses_egl = False
        self._scene: Scene | None = None
        self._states: dict[int, SceneState] = {}
        self._boxes: tuple[list[FloatArray], FloatArray] | None = None
        self._box_steps, self._film_steps, self._dt = 1, 1, 0.0
        self._strip_steps: frozenset[int] = frozenset()

    @contextmanager
    def world(self, *, gravity: Vec3, time_step: float) -> Iterator[int]:
        """The world of the simulation, with EGL if that is requested and works."""
        from gltf_bullet.bullet.owned_world import close_world, open_world
        from gltf_bullet.bullet.rendering.egl import driver_talk_aside, egl_works, load_egl

        options = self._options
        if options.renderer == "egl":
            self._uses_egl = egl_works()
            if not self._uses_egl:
                typer.echo("note: EGL does not work here; drawn in software", err=True)
        with ExitStack() as stack:
            if self._uses_egl:
                stack.enter_context(driver_talk_aside())
            client = open_world(gravity=gravity, time_step=time_step)
            stack.callback(close_world, client)
            if self._uses_egl:
                load_egl(client)
            yield client

    def load_options(self, visuals: Visuals) -> dict[str, object]:
        """Values of ``LoadOptions`` that the requested pictures need."""
        if not (self._options.is_moving or self._options.png is not None):
            visuals = "none"
        return {"visuals": visuals, "visual_files": self._uses_egl}

    def begin(self, scene: Scene, steps: int, dt: float) -> None:
        """Prepare for a scene before its first step; ends the program if the camera is missing."""
        options = self._options
        self._scene, self._dt = scene, dt
        self._film_steps = max(1, round(1.0 / (options.fps * dt)))
        if options.filmstrip is not None:
            evenly = np.linspace(0, steps, options.strip_frames).round()
            self._strip_steps = frozenset(evenly.astype(int).tolist())
        self._box_steps = max(1, round(1.0 / (BOXES_PER_SECOND * dt)))
        name = self._options.camera
        if name is not None:
            try:
                scene.pictures.require_camera(int(name) if name.isdecimal() else name)
            except KeyError as error:
                raise typer.BadParameter(str(error.args[0]), param_hint="--camera") from None
        if self._options.is_moving or self._options.png is not None:
            moving, resting = scene.pictures.boxes()
            self._boxes = ([moving], resting)

    def watch(self, step: int) -> None:
        """Keep what the pictures need; called at the start and after every step of the run."""
        scene = self._scene
        if self._boxes is None or scene is None:
            return
        if step and step % self._box_steps == 0:
            self._boxes[0].append(scene.pictures.boxes()[0])
        if self._is_in_film(step) or step in self._strip_steps:
            self._states[step] = scene.save_state(own_bodies_only=True)

    def _is_in_film(self, step: int) -> bool:
        has_film = self._options.mp4 is not None or self._options.gif is not None
        return has_film and step % self._film_steps == 0

    def draw(self, *, fell_out: bool = False) -> None:
        """Draw all requested pictures of the run; the scene stands as at its end afterwards.

        Args:
            fell_out: Some objects fall for ever: the last picture, too, shows the place of the run.
        """
        options = self._options
        png = options.png
        if png is not None:
            camera = self._camera() if fell_out else options.camera
            self._attempts.do("--png", lambda: write_picture(png, self._draw(camera, smooth=True)))
        wanted = {"--mp4": options.mp4, "--gif": options.gif, "--filmstrip": options.filmstrip}
        names = ", ".join(name for name, path in wanted.items() if path is not None)
        scene = self._scene
        if scene is None or not self._states:
            return
        end = scene.save_state(own_bodies_only=True)
        try:
            self._attempts.do(names, lambda: self._draw_film(scene))
        finally:
            scene.restore_state(end)

    def _draw_film(self, scene: Scene) -> None:
        from gltf_bullet.cli.waiting import waiting

        options = self._options
        camera, shadows = self._camera(), self._shadows()
        frames = Frames(
            self._attempts,
            mp4=options.mp4,
            gif=options.gif,
            filmstrip=options.filmstrip,
            fps=1.0 / (self._film_steps * self._dt),
        )
        try:
            with waiting("drawing") as show:
                for number, (step, state) in enumerate(self._states.items()):
                    scene.restore_state(state)
                    in_film = self._is_in_film(step)
                    pixels = self._draw(camera, smooth=not in_film, shadows=shadows)
                    if in_film:
                        frames.add_moving(pixels)
                    if step in self._strip_steps:
                        frames.add_strip(scene.time, pixels)
                    show("drawing", (number + 1) / len(self._states))
        except BaseException:
            frames.discard()
            raise
        frames.close()

    def _camera(self) -> str | Camera | None:
        """The camera of the options, or else one that sees the whole run."""
        from gltf_bullet.rendering.camera import course_boxes, framing_camera

        if self._options.camera is not None or self._boxes is None or self._scene is None:
            return self._options.camera
        all_moving, resting = self._boxes
        width, height = self._options.size
        return framing_camera(
            course_boxes(all_moving, resting),
            resting,
            self._scene.core.placement.up,
            width / height,
        )

    def _shadows(self) -> bool | tuple[FloatArray, FloatArray]:
        """The box whose contents throw shadows, which is the same in all frames."""
        from gltf_bullet.rendering.camera import course_boxes, framed_box

        if self._boxes is None:
            return True
        all_moving, resting = self._boxes
        return framed_box(course_boxes(all_moving, resting), resting)

    def _draw(
        self,
        camera: str | Camera | None,
        *,
        smooth: bool = False,
        shadows: bool | tuple[FloatArray, FloatArray] = True,
    ) -> PixelArray:
        """A frame; ``smooth`` takes four times as long and avoids jagged edges."""
        from PIL import Image

        if self._scene is None:
            raise ValueError("no scene")
        key = int(camera) if isinstance(camera, str) and camera.isdecimal() else camera
        width, height = self._options.size
        scale = 2 if smooth else 1
        pixels = self._scene.pictures.rgb(
            key,
            (scale * width, scale * height),
            renderer="hardware" if self._uses_egl else "tiny",
            shadows=shadows,
            triggers=True,
        )
        return np.asarray(Image.fromarray(pixels).reduce(scale)) if smooth else pixels

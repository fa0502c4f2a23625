"""The pictures of ``gltf-bullet simulate``: frames, camera and renderer.

A film without a camera of the file frames everything that moves in the run, which is known at its
end: what stands where in its frames is kept, and drawn then. Nothing is simulated a second time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
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
    from gltf_bullet.runtime.views.shown_meshes import Shown

BOXES_PER_SECOND = 15.0
"""Rate [1/s] at which the extent of the moving objects is sampled."""


_SMOOTH = 2
"""Factor by which pictures are drawn larger that shall have no jagged edges."""


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


class _Moment(Struct, frozen=True, kw_only=True, eq=False):
    """The part of a scene's state that a frame is drawn from."""

    time: float
    """Time [s]."""
    world_from_nodes: FloatArray
    """Matrices of all nodes, shape [node_count, 4, 4]."""
    camera: Camera | None
    """The requested camera of the file at its pose."""
    world: object
    """The scene's bodies in the engine; made anew when shapes change."""
    state: SceneState | None
    """The state, with EGL and where shapes may change: the scene's world itself is drawn then."""


class Film:
    """Draws one simulation."""

    def __init__(self, options: FilmOptions, attempts: Attempts) -> None:
        self._options, self._attempts = options, attempts
        if options.mp4 is not None:
            require_media("imageio.v2", "--mp4")
            require_media("imageio_ffmpeg", "--mp4")
        self._uses_egl, self._keeps_states = False, False
        self._visuals: Shown = "auto"
        self._scene: Scene | None = None
        self._moments: dict[int, _Moment] = {}
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
        has_actors = scene.core.has_graph or bool(scene.core.asset.animations)
        self._keeps_states = self._uses_egl or has_actors
        # Bodies without a mesh are in the last picture, too.
        chosen = scene.core.options.visuals
        if chosen == "collider" or scene.core.asset.automatic_visuals != "auto":
            self._visuals = "collider" if chosen == "collider" else "mesh"
        self._film_steps = max(1, round(1.0 / (options.fps * dt)))
        if options.filmstrip is not None:
            evenly = np.linspace(0, steps, options.strip_frames).round()
            self._strip_steps = frozenset(evenly.astype(int).tolist())
        self._box_steps = max(1, round(1.0 / (BOXES_PER_SECOND * dt)))
        if options.camera is not None:
            try:
                scene.pictures.require_camera(_key(options.camera))
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
            name = self._options.camera
            self._moments[step] = _Moment(
                time=scene.time,
                world_from_nodes=scene.core.nodes.world_from_node.copy(),
                camera=None if name is None else scene.pictures.require_camera(_key(name)).camera,
                world=scene.core.world,
                state=scene.save_state(own_bodies_only=True) if self._keeps_states else None,
            )

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
            camera = self._framed() if fell_out else None
            self._attempts.do("--png", lambda: write_picture(png, self._smooth(camera)))
        wanted = {"--mp4": options.mp4, "--gif": options.gif, "--filmstrip": options.filmstrip}
        names = ", ".join(name for name, path in wanted.items() if path is not None)
        if self._moments:
            self._attempts.do(names, self._draw_film)

    def _draw_film(self) -> None:
        from gltf_bullet.cli.waiting import waiting

        options = self._options
        frames = Frames(
            self._attempts,
            mp4=options.mp4,
            gif=options.gif,
            filmstrip=options.filmstrip,
            fps=1.0 / (self._film_steps * self._dt),
        )
        film = [step for step in self._moments if self._is_in_film(step)]
        strip = [step for step in self._moments if step in self._strip_steps]
        count = len(film) + len(strip)
        try:
            with waiting("drawing") as show:
                with closing(self._pictures(film)) as pictures:
                    for number, pixels in enumerate(pictures, start=1):
                        frames.add_moving(pixels)
                        show("drawing", number / count)
                with closing(self._pictures(strip, scale=_SMOOTH)) as pictures:
                    for number, (step, pixels) in enumerate(zip(strip, pictures, strict=True)):
                        frames.add_strip(self._moments[step].time, _reduced(pixels))
                        show("drawing", (len(film) + number + 1) / count)
        except BaseException:
            frames.discard()
            raise
        frames.close()

    def _pictures(self, steps: Sequence[int], scale: int = 1) -> Generator[PixelArray]:
        """Draw the frames of some steps, larger by a factor."""
        from gltf_bullet.runtime.views.film_export import FilmLook, film_frames

        options, moments = self._options, [self._moments[step] for step in steps]
        if not moments:
            return
        scene = self._begun()
        framed, shadows = self._framed(), self._shadows()
        if self._uses_egl or any(
            moment.world is not scene.core.world for moment in self._moments.values()
        ):
            end = scene.save_state(own_bodies_only=True)
            try:
                for moment in moments:
                    if moment.state is not None:
                        scene.restore_state(moment.state)
                    yield self._draw(framed, scale, shadows)
            finally:
                scene.restore_state(end)
            return
        width, height = options.size
        look = FilmLook(
            size=(scale * width, scale * height),
            fps=options.fps,
            frames=options.strip_frames,
            camera=None,
            visuals=self._visuals,
        )
        yield from film_frames(
            scene.core,
            [moment.world_from_nodes for moment in moments],
            look,
            cameras=[moment.camera or framed for moment in moments],
            shadows_of=shadows,
        )

    def _begun(self) -> Scene:
        if self._scene is None:
            raise ValueError("no scene")
        return self._scene

    def _framed(self) -> Camera:
        """The camera that sees the whole run."""
        from gltf_bullet.rendering.camera import framing_camera

        width, height = self._options.size
        up = self._begun().core.placement.up
        return framing_camera(*self._course(), up, width / height)

    def _shadows(self) -> tuple[FloatArray, FloatArray]:
        """The box whose contents throw shadows, which is the same in all frames."""
        from gltf_bullet.rendering.camera import framed_box

        return framed_box(*self._course())

    def _course(self) -> tuple[FloatArray, FloatArray]:
        """The boxes of what moves in the run, and of what rests."""
        from gltf_bullet.rendering.camera import course_boxes

        all_moving, resting = self._boxes or ([], np.zeros((0, 2, 3)))
        return course_boxes(all_moving, resting), resting

    def _smooth(self, camera: Camera | None) -> PixelArray:
        """A picture without jagged edges, which takes four times as long."""
        return _reduced(self._draw(camera, _SMOOTH))

    def _draw(
        self,
        camera: Camera | None,
        scale: int,
        shadows: bool | tuple[FloatArray, FloatArray] = True,
    ) -> PixelArray:
        """A picture of the scene as it stands, larger by a factor.

        Args:
            camera: The camera, if none of the file was requested; ``None``: one that sees it all.
            scale: The factor.
            shadows: As for ``Scene.render``.
        """
        width, height = self._options.size
        name = self._options.camera
        return self._begun().pictures.rgb(
            camera if name is None else _key(name),
            (scale * width, scale * height),
            renderer="hardware" if self._uses_egl else "tiny",
            shadows=shadows,
            triggers=True,
        )


def _key(camera: str) -> int | str:
    """A camera of the command line: a node's index, or a name."""
    return int(camera) if camera.isdecimal() else camera


def _reduced(pixels: PixelArray) -> PixelArray:
    """A picture that was drawn larger, in its own size."""
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).reduce(_SMOOTH))

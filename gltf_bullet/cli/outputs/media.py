"""Pictures over time as files: MP4, GIF, and a filmstrip."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import typer

from gltf_bullet.cli.outputs.attempts import Attempts
from gltf_bullet.output_files import FileAside, written_aside

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Frames", "PixelArray", "require_media", "write_picture"]

PixelArray = npt.NDArray[np.uint8]

STRIP_GAP = 6
"""[pixels] between two frames."""
STRIP_LABEL = 26
"""[pixels]"""
STRIP_BACKGROUND = (255, 255, 255)
"""Red, green, blue."""
STRIP_INK = (60, 66, 74)
"""Red, green, blue of the times below the frames."""


def require_media(module: str, what: str, extra: str = "media") -> Any:
    """A module of an extra, or a clear end of the program."""
    try:
        return import_module(module)
    except ImportError:
        typer.echo(
            f"error: {what} needs the extra {extra}: pip install 'gltf_bullet[{extra}]'", err=True
        )
        raise typer.Exit(2) from None


def write_picture(path: Path, pixels: PixelArray) -> None:
    """A picture file; folders are made."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as aside:
        Image.fromarray(pixels).save(aside)


class Frames:
    """Takes frames one by one and writes what was asked for."""

    def __init__(
        self,
        attempts: Attempts,
        *,
        mp4: Path | None,
        gif: Path | None,
        filmstrip: Path | None,
        fps: float,
    ) -> None:
        self._attempts = attempts
        self._gif, self._strip, self._fps = gif, filmstrip, fps
        self._gif_frames: list[Image] = []
        self._strip_frames: list[tuple[float, PixelArray]] = []
        self._movie: Any = None
        self._movie_file: FileAside | None = None
        self._movie_frames = 0
        if mp4 is not None:
            attempts.do("--mp4", lambda: self._open_movie(mp4))

    def _open_movie(self, path: Path) -> None:
        imageio = require_media("imageio.v2", "--mp4")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._movie_file = FileAside(path)
        self._movie = imageio.get_writer(
            self._movie_file.path,
            fps=self._fps,
            codec="libx264",
            pixelformat="yuv420p",
            macro_block_size=2,
            quality=8,
        )

    def add_moving(self, pixels: PixelArray) -> None:
        """The next frame of the films."""
        if self._movie is not None:
            # H.264 wants even sizes.
            height, width = (size // 2 * 2 for size in pixels.shape[:2])
            even = pixels[:height, :width]
            self._attempts.do("--mp4", lambda: self._movie.append_data(even))
            self._movie_frames += 1
        if self._gif is not None:
            self._attempts.do("--gif", lambda: self._add_gif(pixels))

    def _add_gif(self, pixels: PixelArray) -> None:
        from PIL import Image

        frame = Image.fromarray(pixels)
        self._gif_frames.append(frame.quantize(128, dither=Image.Dither.NONE))

    def add_strip(self, time: float, pixels: PixelArray) -> None:
        """The next picture of the filmstrip, at ``time`` [s]."""
        self._strip_frames.append((time, pixels))

    def close(self) -> None:
        """Finish all files."""
        if self._attempts.has_failed("--mp4"):
            self.discard()
        elif self._movie is not None:
            self._attempts.do("--mp4", self._close_movie)
        gif, strip = self._gif, self._strip
        if gif is not None and self._gif_frames:
            self._attempts.do("--gif", lambda: self._write_gif(gif))
        if strip is not None and self._strip_frames:
            self._attempts.do(
                "--filmstrip", lambda: write_picture(strip, filmstrip(self._strip_frames))
            )

    def _close_movie(self) -> None:
        self._movie.close()
        file = self._movie_file
        if file is None:
            return
        try:
            _require_frames(file.path, self._movie_frames)
        except BaseException:
            file.discard()
            raise
        file.commit()

    def _write_gif(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # GIF counts in hundredths: rounded so that the whole takes as long as it should.
        ends = np.round(np.arange(len(self._gif_frames) + 1) * 100.0 / self._fps)
        with written_aside(path) as aside:
            self._gif_frames[0].save(
                aside,
                save_all=True,
                append_images=self._gif_frames[1:],
                duration=(np.diff(ends) * 10.0).astype(int).tolist(),
                loop=0,
                optimize=False,
            )

    def discard(self) -> None:
        """Leave what was there before, where the film did not come to its end."""
        if self._movie is not None and self._movie_file is not None:
            self._movie.close()
            self._movie_file.discard()


def filmstrip(frames: Sequence[tuple[float, PixelArray]]) -> PixelArray:
    """Frames side by side, time running along the strip and written below each."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = frames[0][1].shape[:2]
    size = (len(frames) * (width + STRIP_GAP) - STRIP_GAP, height + STRIP_LABEL)
    sheet = Image.new("RGB", size, STRIP_BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(size=15)
    for number, (time, pixels) in enumerate(frames):
        left = number * (width + STRIP_GAP)
        sheet.paste(Image.fromarray(pixels), (left, 0))
        draw.text(
            (left + width / 2, height + STRIP_LABEL / 2),
            f"{time:.2f} s",
            fill=STRIP_INK,
            font=font,
            anchor="mm",
        )
    return np.asarray(sheet)


def _require_frames(path: Path, count: int) -> None:
    """Raise where a film is not whole: the encoder is a program that fails without a word.

    Raises:
        OSError: It cannot be read back, or frames are missing, as where the disk is full.
    """
    ffmpeg = require_media("imageio_ffmpeg", "--mp4")
    try:
        found, _ = ffmpeg.count_frames_and_secs(str(path))
    except RuntimeError as error:
        raise OSError(5, "the encoder could not write the film; is the disk full?") from error
    if found < count:
        raise OSError(5, f"the encoder wrote {found} of {count} frames; is the disk full?")

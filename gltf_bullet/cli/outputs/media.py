"""Picture and film files of ``gltf-bullet simulate``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from gltf_bullet.cli.output import Attempts
from gltf_bullet.output_files import written_aside
from gltf_bullet.rendering.film_files import GifFrames, MovieFile, filmstrip

PixelArray = npt.NDArray[np.uint8]


def require_media(module: str, what: str, extra: str = "media") -> Any:
    """A module of an extra; without it, the program ends with a message."""
    try:
        return import_module(module)
    except ImportError:
        typer.echo(
            f"error: {what} needs the extra {extra}: pip install 'gltf_bullet[{extra}]'", err=True
        )
        raise typer.Exit(2) from None


def write_picture(path: Path, pixels: PixelArray) -> None:
    """Write a picture file; folders above it are created."""
    from PIL import Image

    with written_aside(path) as aside:
        Image.fromarray(pixels).save(aside)


class Frames:
    """Distributes frames to the requested film files."""

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
        self._gif_frames = GifFrames()
        self._strip_frames: list[tuple[float, PixelArray]] = []
        self._movie: MovieFile | None = None
        if mp4 is not None:
            attempts.do("--mp4", lambda: self._open_movie(mp4))

    def _open_movie(self, path: Path) -> None:
        self._movie = MovieFile(path, self._fps)

    def add_moving(self, pixels: PixelArray) -> None:
        """Add the next frame of the films."""
        movie = self._movie
        if movie is not None:
            self._attempts.do("--mp4", lambda: movie.add(pixels))
        if self._gif is not None:
            self._attempts.do("--gif", lambda: self._gif_frames.add(pixels))

    def add_strip(self, time: float, pixels: PixelArray) -> None:
        """Add the next picture of the filmstrip, at ``time`` [s]."""
        self._strip_frames.append((time, pixels))

    def close(self) -> None:
        """Finish all files."""
        if self._attempts.has_failed("--mp4"):
            self.discard()
        elif self._movie is not None:
            self._attempts.do("--mp4", self._movie.close)
        gif, strip = self._gif, self._strip
        if gif is not None:
            self._attempts.do("--gif", lambda: self._gif_frames.write(gif, self._fps))
        if strip is not None and self._strip_frames:
            self._attempts.do(
                "--filmstrip", lambda: write_picture(strip, filmstrip(self._strip_frames))
            )

    def discard(self) -> None:
        """Keep the former files if the film is incomplete."""
        if self._movie is not None:
            self._movie.discard()

"""Film and image files of pictures over time: MP4, GIF, and sheets of a few of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gltf_bullet.output_files import FileAside, written_aside

if TYPE_CHECKING:
    from PIL.Image import Image

PixelArray = npt.NDArray[np.uint8]

SHEET_WIDTH = 1920
"""[pixels] Largest width of a sheet; frames are shrunk to fit."""
SHEET_ASPECT = 1.8
"""Width over height that sheets approach, at the cost of empty places."""
SHEET_GAP = 8
"""[pixels] Gap between two frames."""
LABEL_SHARE = 0.09
"""Height of the line below a frame, as share of the frame's."""
SMALLEST_LABEL = 22
"""[pixels] Smallest height of that line."""
BACKGROUND, INK = (255, 255, 255), (30, 36, 44)
"""Red, green, blue of the sheet and of the times on it."""


def require_encoder() -> Any:
    """The module that encodes films.

    Raises:
        ImportError: The extra ``media`` is not installed.
    """
    try:
        import_module("imageio_ffmpeg")
        return import_module("imageio.v2")
    except ImportError as error:
        raise ImportError("films need the extra media: pip install 'gltf_bullet[media]'") from error


class MovieFile:
    """An MP4 (H.264) that is written frame by frame, and replaces a file only when complete."""

    def __init__(self, path: Path, fps: float) -> None:
        """Open the encoder.

        Raises:
            ImportError: The extra ``media`` is not installed.
            OSError: The file cannot be created.
        """
        encoder = require_encoder()
        self._file = FileAside(path)
        self._movie = encoder.get_writer(
            self._file.path,
            fps=fps,
            codec="libx264",
            pixelformat="yuv420p",
            macro_block_size=2,
            quality=8,
            # Half the time of the default, with files of the same size and likeness (measured).
            output_params=["-preset", "veryfast"],
        )
        self._count = 0

    def add(self, pixels: PixelArray) -> None:
        """Append a frame."""
        # H.264 requires even sizes.
        height, width = (size // 2 * 2 for size in pixels.shape[:2])
        self._movie.append_data(pixels[:height, :width])
        self._count += 1

    def close(self) -> None:
        """Move the file to its place.

        Raises:
            OSError: Frames are missing in it, for example since the disk is full.
        """
        self._movie.close()
        try:
            _require_frames(self._file.path, self._count)
        except BaseException:
            self._file.discard()
            raise
        self._file.commit()

    def discard(self) -> None:
        """Keep the former file instead."""
        self._movie.close()
        self._file.discard()


class GifFrames:
    """A GIF of 128 colours per frame."""

    def __init__(self) -> None:
        self._frames: list[Image] = []

    def add(self, pixels: PixelArray) -> None:
        """Append a frame."""
        from PIL import Image

        self._frames.append(Image.fromarray(pixels).quantize(128, dither=Image.Dither.NONE))

    def write(self, path: str | os.PathLike[str], fps: float) -> None:
        """Write the frames, if there are any.

        Raises:
            OSError: The file cannot be written.
        """
        if not self._frames:
            return
        # GIF times are hundredths: rounded so that the total duration is right.
        ends = np.round(np.arange(len(self._frames) + 1) * 100.0 / fps)
        with written_aside(path) as aside:
            self._frames[0].save(
                aside,
                save_all=True,
                append_images=self._frames[1:],
                duration=(np.diff(ends) * 10.0).astype(int).tolist(),
                loop=0,
                optimize=False,
            )


def filmstrip(frames: Sequence[tuple[float, PixelArray]]) -> PixelArray:
    """A sheet of frames in rows, with the time [s] below each.

    The number of rows brings the sheet nearest to a screen's shape; it is at most SHEET_WIDTH wide.
    """
    from PIL import Image, ImageDraw, ImageFont

    full_height, full_width = frames[0][1].shape[:2]
    columns = _columns(len(frames), full_width / full_height)
    width = min(full_width, (SHEET_WIDTH - (columns - 1) * SHEET_GAP) // columns)
    height = max(1, round(full_height * width / full_width))
    label = max(SMALLEST_LABEL, round(LABEL_SHARE * height))
    rows = math.ceil(len(frames) / columns)
    across, down = width + SHEET_GAP, height + label
    sheet = Image.new("RGB", (columns * across - SHEET_GAP, rows * down), BACKGROUND)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=round(0.7 * label))
    for number, (time, pixels) in enumerate(frames):
        left, top = number % columns * across, number // columns * down
        frame = Image.fromarray(pixels)
        if width != full_width:
            frame = frame.resize((width, height), Image.Resampling.LANCZOS)
        sheet.paste(frame, (left, top))
        middle = (left + width / 2, top + height + label / 2)
        draw.text(middle, f"{time:.2f} s", fill=INK, font=font, anchor="mm")
    return np.asarray(sheet)


def _columns(count: int, aspect: float) -> int:
    """Number of frames in a row."""

    def cost(columns: int) -> float:
        rows = math.ceil(count / columns)
        return (
            abs(math.log(columns * aspect / rows / SHEET_ASPECT)) + (rows * columns - count) / count
        )

    return min(range(1, count + 1), key=cost)


def _require_frames(path: Path, count: int) -> None:
    """Raise if a film is incomplete: the encoder is a program that fails silently.

    Raises:
        OSError: It cannot be read back, or frames are missing, for example since the disk is full.
    """
    try:
        found, _ = import_module("imageio_ffmpeg").count_frames_and_secs(str(path))
    except RuntimeError as error:
        raise OSError(5, "the encoder could not write the film; is the disk full?") from error
    if found < count:
        raise OSError(5, f"the encoder wrote {found} of {count} frames; is the disk full?")

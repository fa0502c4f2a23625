"""``gltf-bullet simulate --plot``: heights, speeds, energies and joints over time as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gltf_bullet.cli.outputs.media import require_media
from gltf_bullet.output_files import written_aside
from gltf_bullet.printable import printable
from gltf_bullet.runtime.telemetry import Telemetry

MOST_NAMED = 10
"""Most lines with names in one legend; if there are more, they are grey."""


def require_plots() -> None:
    """End the program if matplotlib is missing."""
    require_media("matplotlib", "--plot")


def write_plot(path: Path, telemetry: Telemetry, title: str) -> None:
    """Write a picture with one panel per kind of number."""
    figure_module = require_media("matplotlib.figure", "--plot")
    energies = {"kinetic": telemetry.kinetic}
    if np.isfinite(telemetry.potential).all():
        total = np.add(telemetry.kinetic, telemetry.potential).tolist()
        energies |= {"potential": telemetry.potential, "sum": total}
    panels: list[tuple[str, Mapping[str, Sequence[float]]]] = [
        ("height of centre of mass [m]", telemetry.heights),
        ("speed [m/s]", telemetry.speeds),
        ("energy [J]", energies),
        ("joint position [m, rad]", telemetry.joints),
    ]
    panels = [(label, lines) for label, lines in panels if lines]
    # Figure alone draws without a display, whatever the user's backend is.
    figure = figure_module.Figure(figsize=(9.0, 2.4 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, lines) in zip(axes, panels, strict=True):
        _draw(axis, telemetry.times, lines)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].set_title(_as_text(title))
    axes[-1].set_xlabel("time [s]")
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_aside(path) as aside:
        figure.savefig(aside, dpi=100)


def _as_text(name: str) -> str:
    """A name without formulas; the legend would omit one that begins with ``_``."""
    text = printable(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _draw(axis: Any, times: Sequence[float], lines: Mapping[str, Sequence[float]]) -> None:
    named = len(lines) <= MOST_NAMED
    for name, values in lines.items():
        if named:
            axis.plot(times, values, label=_as_text(name), linewidth=1.4)
        else:
            axis.plot(times, values, color="0.35", alpha=0.35, linewidth=0.8)
    if named and len(lines) > 1:
        axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    elif not named:
        axis.annotate(f"{len(lines)} lines", (0.99, 0.94), xycoords="axes fraction",
                      ha="right", va="top", fontsize="small")  # fmt: skip
    else:
        axis.annotate(_as_text(next(iter(lines))), (0.99, 0.94), xycoords="axes fraction",
                      ha="right", va="top", fontsize="small")  # fmt: skip

"""Robots and USD stages as glTF: what ``convert`` writes, and what a path of one is read as."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gltf_bullet.bullet.reading.robot_loading import read_robot
from gltf_bullet.convert.description import WorldDescription
from gltf_bullet.convert.issues import ROBOT_REFUSED, WORLD_NOT_FINITE
from gltf_bullet.convert.mjcf.compiling import compile_mjcf
from gltf_bullet.convert.mjcf.world import describe_mjcf
from gltf_bullet.convert.servo import Servo, add_servos
from gltf_bullet.convert.urdf_repairs import robot_format
from gltf_bullet.convert.usd import USD_SUFFIXES
from gltf_bullet.convert.usd.process import convert_stage
from gltf_bullet.convert.writer import WorldFile, build_world
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError, InvalidAssetError


def convert_robot(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics,
    *,
    fixed_base: bool = False,
    self_collision: bool = False,
    inertia_from_file: bool = False,
    keyframe: str | None = None,
    allowed: Iterable[str | os.PathLike[str]] = (),
    servo: Servo | None = None,
) -> WorldFile:
    """Convert a robot (.urdf, .sdf, MJCF .xml, USD) to a glTF document.

    Arguments and errors are those of :func:`gltf_bullet.runtime.world_export.robot_file`.
    """
    if Path(path).suffix.lower() in USD_SUFFIXES:
        return _require_finite(convert_stage(path, diagnostics, allowed), diagnostics)
    if robot_format(path, Diagnostics()) == "mjcf":
        model = compile_mjcf(path, diagnostics, allowed)
        if model.count("body") == 1 and not model.count("geom"):
            diagnostics.report(ROBOT_REFUSED, ROOT, reader="MuJoCo", why="it has no body or geom")
            raise ContainerError(str(path), diagnostics.issues)
        key = None if keyframe is None else model.keyframe(keyframe)
        return finite_file(describe_mjcf(model, diagnostics, key=key), diagnostics, servo)
    world = read_robot(
        path,
        diagnostics,
        fixed_base=fixed_base,
        self_collision=self_collision,
        inertia_from_file=inertia_from_file,
        allowed=allowed,
    )
    return finite_file(world, diagnostics, servo)


def finite_file(
    world: WorldDescription, diagnostics: Diagnostics, servo: Servo | None = None
) -> WorldFile:
    """Write ``world`` as a document, with servos if their gains are given.

    Raises:
        InvalidAssetError: A number of it is not finite.
    """
    file = build_world(world, diagnostics)
    if servo is not None:
        add_servos(file.root, servo)
    return _require_finite(file, diagnostics)


def _require_finite(file: WorldFile, diagnostics: Diagnostics) -> WorldFile:
    path = _not_finite(file.root)
    if path is None:
        return file
    at = ROOT
    for key in path:
        at = at / key
    owner = file.root["nodes"][path[1]] if path[0] == "nodes" else {}
    of = f" of {owner['name']!r}" if "name" in owner else ""
    diagnostics.report(WORLD_NOT_FINITE, at, key=path[-1], of=of)
    raise InvalidAssetError("<world>", diagnostics.issues)


def _not_finite(value: object) -> tuple[Any, ...] | None:
    """Return the path to the first number that JSON does not allow; lists count as a whole."""
    if isinstance(value, float):
        return None if math.isfinite(value) else ()
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for key, part in parts:
        found = _not_finite(part)
        if found is not None:
            return () if found == () and not isinstance(value, dict) else (key, *found)
    return None

"""Robots of the formats that PyBullet parses, as world descriptions."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pybullet

from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.convert.description import WorldDescription
from gltf_bullet.convert.robot_files import read_robot_text
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import EngineError

__all__ = ["read_robot"]


def read_robot(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics,
    *,
    fixed_base: bool = False,
    self_collision: bool = False,
    inertia_from_file: bool = False,
) -> WorldDescription:
    """What PyBullet makes of a .urdf, .sdf or MJCF .xml file, in a world of its own.

    Args:
        path: The file.
        diagnostics: Receives what is lost.
        fixed_base: URDF: the base stands still.
        self_collision: Links of one body meet, except neighbours.
        inertia_from_file: URDF: the inertias that the file states; else, as ``loadURDF`` does by
            default, those of the collision shapes.

    Raises:
        ContainerError: It is no robot.
        EngineError: PyBullet cannot load it.
        OSError: It cannot be read.
    """
    robot = read_robot_text(path, diagnostics)
    with headless_world() as client, tempfile.TemporaryDirectory(prefix="gltf_bullet_") as folder:
        # PyBullet caches files by path for the life of the process; MJCF finds its files beside it.
        file = Path(path).absolute()
        if robot.format != "mjcf":
            file = Path(folder) / f"robot.{robot.format}"
            file.write_text(robot.text, encoding="utf-8")
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE if inertia_from_file else 0
        try:
            if robot.format == "urdf":
                pybullet.loadURDF(
                    str(file), useFixedBase=fixed_base, flags=flags, physicsClientId=client
                )
            elif robot.format == "sdf":
                pybullet.loadSDF(str(file), physicsClientId=client)
            else:
                pybullet.loadMJCF(str(file), flags=flags, physicsClientId=client)
        except pybullet.error as error:
            raise EngineError(f"PyBullet cannot load {path}: {error}") from error
        return read_world(
            client,
            None,
            diagnostics,
            self_collision=self_collision,
            mimic=robot.mimic,
            with_gravity=False,
        )

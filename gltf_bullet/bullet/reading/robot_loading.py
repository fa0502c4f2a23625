"""Robots of the formats that PyBullet parses, as world descriptions."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pybullet

from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.bullet.reading.robot_trial import (
    RefusedError,
    engine_lines,
    try_robot,
    without_engine_talk,
)
from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.convert.description import WorldDescription
from gltf_bullet.convert.issues import (
    ROBOT_ENGINE_LINES,
    ROBOT_INERTIA_FROM_FILE,
    ROBOT_LINK_LOST,
    ROBOT_REFUSED,
)
from gltf_bullet.convert.robot_files import read_robot_text
from gltf_bullet.convert.robot_folders import RobotFolders
from gltf_bullet.convert.urdf_repairs import MOST_JOINTS, StatedInertia
from gltf_bullet.diagnostics import ROOT, Diagnostics
from gltf_bullet.errors import ContainerError

__all__ = ["read_robot"]

_CALLS: Final = {"urdf": "loadURDF", "sdf": "loadSDF"}


def read_robot(
    path: str | os.PathLike[str],
    diagnostics: Diagnostics,
    *,
    fixed_base: bool = False,
    self_collision: bool = False,
    inertia_from_file: bool = False,
    allowed: Iterable[str | os.PathLike[str]] = (),
) -> WorldDescription:
    """What PyBullet makes of a .urdf or .sdf file, in a world of its own.

    Args:
        path: The file.
        diagnostics: Receives what is lost.
        fixed_base: URDF: the base stands still.
        self_collision: Links of one body meet, except neighbours.
        inertia_from_file: URDF: the inertias that the file states; else, as ``loadURDF`` does by
            default, those of the collision shapes.
        allowed: Folders, besides its own and ROS packages, that it may name files in.

    Raises:
        ContainerError: It is no robot, or PyBullet cannot load it.
        OSError: It cannot be read.
    """
    folders = RobotFolders(Path(path), allowed)
    robot = read_robot_text(path, diagnostics, folders)
    if robot.joint_count > MOST_JOINTS:
        why = f"it has {robot.joint_count} joints; a multibody of the engine has {MOST_JOINTS}"
        diagnostics.report(ROBOT_REFUSED, ROOT, reader="PyBullet", why=why)
        raise ContainerError(str(path), diagnostics.issues)
    with headless_world() as client, tempfile.TemporaryDirectory(prefix="gltf_bullet_") as folder:
        # PyBullet caches files by path for the life of the process.
        file = Path(folder) / f"robot.{robot.format}"
        robot.write(file)
        flags = pybullet.URDF_USE_INERTIA_FROM_FILE if inertia_from_file else 0
        try:
            said = try_robot(_CALLS[robot.format], file, fixed_base=fixed_base, flags=flags)
        except RefusedError as error:
            diagnostics.report(ROBOT_REFUSED, ROOT, reader="PyBullet", why=str(error))
            raise ContainerError(str(path), diagnostics.issues) from None
        lines = engine_lines(said)
        if lines:
            diagnostics.report(ROBOT_ENGINE_LINES, ROOT, lines=lines)
        with without_engine_talk():
            if robot.format == "urdf":
                pybullet.loadURDF(
                    str(file), useFixedBase=fixed_base, flags=flags, physicsClientId=client
                )
            else:
                pybullet.loadSDF(str(file), physicsClientId=client)
        try:
            world = read_world(
                client,
                None,
                diagnostics,
                self_collision=self_collision,
                mimic=robot.mimic,
                twists=robot.twists,
                with_gravity=False,
                # What was written here for PyBullet comes of files that the robot may name.
                may_read=lambda found: found.parent == file.parent or folders.holds(found),
            )
        except pybullet.error as error:
            why = f"{error} (it has {len(robot.links)} links; one body can have 128)"
            diagnostics.report(ROBOT_REFUSED, ROOT, reader="PyBullet", why=why)
            raise ContainerError(str(path), diagnostics.issues) from None
    made = Counter(link.name for body in world.bodies for link in body.links)
    lost = list((Counter(robot.links) - made).elements())
    if lost:
        names = f"{', '.join(map(repr, lost[:5]))}{', ...' if len(lost) > 5 else ''}"
        diagnostics.report(ROBOT_LINK_LOST, ROOT, count=len(lost), names=names)
    if not world.bodies:
        diagnostics.report(ROBOT_REFUSED, ROOT, reader="PyBullet", why="it has no link or body")
        raise ContainerError(str(path), diagnostics.issues)
    if inertia_from_file:
        return world
    return _with_inertias(world, robot.inertias, diagnostics)


def _with_inertias(
    world: WorldDescription, stated: Mapping[str, StatedInertia], diagnostics: Diagnostics
) -> WorldDescription:
    """The world with the file's inertias for links with mass of whose shapes there are none.

    PyBullet gives them that of a box of 2 mm (measured: 6.7e-7 kg m2 for 1 kg).
    """
    mended: dict[str, StatedInertia] = {}
    bodies = []
    for body in world.bodies:
        links = []
        for link in body.links:
            own = stated.get(link.name)
            if own is not None and link.mass > 0.0 and not link.colliders:
                mended[link.name] = own
                link = replace(
                    link,
                    inertia_diagonal=own.diagonal,
                    link_from_inertial=own.link_from_inertial,
                )
            links.append(link)
        bodies.append(replace(body, links=tuple(links)))
    if not mended:
        return world
    moments = [moment for own in mended.values() for moment in own.diagonal]
    names = ", ".join(list(mended)[:3]) + (", ..." if len(mended) > 3 else "")
    diagnostics.report(
        ROBOT_INERTIA_FROM_FILE, ROOT,
        count=len(mended), names=names, least=min(moments), most=max(moments),
    )  # fmt: skip
    return replace(world, bodies=tuple(bodies))

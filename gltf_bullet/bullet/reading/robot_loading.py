"""Robots of the formats that PyBullet parses (URDF, SDF), as world descriptions."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pybullet

from gltf_bullet.bullet.reading.world_reader import read_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.child_processes import python_command, start
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
from gltf_bullet.private_folders import scratch_folder
from gltf_bullet.records import replace

# --- A child process loads a robot first, because some files end PyBullet's process ---------------
#
# The texts are checked before, but not for everything on which PyBullet's importers fail.

_PROGRAM: Final = """
import pybullet
call, path, fixed, flags = sys.argv[1:]
pybullet.connect(pybullet.DIRECT)
arguments = {"useFixedBase": fixed == "1", "flags": int(flags)} if call == "loadURDF" else {}
try:
    getattr(pybullet, call)(path, **arguments)
except pybullet.error:
    sys.exit(3)
"""
_REFUSED: Final = 3
"""Exit code of the program if PyBullet raises."""
_TAG: Final = re.compile(r"b3(?:Warning|Error|Printf)\[[^\]]*\]:\n?")
_FORESEEN: Final = (
    "unknown field", "unhandled", "No inertial data", "multiple root links",
    "joint without axis", "expected 'type' attribute", "requires 2 sizes", "geom requires type",
    "No default visual", "expected a world element", "joint unsupported", "no axis element",
    "Couldn't parse vector3", "Workaround activated",
)  # fmt: skip
"""Lines of PyBullet that are left out: our issues say the same better, or they do not matter."""
_MOST_SECONDS: Final = 300.0
"""[s] Most time on the wall that PyBullet may take for a robot."""
_LONGEST: Final = 400
"""Largest number of characters of PyBullet's output in an issue."""


class RefusedError(Exception):
    """PyBullet does not load the file; the message has the reason."""


def try_robot(call: str, file: Path, *, fixed_base: bool, flags: int) -> str:
    """Load a file in a child process; return PyBullet's output.

    Args:
        call: ``"loadURDF"``, ``"loadSDF"`` or ``"loadMJCF"``.
        file: The file to load.
        fixed_base: URDF: the base is fixed.
        flags: Flags of ``loadURDF``.

    Raises:
        RefusedError: PyBullet raises, its process ends, or it does not end in time.
    """
    if not sys.executable:  # Python within another program
        return ""
    arguments = (call, str(file.absolute()), str(int(fixed_base)), str(flags))
    with start(python_command(_PROGRAM, *arguments)) as done:
        try:
            out, _ = done.communicate(timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            raise RefusedError(f"it takes longer than {_MOST_SECONDS:g} s") from None
        finally:
            done.kill()
    said = out.decode("utf-8", "replace").replace(f"{file.parent}{os.sep}", "")
    if done.returncode == 0:
        return said
    if done.returncode == _REFUSED:
        raise RefusedError(engine_lines(said, ()) or "it says no reason")
    raise RefusedError(f"its process ends (exit code {done.returncode}) {engine_lines(said, ())}")


def engine_lines(said: str, passed_over: tuple[str, ...] = _FORESEEN) -> str:
    """Return PyBullet's output in one line, without what issues say."""
    said = re.sub(r"^pybullet build time.*$", "", said, flags=re.MULTILINE)
    parts = [" ".join(part.split()) for part in _TAG.split(said)]
    kept = []
    is_name = False
    for part in parts:
        if not part:
            continue
        # Names of a line's subject come as lines of their own.
        if any(words in part for words in passed_over) or (is_name and " " not in part):
            is_name = True
            continue
        is_name = False
        kept.append(part)
    line = "; ".join(kept)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


@contextmanager
def without_engine_talk() -> Iterator[None]:
    """Discard what C code prints to the standard output, which may be JSON."""
    sys.stdout.flush()
    library = ctypes.CDLL(None) if os.name == "posix" else ctypes.cdll.ucrtbase
    library.fflush(None)
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    try:
        yield
    finally:
        library.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


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
    """Load a .urdf or .sdf file by PyBullet, in a world of its own.

    Args:
        path: The file.
        diagnostics: Receives what is lost.
        fixed_base: URDF: the base is fixed.
        self_collision: Links of one body collide, except neighbours.
        inertia_from_file: URDF: use the inertias that the file states; else, as ``loadURDF`` does
            by default, those of the collision shapes.
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
    with headless_world() as client, tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
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
                # Files that we wrote for PyBullet have the content of files that the robot may
                # name.
                may_read=lambda found: (
                    found.resolve().is_relative_to(file.parent.resolve()) or folders.holds(found)
                ),
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
    """Return the world with the file's inertias for links with mass but without shapes.

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

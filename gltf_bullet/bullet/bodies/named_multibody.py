"""Multibodies whose joints and links have names, limits and efforts for all PyBullet code to read.

``createMultiBody`` names joints ``joint1`` and links ``link1`` and has no limits; ``loadURDF``
keeps those of its text. Measured: motion equals that of the other call to 1e-14 over 600 steps, at
about ``loadURDF``'s own cost. Shapes are not shared between such bodies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pybullet
from msgspec import Struct
from msgspec.structs import asdict

from gltf_bullet.bullet.bodies.multibody import (
    mass_at_first,
    self_collision_flags,
    settle_multibody,
)
from gltf_bullet.bullet.bodies.multibody_text import (
    MultibodyNames,
    has_cylinders,
    is_valid_inertia,
    mesh_files,
    multibody_text,
)
from gltf_bullet.bullet.kept_files import KEPT_FILES, kept_file
from gltf_bullet.bullet.rendering.visuals import LinkLook
from gltf_bullet.bullet.session import is_headless
from gltf_bullet.bullet.shapes.engine_shapes import (
    margin_of,
)
from gltf_bullet.digests import digest_of
from gltf_bullet.disk_cache import is_kept
from gltf_bullet.errors import EngineError
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.planning.shapes.shape_plans import (
    PlacedShape,
)
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3

_NOWHERE, _UPRIGHT = IDENTITY_POSE.translation, IDENTITY_POSE.rotation_xyzw

_SEEN: dict[tuple[str, bytes], tuple[str, float]] = {}
"""Path of a text's file, by folder and digest, and the time until which it is assumed to exist [s].
"""
_TRUST = 30.0
"""Time for which a file is assumed to exist [s]."""


class NamedDescription(Struct, frozen=True, kw_only=True):
    """URDF text of a multibody and the settings it has no elements for; independent of its pose."""

    names: MultibodyNames
    text: str
    """URDF; its meshes are among the kept files."""
    folder: str
    """Folder of the kept files."""
    digest: bytes
    """Digest of :attr:`text`."""
    flags: int
    """Flags of ``loadURDF``."""
    is_centred: bool
    """True if the base's frame is its inertial frame."""
    inertias: tuple[tuple[int, Vec3], ...]
    """Principal moments [kg m^2] by link that URDF cannot express."""
    changes: tuple[tuple[int, dict[str, float]], ...]
    """Links with arguments of ``changeDynamics`` for properties that URDF cannot express."""

    def __reduce__(self) -> tuple[object, ...]:
        if KEPT_FILES.are_in(self.text):
            raise TypeError("the description names files of this process")
        return (_rebuild, (asdict(self),))


def _rebuild(values: dict[str, Any]) -> NamedDescription:
    """Unpickle a description of another process, if the files that it names are there."""
    for path in mesh_files(values["text"]):
        if not is_kept(path):
            raise FileNotFoundError(path)
    return NamedDescription(**values)


def describe_multibody(
    spec: MultibodySpec,
    names: MultibodyNames,
    shapes: Sequence[Sequence[PlacedShape]],
    looks: Mapping[int, LinkLook],
    frictions: Mapping[int, float],
    folder: Path,
) -> NamedDescription:
    """Describe a multibody as URDF text.

    Args:
        spec: Its shape and visual ids are not used, nor its pose in the world.
        names: Names of the body.
        shapes: Shapes per link in link frames, the base first.
        looks: Visuals by link index, -1 for the base; links without one show nothing.
        frictions: Friction by link index; others have the engine's default.
        folder: Folder of the kept files.
    """
    text = multibody_text(spec, names, shapes, looks, frictions, folder)
    flags = pybullet.URDF_USE_INERTIA_FROM_FILE
    if has_cylinders(shapes):
        # By itself loadURDF makes prisms of cylinders: a car lost 7 % of its thrust (measured).
        flags |= pybullet.URDF_USE_IMPLICIT_CYLINDER
    if any(shapes[1:]):
        flags |= self_collision_flags(spec)
    return NamedDescription(
        names=names,
        text=text,
        folder=str(folder),
        digest=digest_of(text.encode()),
        flags=flags,
        is_centred=spec.base_from_inertial == IDENTITY_POSE,
        inertias=tuple(entry for entry in spec.inertias if not is_valid_inertia(entry[1])),
        changes=tuple(_changes(names, shapes)),
    )


def _changes(
    names: MultibodyNames, shapes: Sequence[Sequence[PlacedShape]]
) -> Iterator[tuple[int, dict[str, float]]]:
    for link, joint in enumerate(names.joints):
        # Our solver applies the damping; getJointInfo still shows the authored value (measured).
        if joint.damping:
            yield link, {"jointDamping": 0.0}
    for index, link_shapes in enumerate(shapes):
        margin = margin_of(link_shapes)
        if margin is not None:
            yield index - 1, {"collisionMargin": margin}


_OTHER_LINKS: MemoKey[list[str] | None] = MemoKey("links that the engine numbers otherwise")


def create_named_multibody(
    client_id: int,
    spec: MultibodySpec,
    description: NamedDescription,
    world_from_base: Pose,
    memo: PlanMemo | None = None,
) -> int:
    """Create the body and return its id, as ``create_multibody`` does.

    Args:
        client_id: The world.
        spec: The multibody that was described.
        description: Its description.
        world_from_base: Pose of the base; the spec's own one is not used.
        memo: Values that are the same for all copies of the plan.

    Raises:
        EngineError: The engine refused, or numbered the links otherwise.
    """
    flags = description.flags
    if is_headless(client_id):
        # Meshes for a window that is not there are made once only: a fifth of a robot's price. In a
        # window, bodies that share them would also share a visual change of one of them.
        flags |= pybullet.URDF_ENABLE_CACHED_GRAPHICS_SHAPES
    is_centred = description.is_centred
    place = world_from_base if is_centred else world_from_base @ spec.base_from_inertial
    # loadURDF converts a given rotation to a matrix, which is not exact to the last bit (measured).
    is_turned = not is_centred or place.rotation_xyzw != _UPRIGHT
    body = _loaded(
        description,
        _NOWHERE if is_turned else place.translation,
        useFixedBase=mass_at_first(spec) == 0.0,
        flags=flags,
        physicsClientId=client_id,
    )
    try:
        # Equal texts are numbered alike.
        others = (memo or PlanMemo()).get(
            _OTHER_LINKS,
            partial(_other_links, client_id, body, description.names),
            description.digest,
        )
        if others is not None:
            raise EngineError(
                f"the engine numbered links {others}; must be {description.names.links}"
            )
        settle_multibody(client_id, body, spec, description.inertias)
        if is_turned:
            pybullet.resetBasePositionAndOrientation(
                body, place.translation, place.rotation_xyzw, physicsClientId=client_id
            )
        for link, values in description.changes:
            pybullet.changeDynamics(body, link, **values, physicsClientId=client_id)
    except (pybullet.error, EngineError) as error:
        pybullet.removeBody(body, physicsClientId=client_id)
        raise EngineError(f"loadURDF of a jointed body: {error}") from error
    return body


def _loaded(description: NamedDescription, place: Vec3, **options: int) -> int:
    key = description.folder, description.digest
    # To ask whether a file is there takes as long as a tenth of a cart-pole.
    path, until = _SEEN.get(key, ("", 0.0))
    if time.monotonic() < until:
        with suppress(pybullet.error):  # the user has tidied up
            return int(pybullet.loadURDF(path, place, **options))
    path = kept_file(*key, ".urdf", description.text.encode)
    _SEEN[key] = path, time.monotonic() + _TRUST
    try:
        return int(pybullet.loadURDF(path, place, **options))
    except pybullet.error as error:
        raise EngineError(f"loadURDF of a jointed body: {error}") from error


def _other_links(client_id: int, body: int, names: MultibodyNames) -> list[str] | None:
    """Return the link names in the engine's order if it differs from ours."""
    found = [
        pybullet.getJointInfo(body, k, physicsClientId=client_id)[12].decode()
        for k in range(pybullet.getNumJoints(body, physicsClientId=client_id))
    ]
    return None if found == list(names.links) else found

"""Multibodies whose joints and links have names, limits and efforts for all PyBullet code to find.

``createMultiBody`` calls them ``joint1`` and ``link1`` and knows no limits; ``loadURDF`` keeps what
its text says. Measured: motion equals that of the other way to 1e-14 over 600 steps, at about
``loadURDF``'s own cost. Shapes are not shared between such bodies.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pybullet

from gltf_bullet.bullet.bodies.multibody import (
    mass_at_first,
    self_collision_flags,
    settle_multibody,
)
from gltf_bullet.bullet.bodies.multibody_text import (
    MultibodyNames,
    has_cylinders,
    is_sayable,
    mesh_files,
    multibody_text,
)
from gltf_bullet.bullet.kept_files import KEPT_FILES, kept_file
from gltf_bullet.bullet.rendering.visuals import LinkLook
from gltf_bullet.bullet.session import is_headless
from gltf_bullet.bullet.shapes.engine_shapes import (
    margin_of,
)
from gltf_bullet.disk_cache import is_kept
from gltf_bullet.errors import EngineError
from gltf_bullet.planning.joints.multibody_spec import MultibodySpec
from gltf_bullet.planning.plan_memo import MemoKey, PlanMemo
from gltf_bullet.planning.shapes.shape_plans import (
    PlacedShape,
)
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3

__all__ = ["NamedDescription", "create_named_multibody", "describe_multibody"]


_NOWHERE, _UPRIGHT = IDENTITY_POSE.translation, IDENTITY_POSE.rotation_xyzw

_SEEN: dict[tuple[str, bytes], tuple[str, float]] = {}
"""The file of a text, by its folder and digest, and until when it is taken to be there [s]."""
_TRUST = 30.0
"""[s]"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDescription:
    """A multibody in words, wherever it stands."""

    names: MultibodyNames
    text: str
    """URDF; its meshes are among the kept files."""
    folder: str
    """Where files are kept."""
    digest: bytes
    """Of the text."""
    flags: int
    """For ``loadURDF``."""
    is_centred: bool
    """Whether the base's frame is that of its mass."""
    inertias: tuple[tuple[int, Vec3], ...]
    """Principal moments [kg m^2] by link that the text has no words for."""
    changes: tuple[tuple[int, dict[str, float]], ...]
    """Links, and what ``changeDynamics`` is to tell of them: what the text has no words for."""

    def __reduce__(self) -> tuple[object, ...]:
        if KEPT_FILES.are_in(self.text):
            raise TypeError("the description names files of this process")
        return (_rebuild, ({field.name: getattr(self, field.name) for field in fields(self)},))


def _rebuild(values: dict[str, Any]) -> NamedDescription:
    """What another process described, as long as the files are there that it names."""
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
    """Put a multibody into words.

    Args:
        spec: Its shape and visual ids are not used, nor where its base stands.
        names: Of the body.
        shapes: Per link, the base first, in link frames.
        looks: By link index, -1 for the base; links without one show nothing.
        frictions: By link index; of others it is the engine's own.
        folder: Where files are kept.
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
        digest=hashlib.blake2b(text.encode(), digest_size=16).digest(),
        flags=flags,
        is_centred=spec.base_from_inertial == IDENTITY_POSE,
        inertias=tuple(entry for entry in spec.inertias if not is_sayable(entry[1])),
        changes=tuple(_changes(names, shapes)),
    )


def _changes(
    names: MultibodyNames, shapes: Sequence[Sequence[PlacedShape]]
) -> Iterator[tuple[int, dict[str, float]]]:
    for link, joint in enumerate(names.joints):
        # The solve does it; getJointInfo goes on showing the authored value (measured).
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
        spec: That was described.
        description: Of it.
        world_from_base: Where it is to stand; the spec's own place is not used.
        memo: Values that are the same for all copies of the plan.

    Raises:
        EngineError: The engine refused, or numbered the links otherwise.
    """
    flags = description.flags
    if is_headless(client_id):
        # Meshes for a window that is not there are made once only: a fifth of a robot's price. In
        # a window, bodies that share them would also share what changeVisualShape gives to one.
        flags |= pybullet.URDF_ENABLE_CACHED_GRAPHICS_SHAPES
    is_centred = description.is_centred
    place = world_from_base if is_centred else world_from_base @ spec.base_from_inertial
    # What loadURDF is told of a turn it makes a matrix of, and not to the last bit (measured).
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
        with suppress(pybullet.error):  # somebody has tidied up
            return int(pybullet.loadURDF(path, place, **options))
    path = kept_file(*key, ".urdf", description.text.encode)
    _SEEN[key] = path, time.monotonic() + _TRUST
    try:
        return int(pybullet.loadURDF(path, place, **options))
    except pybullet.error as error:
        raise EngineError(f"loadURDF of a jointed body: {error}") from error


def _other_links(client_id: int, body: int, names: MultibodyNames) -> list[str] | None:
    """Names in the engine's order, if that is another one."""
    found = [
        pybullet.getJointInfo(body, k, physicsClientId=client_id)[12].decode()
        for k in range(pybullet.getNumJoints(body, physicsClientId=client_id))
    ]
    return None if found == list(names.links) else found

"""Mass properties of rigid bodies: OpenUSD's rules of precedence over volumes of our shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from pxr import Gf, UsdPhysics

from gltf_bullet.convert.usd.stage import Entry, Units, pose_and_scale, vec3
from gltf_bullet.model.mass_properties import Moments
from gltf_bullet.transforms import IDENTITY_POSE, Pose, Vec3


class Inertial(Struct, frozen=True):
    """Mass properties in the frame of a link, in SI."""

    mass: float
    diagonal: Vec3
    link_from_inertial: Pose


def inertial_of(body: Entry, volumes: Mapping[str, Moments], units: Units) -> Inertial:
    """Mass properties of a body.

    Args:
        body: The rigid body.
        volumes: Moments [m] of its colliders in the frame of its link, by path of their prims.
        units: Units of the stage.
    """

    def about(prim: Any) -> Any:
        found = volumes.get(str(prim.GetPath()), Moments.zero())
        told = UsdPhysics.RigidBodyAPI.MassInformation()
        center = found.center
        told.volume = max(found.volume, 0.0) / units.length**3
        told.inertia = Gf.Matrix3f(
            *(found.inertia_about(center) / units.length**5).astype(np.float32).ravel().tolist()
        )
        told.centerOfMass = Gf.Vec3f(*(center / units.length).tolist())
        told.localPos, told.localRot = Gf.Vec3f(0.0), Gf.Quatf(1.0)
        return told

    mass, diagonal, center, axes = UsdPhysics.RigidBodyAPI(body.prim).ComputeMassProperties(about)
    stated = UsdPhysics.MassAPI(body.prim)
    turn = (axes.GetReal(), *axes.GetImaginary())
    own = stated.GetPrincipalAxesAttr().Get()
    diagonal_of_prim = stated.GetDiagonalInertiaAttr().Get() or ()
    has_diagonal = any(diagonal_of_prim)
    if has_diagonal:
        # OpenUSD takes moments up to 1e-6 for none, where only zeros mean "not stated".
        diagonal = diagonal_of_prim
        # OpenUSD leaves the axes as memory happens to be where a stage states none.
        turn = (0.0, 0.0, 0.0, 0.0) if own is None else (own.GetReal(), *own.GetImaginary())
    length = math.sqrt(sum(v * v for v in turn))
    rotation = IDENTITY_POSE.rotation_xyzw
    if 0.0 < length < math.inf:
        w, x, y, z = (v / length for v in turn)
        rotation = (x, y, z, w)
    place = vec3(np.array(center) * units.length)
    told = stated.GetCenterOfMassAttr().Get()
    if told is not None and all(map(math.isfinite, told)):
        _, scale, _ = pose_and_scale(body.matrix, units.length)
        place = vec3(np.array(told) * scale * units.length)
    moments = vec3(np.array(diagonal) * units.torque)
    if mass <= 0.0:  # OpenUSD's sign that neither the prim nor a volume says anything
        return Inertial(0.0, (0.0, 0.0, 0.0), IDENTITY_POSE)
    if not all(map(math.isfinite, (mass, *moments, *place))):
        raise ValueError(f"the mass properties of {body.path} are not finite")
    return Inertial(mass * units.mass, moments, Pose(rotation, place))


def states_zero_mass(prim: Any) -> bool:
    """Return True if a prim states the mass 0, which means "not stated"."""
    attribute = UsdPhysics.MassAPI(prim).GetMassAttr()
    return bool(attribute and attribute.HasAuthoredValue() and attribute.Get() == 0.0)

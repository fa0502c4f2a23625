"""Attributes and prims of a stage that nothing of the result comes from, by name."""

from __future__ import annotations

import re
from typing import Final

from pxr import UsdGeom

from gltf_bullet.convert.usd.losses import LEFT_OUT, Losses, listed
from gltf_bullet.convert.usd.stage import StagePrims

_PHYSICAL: Final = re.compile(r"^(physics|newton|mjc|drive|limit|state|physx\w*):")
_READ: Final = re.compile(
    r"""^(
    physics:(rigidBodyEnabled|kinematicEnabled|startsAsleep|velocity|angularVelocity|mass|density
      |centerOfMass|diagonalInertia|principalAxes|collisionEnabled|approximation|axis|lowerLimit
      |upperLimit|coneAngle[01]Limit|(min|max)Distance|localPos[01]|localRot[01]|jointEnabled
      |breakForce|breakTorque|excludeFromArticulation|gravityDirection|gravityMagnitude
      |staticFriction|dynamicFriction|restitution|mergeGroup|invertFilteredGroups)
    |drive:\w+:physics:(type|stiffness|damping|maxForce|targetPosition|targetVelocity)
    |limit:\w+:physics:(low|high)
    |newton:(armature|damping|friction|velocityLimit|limitStiffness|limitDamping|gravityEnabled
      |selfCollisionEnabled|mimicEnabled|mimicCoef[01])
    |mjc:(armature|damping|stiffness|springref|ref|frictionloss|gravcomp|compiler:angle
      |flag:gravity|gear|gainPrm|biasPrm|gainType|biasType|dynType|ctrlRange:(min|max)|ctrlLimited
      |forceRange:(min|max)|forceLimited)
    |physxJoint:(armature|maxJointVelocity)
    |physxLimit:\w+:(stiffness|damping)
    |physxMimicJoint:\w+:(gearing|offset)
    |physxMaterial:(frictionCombineMode|restitutionCombineMode|compliantContactStiffness)
    |physxRigidBody:(disableGravity|linearDamping|angularDamping)
    |physxArticulation:enabledSelfCollisions
    )$""",
    re.VERBOSE,
)
_NO_MATTER: Final = re.compile(
    r"""^(
    # How another engine solves, sleeps, draws or keeps its books.
    physics:(engine|tensor:.*|newton:articulation_index)
    |physx(Scene|SceneQuery|Vehicle\w*):.*
    |physx(Articulation|RigidBody):(sleepThreshold|stabilizationThreshold|solver\w+
      |enableGyroscopicForces|maxDepenetrationVelocity|retainAccelerations|articulationEnabled
      |enableSpeculativeCCD|enableCCD|maxLinearVelocity|maxAngularVelocity|contactSlopCoefficient
      |maxContactImpulse|angularDampingDefault)
    |physxCollision:(contactOffset|restOffset|minTorsionalPatchRadius|torsionalPatchRadius)
    |physx\w*Collision:.*
    |physxMaterial:(improvePatchFriction|compliantContactDamping|compliantContactAccelerationSpring)
    |physxLimit:\w+:(bounceThreshold|restitution)
    |newton:(maxSolverIterations|timeStepsPerSecond|kamino:.*|xpbd:.*|vbd:.*|mpm:.*|contactMargin
      |contactGap|maxHullVertices|sdf\w+)
    |mjc:(group|option:.*|compiler:(?!angle).*|flag:(?!gravity).*|state:.*|model:.*
      |sol(imp|ref)\w*|margin|gap|maxhullvert)
    |state:\w+:physics:appliedForce
    )$""",
    re.VERBOSE,
)
_MOST_NAMES: Final = 6
_AT_REST: Final = re.compile(r"^(state:\w+:physics|newton:\w+):(position|velocity)$")


def report_rest(prims: StagePrims, losses: Losses) -> None:
    """Report physical attributes that are not read, once for each family."""
    found: dict[str, dict[str, list[str]]] = {}
    for entry in prims.entries:
        for attribute in entry.prim.GetAuthoredAttributes():
            name = attribute.GetName()
            family = _PHYSICAL.match(name)
            if family is None or _READ.match(name) or _NO_MATTER.match(name):
                continue
            if _AT_REST.match(name) and not attribute.Get():
                continue  # a joint at rest where the transforms have it
            found.setdefault(family[1], {}).setdefault(name, []).append(entry.path)
    for names in found.values():
        more = f", ... ({len(names)})" if len(names) > _MOST_NAMES else ""
        what = "the attributes " if len(names) > 1 else "the attribute "
        owners = list(dict.fromkeys(path for paths in names.values() for path in paths))
        losses.lost(what + ", ".join(list(names)[:_MOST_NAMES]) + more, listed(owners), LEFT_OUT)
    for entry in prims.entries:
        xform = UsdGeom.Xformable(entry.prim)
        if xform and xform.TransformMightBeTimeVarying():
            losses.lost("the movement by time samples", entry.path, "its first pose counts")
        if entry.prim.GetTypeName() == "NewtonActuator":
            losses.lost("an actuator of Newton", entry.path)
        elif entry.prim.GetTypeName() in ("MjcTendon", "MjcEquality", "MjcSensor"):
            losses.lost(f"a {entry.prim.GetTypeName()}", entry.path)

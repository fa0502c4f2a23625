"""Parts of a scene that are lost where its bodies are read by PyBullet's calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.model import DriveMode, Joint, JointDrive, JointLimit
from gltf_bullet.model.joints import DofKind
from gltf_bullet.runtime.worlds.live_scenes import LiveScene

SCENE_REDUCED: Final = warning(
    "SCENE_REDUCED", "left out of the scene {path} (bodies {bodies}): {what}; {why}; {instead}"
)
_SHOWN_IDS: Final = 5


def report_losses(scene: LiveScene, diagnostics: Diagnostics, *, is_whole: bool) -> None:
    """Report what is lost of a scene.

    Args:
        scene: A scene in the world.
        diagnostics: Receives one issue, or none if nothing is lost.
        is_whole: True if its bodies and joints are written as its file has them.
    """
    found = [*_beside_bodies(scene)]
    if not is_whole:
        found = [*_of_bodies(scene), *found]
    if not found:
        return
    ids = [str(body) for body in scene.body_ids]
    shown = ", ".join(ids[:_SHOWN_IDS]) + (", ..." if len(ids) > _SHOWN_IDS else "")
    if is_whole:
        why = "bodies and joints are written"
        instead = "Scene.export_glb writes all of its file"
    else:
        why = "PyBullet does not know of it"
        instead = (
            "Scene.export_glb and gb.record(scene) write all of its file"
            if scene.core is not None
            else "export it while something holds the scene that load_gltf has returned"
        )
    diagnostics.report(
        SCENE_REDUCED, ROOT, path=scene.path, bodies=shown, what=", ".join(found), why=why,
        instead=instead,
    )  # fmt: skip


def _beside_bodies(scene: LiveScene) -> Iterator[str]:
    """Yield the parts that the description of a world cannot contain."""
    physics, core = scene.physics, scene.core
    yield from _counted(len(physics.triggers), "trigger")
    yield from _counted(len(physics.gravity_volumes), "gravity volume")
    if core is not None:
        yield from _counted(len(core.asset.animations), "animation")
        yield from _counted(int(core.asset.acted is not None), "behavior graph")


def _of_bodies(scene: LiveScene) -> Iterator[str]:
    """Yield the parts of bodies and joints that PyBullet has no numbers for."""
    physics, core = scene.physics, scene.core
    joints = list(physics.joints.values())
    drives = [drive for joint in joints for drive in joint.description.drives if _pushes(drive)]
    limits = [limit for joint in joints for limit in joint.description.limits]
    yield from _counted(len(drives), "drive")
    yield from _counted(sum(map(_is_soft, limits)), "soft limit")
    yield from _counted(
        sum(_is_joint_wide(limit, joint) for joint in joints for limit in joint.description.limits),
        "limit of several axes at once", "limits of several axes at once",
    )  # fmt: skip
    materials = [c.material for c in physics.colliders.values() if c.material is not None]
    yield from _counted(
        sum(material.restitution > 0.0 for material in materials),
        "collider's restitution", "colliders' restitution",
    )  # fmt: skip
    yield from _counted(
        sum(material.static_friction != material.dynamic_friction for material in materials),
        "collider's static friction", "colliders' static friction",
    )  # fmt: skip
    if core is not None:
        yield from _counted(
            len(core.world.plan.contacts.factors.split),
            "pair of materials that no product gives", "pairs of materials that no product gives",
        )  # fmt: skip
    yield from _counted(
        sum(motion.gravity_factor != 1.0 for motion in physics.motions.values()), "gravity factor"
    )


def _pushes(drive: JointDrive) -> bool:
    """Return True if a drive is more than the damping and effort that PyBullet returns."""
    return bool(drive.stiffness or drive.velocity_target or drive.mode is DriveMode.ACCELERATION)


def _is_soft(limit: JointLimit) -> bool:
    return limit.stiffness < float("inf")


def _is_joint_wide(limit: JointLimit, joint: Joint) -> bool:
    """Return True if no single axis of the engine has this limit."""
    if _is_soft(limit) or limit.minimum == limit.maximum == 0.0:
        return False
    locked = {
        axis
        for other in joint.description.limits
        if other.kind is DofKind.ANGULAR and other.minimum == other.maximum == 0.0
        for axis in other.axes
    }
    # Rotations about three axes are one ball in the engine, which has no limits.
    return len(limit.axes) > 1 or (limit.kind is DofKind.ANGULAR and not locked)


def _counted(count: int, one: str, many: str = "") -> Iterator[str]:
    if count:
        yield f"{count} {one if count == 1 else many or one + 's'}"

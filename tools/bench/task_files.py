"""Files of the tasks of ``tools.bench train`` that are no examples: a hopper and a gripper."""

from __future__ import annotations

from tools.joint_builder import WORLD, JointBuilder, hinge, lock, motor, servo, span
from tools.make_examples import box_mesh, physics

__all__ = ["gripper_gltf", "hopper_gltf"]


def hopper_gltf() -> bytes:
    """A torso that stays in a plane, and three links below it; sizes as of ``PlainHopper``.

    Joint nodes have glTF's axes, whose Z is Bullet's -Y: positive angles are negative there. The
    parts do not meet each other, as those of any body that ``createMultiBody`` makes.
    """
    b = JointBuilder()
    rubber, sole = (
        b.physics_material(staticFriction=1, dynamicFriction=1, restitution=0,
                           frictionCombine="multiply")
        for _ in range(2)
    )  # fmt: skip
    b.node("Ground", extensions=physics(shape=b.shape("plane"), material=rubber))
    parts = b.collision_filter(collisionSystems=["Hopper"], notCollideWithSystems=["Hopper"])
    sizes = {"Torso": (0.1, 0.4, 0.1), "Thigh": (0.08, 0.36, 0.08), "Shin": (0.06, 0.36, 0.06)}
    places = {"Torso": 1.1, "Thigh": 0.7, "Shin": 0.3}
    body = {
        name: b.body(
            name,
            [0, height, 0],
            b.shape("box", size=list(sizes[name])),
            mass,
            collision_filter=parts,
        )
        for (name, height), mass in zip(places.items(), (4, 2, 1.5), strict=True)
    }
    foot_shape = b.shape("box", size=[0.32, 0.06, 0.1])
    body["Foot"] = b.body(
        "Foot", [0.06, 0.07, 0], foot_shape, 1, material=sole, collision_filter=parts
    )
    plane = b.joint(lock("linear", 2), lock("angular", 0, 1))
    b.connect("Plane", WORLD, body["Torso"], [0, 1.1, 0], plane)
    # Of PlainHopper's limits with the other sign.
    for name, first, second, height, low, high, torque in (
        ("Hip", "Torso", "Thigh", 0.9, -1.0, 1.0, 60),
        ("Knee", "Thigh", "Shin", 0.5, -2.2, 0.2, 60),
        ("Ankle", "Shin", "Foot", 0.1, -0.8, 0.8, 30),
    ):
        axis = b.joint(*hinge(2, low, high), drives=[motor("angular", 2, 0, 0.0, maxForce=torque)])
        b.connect(name, body[first], body[second], [0, height, 0], axis)
    return b.finish().gltf()


def gripper_gltf() -> bytes:
    """A hand above a table, two fingers, a cube; sizes as of ``PlainGripper``."""
    b = JointBuilder()
    rubber = b.physics_material(staticFriction=1, dynamicFriction=1, restitution=0)
    grey, blue, red, light = (
        b.material(name, color=[*color, 1])
        for name, color in (
            ("Steel", (0.5, 0.5, 0.5)), ("Blue", (0.15, 0.3, 0.7)), ("Red", (0.8, 0.2, 0.1)),
            ("Table", (0.8, 0.8, 0.82)),
        )
    )  # fmt: skip

    def box(name: str, at: list[float], size: list[float], mass: float, paint: int) -> int:
        shape, mesh = b.shape("box", size=size), box_mesh(b, size, paint)
        return b.body(name, at, shape, mass, material=rubber, mesh=mesh)

    box("Table", [0, -0.02, 0], [0.6, 0.04, 0.6], 0, light)
    hand = box("Hand", [0, 0.25, 0], [0.18, 0.04, 0.06], 1, grey)
    box("Cube", [0, 0.02, 0], [0.04, 0.04, 0.04], 0.05, red)
    others = [lock("angular", 0, 1, 2)]
    lift = b.joint(
        *others, lock("linear", 0, 2), span("linear", [1], -0.15, 0.0),
        drives=[servo("linear", 1, 4000, 200, maxForce=40)],
    )  # fmt: skip
    b.connect("Lift", WORLD, hand, [0, 0.25, 0], lift)
    for name, x, low, high in (("Left", -0.07, 0.0, 0.05), ("Right", 0.07, -0.05, 0.0)):
        finger = box(f"{name}Finger", [x, 0.19, 0], [0.02, 0.08, 0.04], 0.1, blue)
        slide = b.joint(
            *others, lock("linear", 1, 2), span("linear", [0], low, high),
            drives=[servo("linear", 0, 1000, 20, maxForce=10)],
        )  # fmt: skip
        b.connect(name, hand, finger, [x, 0.25, 0], slide)
    return b.finish().gltf()

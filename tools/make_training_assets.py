"""Writes the assets to train on: ``python -m tools.make_training_assets``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.joint_builder import JointBuilder, hinge, motor, servo
from tools.make_examples import BODIES, FOLDER, PhysicsBuilder, box_mesh, physics, turn

__all__ = ["TRAINING_ASSETS", "write_training_assets"]


def cart_pole() -> PhysicsBuilder:
    """A cart on a rail, driven with at most 10 N, and a pole that stands on it on a free hinge.

    The measures of Barto, Sutton and Anderson (1983): cart 1 kg, pole 0.1 kg and 1 m long.
    """
    b = PhysicsBuilder()
    rail, cart, pole = (
        b.shape("box", size=[6, 0.04, 0.1]),
        b.shape("box", size=[0.5, 0.2, 0.3]),
        b.shape("box", size=[0.06, 1, 0.06]),
    )
    grey, blue, red = (
        b.material("Steel", color=[0.5, 0.5, 0.5, 1]),
        b.material("Blue", color=[0.15, 0.3, 0.7, 1]),
        b.material("Red", color=[0.8, 0.2, 0.1, 1]),
    )
    slide = b.joint(
        {"linearAxes": [1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1, 2], "min": 0, "max": 0},
        {"linearAxes": [0], "min": -2.7, "max": 2.7},
        drives=[{"type": "linear", "mode": "force", "axis": 0, "positionTarget": 0,
                 "velocityTarget": 0, "stiffness": 0, "damping": 0.1, "maxForce": 10}],
    )  # fmt: skip
    hinge = b.joint(
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 1], "min": 0, "max": 0},
    )
    track = b.node(
        "Rail", translation=[0, 0.5, 0], mesh=box_mesh(b, [6, 0.04, 0.1], grey),
        extensions=physics(shape=rail),
    )  # fmt: skip
    carriage = b.node(
        "Cart", translation=[0, 0.62, 0], mesh=box_mesh(b, [0.5, 0.2, 0.3], blue),
        extensions=physics({"mass": 1}, cart),
    )  # fmt: skip
    top = b.node("TopOfCart", parent=carriage, translation=[0, 0.1, 0])
    middle = b.node("MiddleOfCart", parent=carriage)
    # A joint measures its connected node in its own frame: on the fixed side, the coordinate grows
    # with the cart's way along X, and the pole's angle with its turn about Z.
    b.node("Slide", parent=track, translation=[0, 0.12, 0],
           extensions=physics(joint={"connectedNode": middle, "joint": slide}))  # fmt: skip
    stick = b.node(
        "Pole", translation=[0, 1.22, 0], mesh=box_mesh(b, [0.06, 1, 0.06], red),
        extensions=physics({"mass": 0.1}, pole),
    )  # fmt: skip
    foot = b.node("FootOfPole", parent=stick, translation=[0, -0.5, 0])
    b.node("Hinge", parent=top,
           extensions=physics(joint={"connectedNode": foot, "joint": hinge}))  # fmt: skip
    return b


def reacher() -> PhysicsBuilder:
    """An arm of two links turns above a table; its tip shall get into the field around a goal.

    The goal is a kinematic body: it can be put elsewhere at a reset without anything made anew.
    """
    b = JointBuilder()
    grey, blue, red = (
        b.material("Steel", color=[0.5, 0.5, 0.5, 1]),
        b.material("Blue", color=[0.15, 0.3, 0.7, 1]),
        b.material("Red", color=[0.8, 0.2, 0.1, 1]),
    )
    post, upper, fore, tip = (
        b.shape("box", size=[0.08, 0.3, 0.08]),
        b.shape("box", size=[0.5, 0.05, 0.06]),
        b.shape("box", size=[0.4, 0.05, 0.05]),
        b.shape("sphere", radius=0.03),
    )
    table = box_mesh(b, [2, 0.02, 2], b.material("Table", color=[0.8, 0.8, 0.82, 1]))
    b.node("Table", translation=[0, -0.01, 0], mesh=table)
    base = b.body("Post", [0, 0.15, 0], post)
    # The field notices nothing but the tip; colliders without a filter would be noticed as well.
    link, pointer = (b.collision_filter(collisionSystems=[name]) for name in ("Links", "Tip"))
    seeker = b.collision_filter(collideWithSystems=["Tip"])
    arm = b.body("UpperArm", [0.25, 0.325, 0], upper, 1, collision_filter=link)
    forearm = b.body("Forearm", [0.7, 0.325, 0], fore, 0.5, collision_filter=link)
    for name, body, size, color in (
        ("PostMesh", base, [0.08, 0.3, 0.08], grey),
        ("UpperArmMesh", arm, [0.5, 0.05, 0.06], blue),
        ("ForearmMesh", forearm, [0.4, 0.05, 0.05], blue),
    ):
        b.node(name, parent=body, mesh=box_mesh(b, size, color))
    b.node("Tip", parent=forearm, translation=[0.2, 0, 0], mesh=box_mesh(b, [0.06] * 3, blue),
           extensions=physics(shape=tip, collision_filter=pointer))  # fmt: skip
    # Y points up: positive angles turn the arm from X towards -Z.
    for name, first, second, at, reach, torque in (
        ("Shoulder", base, arm, [0, 0.325, 0], 3, 4),
        ("Elbow", arm, forearm, [0.5, 0.325, 0], 2.6, 2),
    ):
        drive = motor("angular", 1, 0, 0.5 * torque, maxForce=torque)
        axis = b.joint(*hinge(1, -reach, reach), drives=[drive])
        b.connect(name, first, second, at, axis)
    motion = physics({"isKinematic": True})[BODIES]
    field = {
        "geometry": {"shape": b.shape("sphere", radius=0.08)},
        "collisionFilter": seeker,
    }
    b.node("Goal", translation=[0.4, 0.325, -0.5], mesh=box_mesh(b, [0.09] * 3, red),
           extensions={BODIES: motion | {"trigger": field}})  # fmt: skip
    return b


def walker() -> PhysicsBuilder:
    """Four legs on a round torso, as of the ant that reinforcement learning knows; 0.5 m high.

    Each leg has a hip that swings about the upright axis and a knee, both held by servos with a
    limited torque.
    """
    b = JointBuilder()
    rubber = b.physics_material(staticFriction=1, dynamicFriction=1, restitution=0)
    dark, light, blue, red = (
        b.material("DarkTile", color=[0.42, 0.45, 0.48, 1]),
        b.material("LightTile", color=[0.75, 0.77, 0.8, 1]),
        b.material("Blue", color=[0.15, 0.3, 0.7, 1]),
        b.material("Red", color=[0.8, 0.2, 0.1, 1]),
    )
    ground = b.node("Ground", extensions=physics(shape=b.shape("plane"), material=rubber))
    tiles = [box_mesh(b, [1, 0.02, 6], color) for color in (light, dark)]
    for number in range(-4, 16):
        b.node(f"Tile{number}", parent=ground, translation=[number + 0.5, -0.01, 0],
               mesh=tiles[number % 2])  # fmt: skip
    torso = b.body("Torso", [0, 0.41, 0], b.shape("sphere", radius=0.2), 2.4)
    b.node("TorsoMesh", parent=torso, mesh=box_mesh(b, [0.3, 0.2, 0.3], blue))
    b.node("Nose", parent=torso, translation=[0.18, 0, 0], mesh=box_mesh(b, [0.08] * 3, red))
    hold = {"stiffness": 40, "damping": 1, "maxForce": 12}
    hip = b.joint(*hinge(1, -0.7, 0.7), drives=[servo("angular", 1, **hold)])
    knee = b.joint(*hinge(2, -0.7, 0.7), drives=[servo("angular", 2, **hold)])
    # A shin leads from its knee 0.16 m outwards and 0.35 m down.
    length, slope = math.hypot(0.16, 0.35), math.degrees(math.atan2(0.16, 0.35))
    thigh_shape, shin_shape = (
        b.shape("capsule", height=size, radiusBottom=0.05, radiusTop=0.05)
        for size in (0.22, round(length, 6))
    )
    thigh_mesh, shin_mesh = (
        box_mesh(b, [0.26, 0.08, 0.08], blue),
        box_mesh(b, [0.08, round(length + 0.08, 6), 0.08], red),
    )
    for number, leg in enumerate(("FrontLeft", "BackLeft", "BackRight", "FrontRight")):
        # Every leg has its own X outwards; Y points up, so a turn leads from X towards -Z.
        outwards = turn((0, 1, 0), 45 + 90 * number)
        x = round(0.2 * math.cos(math.radians(45 + 90 * number)), 6)
        z = round(-0.2 * math.sin(math.radians(45 + 90 * number)), 6)
        thigh = b.node(
            f"{leg}Thigh", translation=[x, 0.41, z], rotation=outwards,
            extensions=physics({"mass": 0.2, "centerOfMass": [0.11, 0, 0]}),
        )  # fmt: skip
        b.node(f"{leg}ThighShape", parent=thigh, translation=[0.11, 0, 0],
               rotation=turn((0, 0, 1), 90), extensions=physics(shape=thigh_shape))  # fmt: skip
        b.node(f"{leg}ThighMesh", parent=thigh, translation=[0.11, 0, 0], mesh=thigh_mesh)
        knee_x = round(x * 2.1, 6), round(z * 2.1, 6)
        shin = b.node(
            f"{leg}Shin", translation=[knee_x[0], 0.41, knee_x[1]], rotation=outwards,
            extensions=physics({"mass": 0.3, "centerOfMass": [0.08, -0.175, 0]}),
        )  # fmt: skip
        b.node(f"{leg}ShinShape", parent=shin, translation=[0.08, -0.175, 0],
               rotation=turn((0, 0, 1), slope), mesh=shin_mesh,
               extensions=physics(shape=shin_shape, material=rubber))  # fmt: skip
        b.node(f"{leg}Hip", parent=torso, translation=[x, 0, z], rotation=outwards,
               extensions=physics(joint={"connectedNode": thigh, "joint": hip}))  # fmt: skip
        b.node(f"{leg}Knee", parent=thigh, translation=[0.22, 0, 0],
               extensions=physics(joint={"connectedNode": shin, "joint": knee}))  # fmt: skip
    return b


TRAINING_ASSETS: Final[dict[str, Callable[[], PhysicsBuilder]]] = {
    make.__name__: make for make in (cart_pole, reacher, walker)
}


def write_training_assets(folder: Path) -> list[Path]:
    """Write all training assets into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in TRAINING_ASSETS.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_training_assets(FOLDER):
        sys.stdout.write(f"{file}\n")

"""Writes the example assets with joints: ``python -m tools.make_joint_examples``.

The door with spring and stop, ``hinge_door``, and a ball pendulum are in ``make_examples``.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tools.joint_builder import (
    BALL,
    WORLD,
    JointBuilder,
    Place,
    hinge,
    lock,
    motor,
    servo,
    span,
)
from tools.make_examples import FOLDER, PhysicsBuilder, physics, turn

__all__ = ["JOINT_EXAMPLES", "write_joint_examples"]


def slider_motor() -> PhysicsBuilder:
    """A lift: a motor raises a car of 5 kg at 0.5 m/s, less what its weight costs, to a stop."""
    b = JointBuilder()
    rail, car = b.shape("box", size=[0.1, 2.4, 0.1]), b.shape("box", size=[0.6, 0.4, 0.6])
    mast = b.body("Mast", [0, 1.2, 0], rail)
    lift = b.body("Car", [0.4, 0.3, 0], car, 5)
    joint = b.joint(
        lock("linear", 0, 2),
        lock("angular", 0, 1, 2),
        span("linear", [1], 0, 1.5),
        drives=[motor("linear", 1, 0.5, 500, maxForce=400)],
    )
    b.connect("Slide", mast, lift, [0.4, 0.3, 0], joint)
    return b


def ball_and_cone() -> PhysicsBuilder:
    """A joystick: a stick on a ball joint falls until its cone of 40 degrees stops it."""
    b = JointBuilder()
    foot, stick = b.shape("box", size=[0.4, 0.1, 0.4]), b.shape("box", size=[0.06, 0.8, 0.06])
    socket = b.joint(*BALL, span("angular", [0, 2], 0, math.radians(40)))
    base = b.body("Foot", [0, 0.05, 0], foot)
    tilt = turn((0, 0, 1), -5)
    lever = b.node("Stick", translation=[0, 0.1, 0], rotation=tilt,
                   extensions=physics({"mass": 1, "centerOfMass": [0, 0.4, 0]}))  # fmt: skip
    b.node("StickShape", parent=lever, translation=[0, 0.4, 0], extensions=physics(shape=stick))
    b.frame("Socket", base, [0, 0.1, 0],
            physics(joint={"connectedNode": lever, "joint": socket}))  # fmt: skip
    return b


def rope() -> PhysicsBuilder:
    """Twenty segments of 0.1 m on ball joints and a weight; it swings from a hook."""
    b = JointBuilder()
    strand = b.shape("sphere", radius=0.02)
    ball = b.shape("sphere", radius=0.08)
    socket = b.joint(*BALL)
    direction = (math.sin(math.radians(45)), -math.cos(math.radians(45)))

    def along(distance: float) -> list[float]:
        return [distance * direction[0], 3 + distance * direction[1], 0]

    above = WORLD
    for number in range(20):
        segment = b.body(f"Segment{number}", along(0.1 * number + 0.05), strand, 0.05,
                         inertiaDiagonal=[5e-5, 5e-5, 5e-5])  # fmt: skip
        b.connect(f"Joint{number}", above, segment, along(0.1 * number), socket)
        above = segment
    weight = b.body("Weight", along(2.08), ball, 1)
    b.connect("WeightJoint", above, weight, along(2.0), b.joint(lock("linear", 0, 1, 2),
              lock("angular", 0, 1, 2)))  # fmt: skip
    return b


def four_bar() -> PhysicsBuilder:
    """A motor turns the crank round and round; the rocker swings to and fro."""
    b = JointBuilder()
    ground, crank, coupler, rocker = 0.6, 0.2, 0.5, 0.4
    # The crank starts upright; where coupler and rocker meet follows from the two circles.
    top, pivot = (0.0, crank), (ground, 0.0)
    apart = math.dist(top, pivot)
    near = (coupler**2 - rocker**2 + apart**2) / (2 * apart)
    height = math.sqrt(coupler**2 - near**2)
    ux, uy = (pivot[0] - top[0]) / apart, (pivot[1] - top[1]) / apart
    knee = (top[0] + near * ux - height * uy, top[1] + near * uy + height * ux)
    places = [(0.0, 0.0), top, knee, pivot]
    pin = b.joint(*hinge(2))
    driven = b.joint(*hinge(2), drives=[motor("angular", 2, 2, 20)])
    bodies = [WORLD]
    for name, mass, start, end in zip(
        ("Crank", "Coupler", "Rocker"), (0.2, 0.5, 0.4), places, places[1:], strict=False
    ):
        bodies.append(b.bar(name, [*start, 0], [*end, 0], mass))
    names = ("CrankMotor", "CrankPin", "RockerPin", "RockerPivot")
    for number, (name, place) in enumerate(zip(names, places, strict=True)):
        second = bodies[number + 1] if number < 3 else WORLD
        b.connect(name, bodies[number], second, [*place, 0], driven if number == 0 else pin)
    return b


def six_axis_arm() -> PhysicsBuilder:
    """A robot arm of six hinges, each held by a servo; it reaches forward along +X."""
    b = JointBuilder()
    pedestal = b.shape("cylinder", height=0.3, radiusBottom=0.15, radiusTop=0.15)
    above = b.body("Pedestal", [0, 0.15, 0], pedestal)
    # Name, turning axis, where it turns, centre and size of what it carries, mass, reach [rad].
    axes: tuple[tuple[str, int, Place, Place, Place, float, float], ...] = (
        ("Turret", 1, (0, 0.3, 0), (0, 0.4, 0), (0.2, 0.2, 0.2), 4, 3.1),
        ("Shoulder", 2, (0, 0.5, 0), (0, 0.7, 0), (0.1, 0.4, 0.1), 3, 2.0),
        ("Elbow", 2, (0, 0.9, 0), (0.15, 0.9, 0), (0.3, 0.08, 0.08), 2, 2.4),
        ("Forearm", 0, (0.3, 0.9, 0), (0.4, 0.9, 0), (0.2, 0.07, 0.07), 1, 3.1),
        ("Wrist", 2, (0.5, 0.9, 0), (0.55, 0.9, 0), (0.1, 0.06, 0.06), 0.5, 2.0),
        ("Hand", 0, (0.6, 0.9, 0), (0.65, 0.9, 0), (0.1, 0.1, 0.04), 0.3, 3.1),
    )
    for name, axis, at, centre, size, mass, reach in axes:
        part = b.body(name, centre, b.shape("box", size=list(size)), mass)
        drive = servo("angular", axis, 2e4, 400, maxForce=300)
        joint = b.joint(*hinge(axis, -reach, reach), drives=[drive])
        b.connect(f"{name}Axis", above, part, at, joint)
        above = part
    return b


def ragdoll() -> PhysicsBuilder:
    """A puppet with cones in hips and shoulders and hinges in knees and elbows falls down."""
    b = JointBuilder()
    floor = b.shape("box", size=[6, 1, 6])
    b.body("Floor", [0, -0.5, 0], floor)
    torso, pelvis = b.shape("box", size=[0.36, 0.42, 0.2]), b.shape("box", size=[0.3, 0.16, 0.18])
    head = b.shape("sphere", radius=0.11)
    arm = b.shape("capsule", height=0.16, radiusBottom=0.05, radiusTop=0.05)
    leg = b.shape("capsule", height=0.28, radiusBottom=0.06, radiusTop=0.06)
    # A little friction in every joint: a puppet of wood, not of frictionless steel.
    soft = [motor("angular", axis, 0, 0.5) for axis in range(3)]

    def cone(degrees: float) -> int:
        twist = span("angular", [1], -0.5, 0.5)
        return b.joint(*BALL, twist, span("angular", [0, 2], 0, math.radians(degrees)), drives=soft)

    neck, waist, hip, shoulder = cone(40), cone(30), cone(60), cone(85)
    # Bodies hang straight down at zero: a knee bends backwards, an elbow forwards (-Z, +Z).
    knee = b.joint(*hinge(0, 0, 2.2), drives=soft[:1])
    elbow = b.joint(*hinge(0, -2.4, 0), drives=soft[:1])
    hips = b.body("Pelvis", [0, 1.2, 0], pelvis, 10)
    chest = b.body("Chest", [0, 1.55, 0], torso, 25, angularVelocity=[1, 0, 0.6])
    b.connect("Waist", hips, chest, [0, 1.31, 0], waist)
    skull = b.body("Head", [0, 1.94, 0], head, 5)
    b.connect("Neck", chest, skull, [0, 1.81, 0], neck)
    for side, x in (("Left", 1), ("Right", -1)):
        upper = b.body(f"{side}UpperArm", [0.26 * x, 1.55, 0], arm, 2)
        lower = b.body(f"{side}Forearm", [0.26 * x, 1.25, 0], arm, 1.5)
        b.connect(f"{side}Shoulder", chest, upper, [0.26 * x, 1.69, 0], shoulder)
        b.connect(f"{side}Elbow", upper, lower, [0.26 * x, 1.4, 0], elbow)
        thigh = b.body(f"{side}Thigh", [0.1 * x, 0.9, 0], leg, 8)
        shin = b.body(f"{side}Shin", [0.1 * x, 0.45, 0], leg, 4)
        b.connect(f"{side}Hip", hips, thigh, [0.1 * x, 1.1, 0], hip)
        b.connect(f"{side}Knee", thigh, shin, [0.1 * x, 0.675, 0], knee)
    return b


def suspension_bridge() -> PhysicsBuilder:
    """Two cables between two towers carry a deck of hinged planks, and the deck carries a box."""
    b = JointBuilder()
    count, step, width, deck = 10, 0.5, 1.2, 2.0
    half = 0.5 * count * step
    tower, plank = b.shape("box", size=[0.4, 4, 1.6]), b.shape("box", size=[0.48, 0.06, width])
    cargo = b.shape("box", size=[0.5, 0.5, 0.5])
    rubbing = motor("angular", 2, 0, 2)
    pin = b.joint(*hinge(2), drives=[rubbing])
    # The deck rests on rollers on one side: only cables and hangers carry it.
    roller = b.joint(lock("linear", 1, 2), lock("angular", 0, 1), span("linear", [0], -0.2, 0.2),
                     drives=[rubbing])  # fmt: skip
    towers = [b.body(f"Tower{side}", [x * (half + 0.2), 2, 0], tower)
              for side, x in (("Left", -1), ("Right", 1))]  # fmt: skip
    ends = [step * number - half for number in range(count + 1)]

    def chain(name: str, links: Sequence[int], places: Sequence[Place], last: int) -> None:
        """Join links to each other and to both towers."""
        row = [towers[0], *links, towers[1]]
        for number, (first, second) in enumerate(itertools.pairwise(row)):
            joint = last if number == count else pin
            b.connect(f"{name}Pin{number}", first, second, places[number], joint)

    planks = [b.body(f"Plank{k}", [ends[k] + step / 2, deck, 0], plank, 8) for k in range(count)]
    chain("Plank", planks, [[x, deck, 0] for x in ends], roller)
    for side, z in (("Left", -0.55), ("Right", 0.55)):
        knots = [[x, deck + 0.5 + 1.3 * (x / half) ** 2, z] for x in ends]
        cable = [b.bar(f"{side}Cable{number}", start, end, 1)
                 for number, (start, end) in enumerate(itertools.pairwise(knots))]  # fmt: skip
        chain(f"{side}Cable", cable, knots, pin)
        for number in range(1, count):
            # A hanger is a rope: no more than a largest distance.
            x, height, _ = knots[number]
            hanger = b.joint(span("linear", [0, 1, 2], 0, round(height - deck, 6)))
            end = b.frame(f"{side}Hook{number}", planks[number], [x, deck, z])
            b.frame(f"{side}Hanger{number}", cable[number], [x, height, z],
                    physics(joint={"connectedNode": end, "joint": hanger}))  # fmt: skip
    b.body("Box", [0, deck + 0.6, 0], cargo, 40)
    return b


def vehicle() -> PhysicsBuilder:
    """A car on four sprung and driven wheels; the front ones steer."""
    b = JointBuilder()
    floor, cabin = b.shape("box", size=[200, 1, 200]), b.shape("box", size=[2, 0.4, 0.9])
    wheel = b.shape("cylinder", height=0.2, radiusBottom=0.3, radiusTop=0.3)
    b.body("Ground", [0, -0.5, 0], floor)
    car = b.body("Car", [0, 0.6, 0], cabin, 400)
    # Forward is +X, so a wheel that rolls forward turns about -Z: 10 rad/s are 3 m/s.
    spring = servo("linear", 1, 4e4, 3e3)
    engine = motor("angular", 2, -10, 200, maxForce=100)
    travel = span("linear", [1], -0.1, 0.1)
    fixed = b.joint(lock("linear", 0, 2), travel, lock("angular", 0, 1), drives=[spring, engine])
    steered = b.joint(
        lock("linear", 0, 2), travel, lock("angular", 0), span("angular", [1], -0.6, 0.6),
        drives=[spring, engine, servo("angular", 1, 2e3, 100)],
    )  # fmt: skip
    for name, x, z in (("FrontLeft", 0.7, -0.6), ("FrontRight", 0.7, 0.6),
                       ("RearLeft", -0.7, -0.6), ("RearRight", -0.7, 0.6)):  # fmt: skip
        at = [x, 0.3, z]
        motion = {"mass": 15, "inertiaDiagonal": [0.4, 0.4, 0.7]}
        body = b.node(name, translation=at, extensions=physics(motion))
        b.node(f"{name}Tyre", parent=body, rotation=turn((1, 0, 0), 90),
               extensions=physics(shape=wheel))  # fmt: skip
        axle = {"connectedNode": body, "joint": steered if x > 0 else fixed}
        b.frame(f"{name}Axle", car, at, physics(joint=axle))
    return b


JOINT_EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {
    make.__name__: make
    for make in (
        slider_motor,
        ball_and_cone,
        rope,
        four_bar,
        six_axis_arm,
        ragdoll,
        suspension_bridge,
        vehicle,
    )
}


def write_joint_examples(folder: Path) -> list[Path]:
    """Write the assets into ``folder``."""
    written = []
    for name, make in JOINT_EXAMPLES.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_joint_examples(FOLDER):
        sys.stdout.write(f"{file}\n")

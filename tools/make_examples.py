"""Writes the example assets: ``python -m tools.make_examples`` fills ``examples/assets``.

Each asset shows one subject in as few keys as possible. ``tests/tools/test_make_examples.py``
compares the committed files with what is written here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tools.gltf_builder import GltfBuilder

__all__ = ["EXAMPLES", "write_examples"]

FOLDER: Final = Path(__file__).resolve().parent.parent / "examples" / "assets"

BODIES: Final = "KHR_physics_rigid_bodies"
SHAPES: Final = "KHR_implicit_shapes"

BOX_TRIANGLES: Final = (
    (0, 1, 2), (1, 3, 2), (4, 6, 5), (5, 6, 7), (0, 4, 1), (1, 4, 5),
    (2, 3, 6), (3, 7, 6), (0, 2, 4), (2, 6, 4), (1, 5, 3), (3, 5, 7),
)  # fmt: skip


class PhysicsBuilder(GltfBuilder):
    """A glTF builder that also keeps the tables of the physics extensions."""

    def __init__(self) -> None:
        super().__init__(generator="gltf_bullet tools/make_examples.py")
        self._tables: dict[str, list[Any]] = {}

    def shape(self, kind: str, **values: Any) -> int:
        """Add an implicit shape."""
        return self._entry("shapes", {"type": kind, kind: values})

    def physics_material(self, **values: Any) -> int:
        """Add a physics material."""
        return self._entry("physicsMaterials", values)

    def collision_filter(self, **values: Any) -> int:
        """Add a collision filter."""
        return self._entry("collisionFilters", values)

    def joint(self, *limits: dict[str, Any], drives: Sequence[dict[str, Any]] = ()) -> int:
        """Add a joint description."""
        entry: dict[str, Any] = {"limits": list(limits)}
        if drives:
            entry["drives"] = list(drives)
        return self._entry("physicsJoints", entry)

    def _entry(self, table: str, value: Any) -> int:
        self._tables.setdefault(table, []).append(value)
        return len(self._tables[table]) - 1

    def finish(self) -> GltfBuilder:
        """Put the tables into the root."""
        tables = dict(self._tables)
        if "shapes" in tables:
            self.root_extension(SHAPES, {"shapes": tables.pop("shapes")})
        if tables:
            self.root_extension(BODIES, tables)
        return self


def physics(
    motion: dict[str, Any] | None = None,
    shape: int | None = None,
    *,
    geometry: dict[str, Any] | None = None,
    material: int | None = None,
    collision_filter: int | None = None,
    joint: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The extensions of a node with a motion, a collider or a joint."""
    body: dict[str, Any] = {}
    if motion is not None:
        body["motion"] = motion
    if shape is not None:
        geometry = {"shape": shape}
    if geometry is not None:
        body["collider"] = {"geometry": geometry}
        if material is not None:
            body["collider"]["physicsMaterial"] = material
        if collision_filter is not None:
            body["collider"]["collisionFilter"] = collision_filter
    if joint is not None:
        body["joint"] = joint
    return {BODIES: body}


def turn(axis: Sequence[float], degrees: float) -> list[float]:
    """A rotation, xyzw."""
    half = math.radians(degrees) / 2.0
    return [round(math.sin(half) * a, 9) for a in axis] + [round(math.cos(half), 9)]


def box_mesh(builder: GltfBuilder, size: Sequence[float], material: int) -> int:
    """A render mesh of eight vertices."""
    x, y, z = (0.5 * s for s in size)
    points = [(sx * x, sy * y, sz * z) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
    return builder.mesh(points, BOX_TRIANGLES, material=material)


def falling_box() -> PhysicsBuilder:
    """A crate over a floor, both with a render mesh."""
    b = PhysicsBuilder()
    wood = b.material("Wood", color=(0.75, 0.42, 0.16, 1.0))
    stone = b.material("Stone", color=(0.55, 0.57, 0.6, 1.0))
    crate, floor = b.shape("box", size=[1, 1, 1]), b.shape("box", size=[10, 1, 10])
    b.node("Floor", translation=[0, -0.5, 0], mesh=box_mesh(b, (10, 1, 10), stone),
           extensions=physics(shape=floor))  # fmt: skip
    b.node("Crate", translation=[0, 3, 0], rotation=turn((0, 0, 1), 20),
           mesh=box_mesh(b, (1, 1, 1), wood),
           extensions=physics({"mass": 20}, crate))  # fmt: skip
    return b


def compound() -> PhysicsBuilder:
    """A hammer: one body, two collider nodes below it, its weight near the head."""
    b = PhysicsBuilder()
    floor = b.shape("plane")
    handle = b.shape("cylinder", height=0.8, radiusBottom=0.03, radiusTop=0.03)
    head = b.shape("box", size=[0.3, 0.12, 0.12])
    b.node("Floor", extensions=physics(shape=floor))
    hammer = b.node(
        "Hammer",
        translation=[0, 1.5, 0],
        extensions=physics(
            {"mass": 2, "centerOfMass": [0, 0.3, 0], "inertiaDiagonal": [0.07, 0.02, 0.07],
             "angularVelocity": [0, 0, 4]}
        ),
    )  # fmt: skip
    b.node("Handle", parent=hammer, extensions=physics(shape=handle))
    b.node("Head", parent=hammer, translation=[0, 0.4, 0], extensions=physics(shape=head))
    return b


def shape_zoo() -> PhysicsBuilder:
    """Every shape, and what node scale makes of some of them, over an infinite plane."""
    b = PhysicsBuilder()
    wedge = b.mesh(
        [(-0.4, -0.3, -0.4), (0.4, -0.3, -0.4), (-0.4, -0.3, 0.4), (0.4, -0.3, 0.4),
         (-0.4, 0.3, -0.4), (0.4, 0.3, -0.4)],
        [(0, 1, 2), (1, 3, 2), (0, 4, 1), (1, 4, 5), (2, 3, 4), (3, 5, 4), (0, 2, 4), (1, 5, 3)],
        name="Wedge",
    )  # fmt: skip
    b.node("InfinitePlane", extensions=physics(shape=b.shape("plane")))
    sheet = b.shape("plane", sizeX=3, sizeZ=3, doubleSided=True)
    b.node("FinitePlane", translation=[4.5, 1, 0], rotation=turn((0, 0, 1), 20),
           extensions=physics(shape=sheet))  # fmt: skip
    ramp = b.node("MeshRamp", translation=[-4.5, 0.6, 0], scale=[3, 2, 3],
                  extensions=physics(geometry={"mesh": wedge}))  # fmt: skip
    assert ramp >= 0
    box, ball = b.shape("box", size=[0.7, 0.5, 0.6]), b.shape("sphere", radius=0.35)
    capsule = b.shape("capsule", height=0.5, radiusBottom=0.25, radiusTop=0.25)
    tapered = b.shape("capsule", height=0.6, radiusBottom=0.3, radiusTop=0.15)
    cylinder = b.shape("cylinder", height=0.6, radiusBottom=0.3, radiusTop=0.3)
    cone = b.shape("cylinder", height=0.8, radiusBottom=0.4, radiusTop=0)
    rows: tuple[tuple[str, int, dict[str, Any]], ...] = (
        ("Box", box, {}),
        ("Sphere", ball, {}),
        ("Capsule", capsule, {"rotation": turn((0, 0, 1), 70)}),
        ("TaperedCapsule", tapered, {"rotation": turn((0, 0, 1), 80)}),
        ("Cylinder", cylinder, {"rotation": turn((0, 0, 1), 30)}),
        ("Cone", cone, {"rotation": turn((1, 0, 0), 15)}),
        ("Ellipsoid", ball, {"scale": [1.6, 0.8, 1]}),
        ("SmallBox", box, {"scale": [0.6, 0.6, 0.6]}),
    )
    for index, (name, shape, members) in enumerate(rows):
        x, z = 1.3 * (index % 4) - 1.95, 1.5 * (index // 4) - 1.5
        b.node(name, translation=[round(x, 3), 1.5, z], **members,
               extensions=physics({}, shape))  # fmt: skip
    b.node("Hull", translation=[-0.65, 1.5, 1.5],
           extensions=physics({}, geometry={"mesh": wedge, "convexHull": True}))  # fmt: skip
    # A rotated child below a stretched parent is sheared.
    sheared = b.node("Sheared", translation=[0.65, 1.5, 1.5], scale=[1.4, 0.8, 1],
                     extensions=physics({}))  # fmt: skip
    b.node("ShearedBox", parent=sheared, rotation=turn((0, 0, 1), 30),
           extensions=physics(shape=box))  # fmt: skip
    b.node("OnTheRamp", translation=[-4.5, 2.2, -0.6], extensions=physics({}, ball))
    b.node("OnTheSheet", translation=[4.5, 1.8, 0], extensions=physics({}, ball))
    return b


def kinematic_platform() -> PhysicsBuilder:
    """A kinematic belt at 0.5 m/s that carries a box, and a turntable that carries a second."""
    b = PhysicsBuilder()
    belt, crate = b.shape("box", size=[6, 0.2, 1.5]), b.shape("box", size=[0.4, 0.4, 0.4])
    table = b.shape("cylinder", height=0.2, radiusBottom=1, radiusTop=1)
    rubber = b.physics_material(staticFriction=1.0, dynamicFriction=1.0)
    b.node("Belt", translation=[0, 0.9, 0],
           extensions=physics({"isKinematic": True, "linearVelocity": [0.5, 0, 0]}, belt,
                              material=rubber))  # fmt: skip
    b.node("Turntable", translation=[0, 0.9, 3],
           extensions=physics({"isKinematic": True, "angularVelocity": [0, 0.8, 0]}, table,
                              material=rubber))  # fmt: skip
    b.node("BeltBox", translation=[-1, 1.25, 0],
           extensions=physics({"mass": 5}, crate, material=rubber))  # fmt: skip
    b.node("TableBox", translation=[0.5, 1.25, 3],
           extensions=physics({"mass": 5}, crate, material=rubber))  # fmt: skip
    return b


def hinge_door() -> PhysicsBuilder:
    """A door on a hinge about its upright edge, from -100 to 100 degrees, with a closing spring."""
    b = PhysicsBuilder()
    post, door = b.shape("box", size=[0.1, 2.2, 0.1]), b.shape("box", size=[0.9, 2, 0.05])
    hinge = b.joint(
        {"linearAxes": [0, 1, 2], "min": 0, "max": 0},
        {"angularAxes": [0, 2], "min": 0, "max": 0},
        {"angularAxes": [1], "min": -1.745, "max": 1.745},
        drives=[{"type": "angular", "mode": "force", "axis": 1, "positionTarget": 0,
                 "velocityTarget": 0, "stiffness": 20, "damping": 8}],
    )  # fmt: skip
    frame = b.node("Post", translation=[0, 1.1, 0], extensions=physics(shape=post))
    anchor = b.node("HingeOnPost", parent=frame, translation=[0.05, 0, 0])
    leaf = b.node("Door", translation=[0.51, 1.1, 0],
                  extensions=physics({"mass": 15, "angularVelocity": [0, 3, 0]}, door))  # fmt: skip
    b.node("HingeOnDoor", parent=leaf, translation=[-0.46, 0, 0],
           extensions=physics(joint={"connectedNode": anchor, "joint": hinge}))  # fmt: skip
    return b


def pendulum() -> PhysicsBuilder:
    """Three balls on rods, hanging from a fixed hook by ball joints."""
    b = PhysicsBuilder()
    ball = b.shape("sphere", radius=0.12)
    socket = b.joint({"linearAxes": [0, 1, 2], "min": 0, "max": 0})
    above = b.node("Hook", translation=[0, 3, 0])
    for number in range(3):
        body = b.node(f"Ball{number}", translation=[round(0.6 * (number + 1), 3), 3, 0],
                      extensions=physics({"mass": 1}, ball))  # fmt: skip
        b.node(f"Joint{number}", parent=body, translation=[-0.6, 0, 0],
               extensions=physics(joint={"connectedNode": above, "joint": socket}))  # fmt: skip
        above = body
    return b


def friction_ramp() -> PhysicsBuilder:
    """Three boxes on a slope of 20 degrees: friction 0.1 and 0.3 slide, 0.6 stays."""
    b = PhysicsBuilder()
    slope, crate = b.shape("box", size=[8, 0.2, 4]), b.shape("box", size=[0.5, 0.3, 0.5])
    rough = b.physics_material(
        staticFriction=1,
        dynamicFriction=1,
        frictionCombine="multiply",
        restitutionCombine="multiply",
    )
    ramp = b.node("Ramp", translation=[0, 2, 0], rotation=turn((0, 0, 1), -20),
                  extensions=physics(shape=slope, material=rough))  # fmt: skip
    assert ramp == 0
    up = (math.sin(math.radians(20)), math.cos(math.radians(20)))
    for row, friction in enumerate((0.1, 0.3, 0.6)):
        surface = b.physics_material(
            staticFriction=friction, dynamicFriction=friction,
            frictionCombine="multiply", restitutionCombine="multiply",
        )  # fmt: skip
        along, above = -2.5, 0.25
        place = [along * up[1] + above * up[0], 2 - along * up[0] + above * up[1], 1.2 * row - 1.2]
        b.node(f"Friction{friction}", translation=[round(p, 6) for p in place],
               rotation=turn((0, 0, 1), -20),
               extensions=physics({"mass": 2}, crate, material=surface))  # fmt: skip
    return b


EXAMPLES: Final[dict[str, Callable[[], PhysicsBuilder]]] = {
    make.__name__: make
    for make in (
        falling_box,
        compound,
        shape_zoo,
        kinematic_platform,
        hinge_door,
        pendulum,
        friction_ramp,
    )
}


def write_examples(folder: Path) -> list[Path]:
    """Write all example assets into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in EXAMPLES.items():
        path = folder / f"{name}.gltf"
        make().finish().write(path)
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_examples(FOLDER):
        sys.stdout.write(f"{file}\n")

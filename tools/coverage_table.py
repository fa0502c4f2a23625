"""The table of all physics properties and what becomes of them: ``python -m tools.coverage_table``.

The properties are collected from the dialect modules, so none can be forgotten: one without a
treatment below fails the test. ``--check`` only compares README.md with the table.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Final

from tools.list_issues import README, ROOT, readme_with_table

__all__ = ["coverage_table", "properties"]

DIALECTS: Final = ROOT / "gltf_bullet" / "dialects"
BEGIN: Final = "<!-- coverage: written by tools/coverage_table.py -->"
END: Final = "<!-- end of coverage -->"

EXACT, APPROXIMATED, REFUSED = "exact", "approximated", "refused"

DIALECT_OF: Final[Mapping[str, str]] = {
    "khr": "KHR",
    "omi_collider": "OMI_collider",
    "omi": "OMI",
    "msft": "MSFT",
}
"""By the beginning of a module's name; modules of another name serve every dialect."""

_LIMIT = "1D, 2D, 3D by the metrics of the appendix; hard ones hold within 1 mm and 0.2 deg"
_REST = "friction and bounce of every pair by the stated rule, factored or on links of their own"

TREATMENTS: Final[Mapping[str, tuple[str, str]]] = {
    # tables and references
    **dict.fromkeys(
        ("shapes", "colliders", "physicsMaterials", "collisionFilters", "physicsJoints",
         "physicsJointLimits", "collider", "trigger", "motion", "rigidBody", "joint", "shape",
         "geometry", "node", "mesh", "physicsMaterial", "collisionFilter", "connectedNode",
         "jointLimits", "limits", "drives", "constraints", "type", "isTrigger",
         "box", "sphere", "capsule", "cylinder"),
        (EXACT, ""),
    ),
    "nodes": (EXACT, "a compound trigger reports once, as the node that holds the list"),
    # shapes
    "size": (EXACT, "under any scale; sheared boxes are hulls of their eight corners"),
    "radius": (EXACT, "hull with the deviation named under non-uniform scale or shear"),
    "height": (EXACT, "hull with the deviation named under non-uniform scale or shear"),
    "radiusBottom": (APPROXIMATED, "exact where equal to the top; else a hull of <= 256 points"),
    "radiusTop": (APPROXIMATED, "exact where equal to the bottom; else a hull of <= 256 points"),
    "sizeX": (APPROXIMATED, "absent on both axes: exact; sheets collide from both sides"),
    "sizeZ": (APPROXIMATED, "absent on both axes: exact; sheets collide from both sides"),
    "doubleSided": (APPROXIMATED, "finite sheets collide from both sides anyway"),
    "convexHull": (EXACT, "up to 256 vertices; the reduction is named beyond"),
    "convex": (EXACT, "up to 256 vertices; the reduction is named beyond"),
    "trimesh": (APPROXIMATED, "static: exact; moving: triangles or convex parts, named"),
    "skin": (EXACT, "at load; while joints move the collider is rebuilt at 1 % deformation"),
    "weights": (EXACT, "at load; while they change the collider is rebuilt at 1 % deformation"),
    "useNodeWeights": (EXACT, ""),
    # motion
    "isKinematic": (EXACT, "constant velocity; carries what rests on it"),
    "mass": (EXACT, "0 (infinite) stands as 1e9 of the largest finite mass; OMI's 0 is named"),
    "centerOfMass": (EXACT, ""),
    "inertiaDiagonal": (EXACT, "infinite components stand as 1e9 of the largest finite one"),
    "inertiaOrientation": (EXACT, ""),
    "inertiaTensor": (EXACT, ""),
    "linearVelocity": (EXACT, "of the centre of mass, rotated by the node, never scaled"),
    "angularVelocity": (EXACT, ""),
    "gravityFactor": (EXACT, ""),
    # materials and filters
    "staticFriction": (EXACT, "acts below the slip speed of max(0.05, 1.5 g dt) m/s"),
    "dynamicFriction": (EXACT, "stopping distance within 2 %"),
    "restitution": (APPROXIMATED, "within 0.05; hulls landing flat lose up to 0.1 below 480 Hz"),
    "frictionCombine": (EXACT, _REST),
    "restitutionCombine": (EXACT, _REST),
    "collisionSystems": (EXACT, "any system in common, as the published samples need"),
    "collisionSystem": (EXACT, "older spelling of collisionSystems"),
    "collideWithSystems": (EXACT, "29 filter classes by bits, more by pair rules"),
    "notCollideWithSystems": (EXACT, "the complement of collideWithSystems"),
    # joints
    "enableCollision": (EXACT, "towards the fixed world: the nearest collider above the node"),
    "linearAxes": (EXACT, _LIMIT),
    "angularAxes": (EXACT, _LIMIT),
    "min": (EXACT, ""),
    "max": (EXACT, ""),
    "stiffness": (EXACT, "implicit: stable for any value"),
    "damping": (EXACT, "implicit: stable for any value"),
    "springConstant": (EXACT, "implicit: stable for any value"),
    "springDamping": (EXACT, "implicit: stable for any value"),
    "mode": (EXACT, "acceleration: scaled by the effective mass of the axis"),
    "axis": (EXACT, ""),
    "maxForce": (EXACT, ""),
    "positionTarget": (EXACT, ""),
    "velocityTarget": (EXACT, ""),
    # gravity
    **dict.fromkeys(
        ("gravity", "direction", "directional", "point", "disc", "torus", "line", "shaped",
         "unitDistance", "points", "priority", "replace", "stop"),
        (EXACT, "a force on this scene's bodies, at their centres of mass"),
    ),
}  # fmt: skip


def properties() -> dict[str, list[str]]:
    """Property names with the dialects that have them, from the calls of ``known_keys``."""
    found: dict[str, set[str]] = {}
    for path in sorted(DIALECTS.glob("*.py")):
        dialect = next(
            (name for prefix, name in DIALECT_OF.items() if path.stem.startswith(prefix)), "all"
        )
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            for keyword in call.keywords:
                # A dialect's own word for a common property, such as springConstant.
                if (keyword.arg or "").endswith("_key") and isinstance(keyword.value, ast.Constant):
                    found.setdefault(str(keyword.value.value), set()).add(dialect)
            if call.func.id != "known_keys":
                continue
            for argument in call.args:
                for name in _names(argument, import_module(f"gltf_bullet.dialects.{path.stem}")):
                    found.setdefault(name, set()).add(dialect)
    return {
        name: ["all"] if "all" in where else sorted(where) for name, where in sorted(found.items())
    }


def _names(argument: ast.expr, module: ModuleType) -> list[str]:
    """The keys that an argument stands for: a literal, or a constant of the module."""
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if isinstance(argument, ast.Name):
        value = getattr(module, argument.id, None)
        return [value] if isinstance(value, str) else []
    if isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name):
        return [getattr(key, "value", key) for key in getattr(module, argument.value.id, ())]
    return []


def coverage_table() -> str:
    """The table in Markdown.

    Raises:
        KeyError: A property that the dialects read has no treatment here.
    """
    rows = ["| property | dialects | in PyBullet | remark |", "|---|---|---|---|"]
    for name, where in properties().items():
        treatment, remark = TREATMENTS[name]
        rows.append(f"| `{name}` | {', '.join(where)} | {treatment} | {remark} |")
    return "\n".join(rows)


def main() -> int:
    """Rewrite README.md, or compare with ``--check``; the exit code."""
    text = README.read_text(encoding="utf-8")
    wanted = readme_with_table(text, coverage_table(), BEGIN, END)
    if "--check" in sys.argv[1:]:
        return int(text != wanted)
    README.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

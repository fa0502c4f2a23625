"""Stages of a few lines for tests, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gltf_bullet as gb
from gltf_bullet.convert.usd.process import convert_stage
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.model import Joint, Motion
from gltf_bullet.runtime.world_export import robot_file
from gltf_bullet.transforms import FloatArray

HEAD = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = {metres}
    kilogramsPerUnit = {kilograms}
    upAxis = "{up}"
)
"""


def stage(content: str, *, metres: float = 1.0, kilograms: float = 1.0, up: str = "Z") -> str:
    """The text of a stage with prims below /World."""
    head = HEAD.format(metres=metres, kilograms=kilograms, up=up)
    return f'{head}def Xform "World"\n{{\n{content}\n}}\n'


def prim(kind: str, name: str, *lines: str, apis: str = "") -> str:
    """The text of a prim; ``apis``: names of its API schemas."""
    schemas = ", ".join(f'"{api}"' for api in apis.split())
    head = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    body = "\n".join(lines)
    return f'def {kind} "{name}" {head}\n{{\n{body}\n}}\n'


def at(x: float, y: float, z: float, *more: str) -> str:
    """The lines that place a prim; ``more``: further operations, ``"float3 scale = (1, 2, 3)"``."""
    lines, order = [f"double3 xformOp:translate = ({x}, {y}, {z})"], ["xformOp:translate"]
    for operation in more:
        kind, rest = operation.split(" ", 1)
        lines.append(f"{kind} xformOp:{rest}")
        order.append(f"xformOp:{rest.split(' ', 1)[0]}")
    names = ", ".join(f'"{name}"' for name in order)
    return "\n".join([*lines, f"uniform token[] xformOpOrder = [{names}]"])


def cube(name: str, *lines: str, size: float = 1.0, apis: str = "") -> str:
    """A cube that is a body and its collider."""
    return prim(
        "Cube", name, f"double size = {size}", *lines,
        apis=f"PhysicsRigidBodyAPI PhysicsCollisionAPI PhysicsMassAPI {apis}",
    )  # fmt: skip


def joint(kind: str, name: str, first: str, second: str, *lines: str, apis: str = "") -> str:
    """A joint between prims below /World; an empty name is the world."""
    ends = [f"rel physics:body{k} = </World/{end}>" for k, end in enumerate((first, second)) if end]
    return prim(f"Physics{kind}", name, *ends, *lines, apis=apis)


def convert(
    folder: Path, text: str, allowed: tuple[Path, ...] = (), name: str = "stage.usda"
) -> tuple[gb.Asset, Diagnostics]:
    """The asset that a stage becomes, and the findings."""
    path = folder / name
    path.write_text(text)
    diagnostics = Diagnostics()
    return robot_file(path, diagnostics, allowed=allowed)[1], diagnostics


def motion_of(asset: gb.Asset, name: str) -> Motion:
    return next(m for k, m in asset.physics.motions.items() if asset.tree.names[k] == name)


def joint_of(asset: gb.Asset, name: str) -> Joint:
    return next(j for k, j in asset.physics.joints.items() if asset.tree.names[k] == name)


def node_of(asset: gb.Asset, name: str) -> int:
    return asset.tree.names.index(name)


def owner_of(asset: gb.Asset, node: int) -> str:
    """Name of the topmost node below the world that a node belongs to."""
    tree = asset.tree
    chain = [node, *tree.ancestors(node)]
    return tree.names[chain[-2]]


def inertia_of(motion: Motion) -> FloatArray:
    """Inertia tensor about the centre of mass, in the axes of the node."""
    from gltf_bullet.transforms import matrices_from_quats

    turn = matrices_from_quats(np.array(motion.inertia_orientation_xyzw))
    return np.asarray(turn @ np.diag(motion.inertia_diagonal or ()) @ turn.T)


__all__ = [
    "at", "convert", "convert_stage", "cube", "inertia_of", "joint", "joint_of", "motion_of",
    "node_of", "owner_of", "prim", "stage",
]  # fmt: skip

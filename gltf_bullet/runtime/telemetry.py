"""Numbers of a running scene over time: heights, speeds, energies, joint positions."""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from msgspec import field as msgspec_field

from gltf_bullet.bullet.state import link_state
from gltf_bullet.diagnostics import Diagnostics, Issue, JsonPointer, note, with_names
from gltf_bullet.model import MotionKind
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray, matrices_from_quats


class Telemetry(Struct, eq=False):
    """Rows of numbers, one per :meth:`sample`."""

    scene: Scene
    times: list[float] = msgspec_field(default_factory=list)
    """Times of the samples [s]."""
    heights: dict[str, list[float]] = msgspec_field(default_factory=dict)
    """Heights of the centres of mass along the asset's +Y [m], by body."""
    speeds: dict[str, list[float]] = msgspec_field(default_factory=dict)
    """Speeds of the centres of mass [m/s], by body."""
    kinetic: list[float] = msgspec_field(default_factory=list)
    """Kinetic energy of all dynamic bodies, rotation included [J]."""
    potential: list[float] = msgspec_field(default_factory=list)
    """Potential energy in the engine's gravity, 0 at the world's origin [J]; NaN if the file has
    gravity of its own.
    """
    joints: dict[str, list[float]] = msgspec_field(default_factory=dict)
    """Positions of single axes [m] or [rad], by joint and axis; balls: the angle of rotation."""

    def sample(self) -> None:
        """Add a row with the present values."""
        scene = self.scene
        up = scene.core.placement.up
        gravity = np.array(scene.core.session.settings().gravity)
        kinetic = potential = 0.0
        self.times.append(scene.time)
        for node, body in scene.bodies.items():
            name = _unique_name(scene, node)
            position, rotation, linear, angular = (
                np.array(values)
                for values in link_state(scene.client_id, body.body_id, body.link_index)
            )
            self.heights.setdefault(name, []).append(float(position @ up))
            self.speeds.setdefault(name, []).append(float(np.linalg.norm(linear)))
            if body.kind is MotionKind.DYNAMIC:
                plan = scene.core.world.plan.bodies.bodies[node]
                spin = matrices_from_quats(rotation).T @ angular
                kinetic += 0.5 * plan.mass * float(linear @ linear)
                kinetic += 0.5 * float(np.array(plan.inertia_diagonal) @ spin**2)
                potential -= plan.mass * plan.gravity_factor * float(gravity @ position)
        self.kinetic.append(kinetic)
        self.potential.append(potential if scene.core.world.gravity is None else float("nan"))
        self._sample_joints()

    def _sample_joints(self) -> None:
        for node, joint in self.scene.joints.items():
            for dof in joint.degrees_of_freedom:
                axis = "ball" if dof.axis == 3 else "xyz"[dof.axis]
                name = f"{_unique_name(self.scene, node)} {dof.kind.value} {axis}"
                values: FloatArray = np.atleast_1d(np.array(dof.position))
                value = float(values[0]) if len(values) == 1 else float(np.linalg.norm(values))
                self.joints.setdefault(name, []).append(value)


def _unique_name(scene: Scene, node: int) -> str:
    """Return the node's name, with its index if other nodes have the same."""
    names = scene.asset.tree.names
    name = names[node]
    return f"node {node}" if not name else name if names.count(name) == 1 else f"{name} ({node})"


# --- Bodies that fall out: below everything that was there at the start, and still falling --------

FELL_OUT = note(
    "FELL_OUT",
    "the body is {depth:.3g} m below everything that was there at the start, and falls on",
)
_SPARE: Final = 1.0
"""Distance [m] below the lowest point of the start, in addition to the height of its contents."""


class FallWatch:
    """Finds bodies that are far below the lowest point of the scene's start."""

    def __init__(self, scene: Scene) -> None:
        """Measure the present heights of all bodies."""
        self._scene = scene
        heights = self._heights()
        self._low = float(heights.min(initial=np.inf))
        self._spare = _SPARE + (float(np.ptp(heights)) if len(heights) else 0.0)

    def _heights(self) -> FloatArray:
        moving, resting = self._scene.pictures.boxes()
        boxes = np.concatenate([moving, resting])
        boxes = boxes[np.isfinite(boxes).all(axis=(1, 2))]
        up = np.asarray(self._scene.core.placement.up, dtype=np.float64)
        heights: FloatArray = (boxes @ up).ravel()
        return heights

    def issues(self) -> tuple[Issue, ...]:
        """Return an issue for each body that falls out, with the depth [m]."""
        found = Diagnostics()
        up = np.asarray(self._scene.core.placement.up, dtype=np.float64)
        for node, body in self._scene.bodies.items():
            depth = self._low - float(self._scene.world_from_node(node)[:3, 3] @ up)
            if depth > self._spare and float(body.linear_velocity @ up) < 0.0:
                found.report(FELL_OUT, JsonPointer(f"/nodes/{node}"), depth=depth)
        return with_names(found, self._scene.asset.tree.names)

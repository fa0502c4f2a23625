"""Joints coupled to others (mimic rules of robots), by the engine's gear constraints."""

from __future__ import annotations

import contextlib

import pybullet

from gltf_bullet.bullet.joints.articulation import Articulation
from gltf_bullet.diagnostics import Diagnostics, warning
from gltf_bullet.model import Joint
from gltf_bullet.planning.joints.articulation_plan import ArticulationPlans
from gltf_bullet.planning.joints.axes import BALL

JOINT_MIMICS = warning(
    "JOINT_MIMICS",
    "the joint follows that of node {leader} by {how}; glTF has no such rule, other programs leave "
    "it free",
)

RETURN = 0.2
"""Share of a difference that the engine corrects in a step, as for its other constraints."""
DEFAULT_FORCE = 100.0
"""Largest force [N, N m] for robots that state no effort."""


def are_any_coupled(plans: ArticulationPlans) -> bool:
    """Return True if a joint is coupled to another one."""
    joints = (planned for plan in plans.articulations for planned in plan.joints)
    return any(planned.joint.coupling is not None for planned in joints)


class MimicGears:
    """The gear constraints of one scene's articulations."""

    def __init__(self, client_id: int, articulations: tuple[Articulation, ...]) -> None:
        self._client = client_id
        self.constraint_ids: list[int] = []
        diagnostics = Diagnostics()
        for articulation in articulations:
            for planned in articulation.plan.joints:
                if planned.joint.coupling is not None:
                    self._couple(articulation, planned.joint, diagnostics)
        self.issues = diagnostics.issues

    def _couple(self, articulation: Articulation, joint: Joint, diagnostics: Diagnostics) -> None:
        coupling = joint.coupling
        links = {
            dof.joint_node: (articulation.body_ids[dof.multibody], dof.link)
            for dof in articulation.plan.dofs
            if dof.dof.axis != BALL
        }
        if coupling is None or joint.node not in links or coupling.leader not in links:
            return
        own, leader = links[joint.node], links[coupling.leader]
        effort = max(
            (d.max_force for d in joint.description.drives if d.max_force < 1e9), default=0.0
        )
        constraint = pybullet.createConstraint(
            own[0], own[1], leader[0], leader[1], pybullet.JOINT_GEAR,
            [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], physicsClientId=self._client,
        )  # fmt: skip
        # The engine keeps own + gearRatio * leader at the target.
        pybullet.changeConstraint(
            constraint,
            gearRatio=-coupling.multiplier,
            relativePositionTarget=coupling.offset,
            erp=RETURN,
            maxForce=effort or DEFAULT_FORCE,
            physicsClientId=self._client,
        )
        self.constraint_ids.append(constraint)
        diagnostics.report(
            JOINT_MIMICS, joint.pointer, leader=coupling.leader,
            how=f"a gear of {effort or DEFAULT_FORCE:g} N or N m at most",
        )  # fmt: skip

    def remove(self) -> None:
        """Remove the constraints; call it before their bodies are removed."""
        for constraint in self.constraint_ids:
            with contextlib.suppress(pybullet.error):
                pybullet.removeConstraint(constraint, physicsClientId=self._client)
        self.constraint_ids.clear()

"""Engine constraints that close loops, second anchors and cuts between multibodies.

Constraint frames are relative to centres of mass. A gap at load would explode under a large force
(measured: 50 mm released 27 kJ); it never reaches a constraint, because an axis that starts
displaced stays a freedom of the welded chain and is brought back by the solve (0.1 J).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pybullet

from gltf_bullet.bullet.articulation import AnchorMotion, Component
from gltf_bullet.bullet.articulation_plan import (
    WORLD,
    Closure,
    ClosureKind,
    CrossClosure,
    LinkFrame,
)
from gltf_bullet.bullet.multibody import create_multibody
from gltf_bullet.bullet.multibody_spec import MultibodySpec
from gltf_bullet.transforms import Pose

__all__ = ["Closures"]

FORCE_PER_WEIGHT = 1000.0
"""Largest constraint force, in multiples of the weight that may hang on it."""


class Closures:
    """All closing constraints of a scene's articulations."""

    def __init__(
        self,
        client_id: int,
        components: Sequence[Component],
        anchors: Mapping[int, AnchorMotion],
        created: list[int],
        cross: Sequence[CrossClosure] = (),
    ) -> None:
        self._client_id = client_id
        self.ghosts: list[tuple[int, int]] = []
        """(anchor node, body id) of shapeless bodies that follow second moving anchors."""
        self._ghost_of: dict[int, int] = {}
        self.constraint_ids: list[int] = []
        for component in components:
            for closure in component.plan.closures:
                if closure.kind is not ClosureKind.ELEMENT:
                    self._create(component, component, closure, anchors, created)
        for between in cross:
            self._create(
                components[between.first_component],
                components[between.second_component],
                between.closure,
                anchors,
                created,
            )

    def _create(
        self,
        first: Component,
        second: Component,
        closure: Closure,
        anchors: Mapping[int, AnchorMotion],
        created: list[int],
    ) -> None:
        parent, parent_link, parent_frame = self._end(first, closure.first, anchors, created)
        child, child_link, child_frame = self._end(second, closure.second, anchors, created)
        if parent < 0:
            # The engine wants a body first; the world may only be the child.
            parent, parent_link, parent_frame, child, child_link, child_frame = (
                child,
                child_link,
                child_frame,
                parent,
                parent_link,
                parent_frame,
            )
        kind = (
            pybullet.JOINT_FIXED if closure.kind is ClosureKind.WELD else pybullet.JOINT_POINT2POINT
        )
        constraint = pybullet.createConstraint(
            parent,
            parent_link,
            child,
            child_link,
            kind,
            [0.0, 0.0, 0.0],
            parent_frame.translation,
            child_frame.translation,
            parent_frame.rotation_xyzw,
            child_frame.rotation_xyzw,
            physicsClientId=self._client_id,
        )
        pybullet.changeConstraint(
            constraint,
            maxForce=FORCE_PER_WEIGHT * 9.81 * max(closure.load, 1e-3),
            physicsClientId=self._client_id,
        )
        self.constraint_ids.append(constraint)

    def _end(
        self,
        component: Component,
        frame: LinkFrame,
        anchors: Mapping[int, AnchorMotion],
        created: list[int],
    ) -> tuple[int, int, Pose]:
        """Body, link and the frame relative to that link's centre of mass."""
        if frame.piece >= 0:
            spec = component.plan.pieces[frame.piece].spec
            inertial = (
                spec.base_from_inertial
                if frame.link < 0
                else spec.links[frame.link].link_from_inertial
            )
            body = component.body_ids[frame.piece]
            return body, frame.link, inertial.inverse() @ frame.link_from_frame
        if frame.link == WORLD:
            return -1, -1, frame.link_from_frame
        if frame.link not in self._ghost_of:
            anchor = anchors[frame.link]
            x, y, z = anchor.position.tolist()
            qx, qy, qz, qw = anchor.rotation_xyzw.tolist()
            body = create_multibody(
                self._client_id,
                MultibodySpec(world_from_base=Pose((qx, qy, qz, qw), (x, y, z))),
            )
            created.append(body)
            self._ghost_of[frame.link] = body
            self.ghosts.append((frame.link, body))
        return self._ghost_of[frame.link], -1, frame.link_from_frame

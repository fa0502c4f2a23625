"""Positions and velocities of many degrees of freedom: one call a multibody, no object per axis."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import pybullet

from gltf_bullet.bullet.joints.joint_controls import JointControls
from gltf_bullet.planning.joints.axes import BALL


class DofReader:
    """Reads some joints of one scene; of its present bodies."""

    def __init__(self, client_id: int, controls: JointControls, joint_nodes: Sequence[int]) -> None:
        """Look the joints up.

        Raises:
            KeyError: No simulated joint is on one of the nodes.
        """
        self._client_id = client_id
        self._controls = controls
        self._handles = [handle for node in joint_nodes for handle in controls.dofs(node)]
        self._has_balls = any(handle.axis == BALL for handle in self._handles)
        self._links = [
            (body, [handle.link_index for handle in group])
            for body, group in groupby(self._handles, attrgetter("body_id"))
        ]

    def read(self) -> tuple[list[float], list[float]]:
        """Positions [m, rad] and velocities, as of ``JointControls.dof_state``, one after another.

        Three numbers for a ball, one for any other degree of freedom.
        """
        positions: list[float] = []
        velocities: list[float] = []
        if self._has_balls:
            for handle in self._handles:
                state = self._controls.dof_state(handle)
                positions += state.position
                velocities += state.velocity
            return positions, velocities
        for body, links in self._links:
            for position, velocity, _, _ in pybullet.getJointStates(body, links, self._client_id):
                positions.append(position)
                velocities.append(velocity)
        return positions, velocities

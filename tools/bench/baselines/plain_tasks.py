"""Tasks as a newcomer's environments do them: bodies made by hand, no call more than is needed.

Each knows its few bodies and joints by number, starts from a random state, pushes, steps, reads,
and says what that is worth. Nothing is general, checked or saved up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pybullet
from gymnasium import spaces

from gltf_bullet.transforms import Vec3

__all__ = [
    "PICTURE", "PlainCartPole", "PlainGripper", "PlainHopper", "PlainReacher", "PlainSwingUp",
    "PlainTask", "PlainWalker", "give_base_speed", "give_joint_speed",
]  # fmt: skip

Seen: TypeAlias = Any
"""A vector, or a dictionary of arrays."""
PICTURE: Final = (64, 64)
"""Width and height of the gripper's picture."""

_NO_TURN = (0.0, 0.0, 0.0, 1.0)


class PlainTask(Protocol):
    """What the tasks have in common."""

    sizes: tuple[int, int]
    """Numbers of an observation, and of an action."""
    most_steps: int
    """Of an episode."""

    def reset(self, rng: np.random.Generator) -> Seen:
        """Start an episode; what is seen."""

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Act, within [-1, 1]; what is seen, the reward, and whether the episode has ended."""


class PlainCartPole:
    """A cart of 1 kg that is pushed with 10 N keeps a pole of 0.1 kg and 1 m upright."""

    sizes = (4, 1)
    most_steps = 200

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._body = _chain(
            client_id,
            -1,
            (0.0, 0.0, 0.62),
            [
                _Link(0, pybullet.JOINT_PRISMATIC, (1, 0, 0), (0, 0, 0), (0, 0, 0), 1.0,
                      _box(client_id, (0.25, 0.15, 0.1))),
                _Link(1, pybullet.JOINT_REVOLUTE, (0, -1, 0), (0, 0, 0.1), (0, 0, 0.5), 0.1,
                      _box(client_id, (0.03, 0.03, 0.5), (0, 0, 0.5))),
            ],
        )  # fmt: skip

    def reset(self, rng: np.random.Generator) -> Seen:
        """The cart in the middle; the pole upright, with a push."""
        pybullet.resetJointState(self._body, 0, 0.0, 0.0, self._client_id)
        pybullet.resetJointState(self._body, 1, 0.0, rng.uniform(-0.5, 0.5), self._client_id)
        return self._observe()

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Push for four engine steps."""
        client, body = self._client_id, self._body
        force = 10.0 * min(max(float(action[0]), -1.0), 1.0)
        for _ in range(4):
            pybullet.setJointMotorControl2(
                body, 0, pybullet.TORQUE_CONTROL, force=force, physicsClientId=client
            )
            pybullet.stepSimulation(client)
        observed = self._observe()
        return observed, 1.0, bool(abs(observed[1]) > 0.2 or abs(observed[0]) > 2.4)

    def _observe(self) -> Seen:
        """Way [m], angle [rad] and their velocities."""
        (x, v, _, _), (angle, rate, _, _) = pybullet.getJointStates(
            self._body, (0, 1), self._client_id
        )
        return np.array((x, angle, v, rate), dtype=np.float32)


class PlainSwingUp:
    """A hanging rod of a metre, its hinge turned with 2.5 N m; its mass is drawn anew."""

    sizes = (2, 1)
    most_steps = 240

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        self._body = _chain(
            client_id,
            _box(client_id, (0.1, 0.1, 0.6)),
            (0.0, 0.3, 0.6),
            [
                _Link(0, pybullet.JOINT_REVOLUTE, (0, 1, 0), (0, -0.3, 0.6), (0, 0, -0.5), 1.0,
                      pybullet.createCollisionShape(
                          pybullet.GEOM_CYLINDER, radius=0.04, height=1.0,
                          collisionFramePosition=(0, 0, -0.5), physicsClientId=client_id)),
            ],
        )  # fmt: skip

    def reset(self, rng: np.random.Generator) -> Seen:
        """Hanging, with a little swing."""
        client, body = self._client_id, self._body
        pybullet.changeDynamics(body, 0, mass=rng.uniform(0.8, 1.2), physicsClientId=client)
        damping = rng.uniform(0.0, 0.04)
        pybullet.changeDynamics(body, 0, jointDamping=damping, physicsClientId=client)
        pybullet.resetJointState(body, 0, 0.0, rng.uniform(-0.15, 0.15), client)
        return self._observe()[0]

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Turn for eight engine steps."""
        client, body = self._client_id, self._body
        force = 2.5 * min(max(float(action[0]), -1.0), 1.0)
        for _ in range(8):
            pybullet.setJointMotorControl2(
                body, 0, pybullet.TORQUE_CONTROL, force=force, physicsClientId=client
            )
            pybullet.stepSimulation(client)
        observed, angle = self._observe()
        return observed, -math.cos(angle), False

    def _observe(self) -> tuple[Seen, float]:
        """Angle [rad] and velocity, and the angle."""
        angle, rate, _, _ = pybullet.getJointState(self._body, 0, self._client_id)
        return np.array((angle, rate), dtype=np.float32), angle


class PlainReacher:
    """An arm of two links brings its tip to a goal that stands elsewhere each time."""

    sizes = (11, 2)
    most_steps = 90

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        turn, down = pybullet.JOINT_REVOLUTE, (0, 0, 1)
        self._body = _chain(
            client_id,
            _box(client_id, (0.04, 0.04, 0.15)),
            (0.0, 0.0, 0.15),
            [
                _Link(0, turn, down, (0, 0, 0.175), (0.25, 0, 0), 1.0,
                      _box(client_id, (0.25, 0.03, 0.025), (0.25, 0, 0))),
                _Link(1, turn, down, (0.5, 0, 0), (0.2, 0, 0), 0.5,
                      _box(client_id, (0.2, 0.025, 0.025), (0.2, 0, 0))),
                _Link(2, pybullet.JOINT_FIXED, down, (0.4, 0, 0), (0, 0, 0), 0.01,
                      _box(client_id, (0.015, 0.015, 0.015))),
            ],
        )  # fmt: skip
        self._goal: Vec3 = (0.4, 0.0, 0.325)

    def reset(self, rng: np.random.Generator) -> Seen:
        """Stretched out; the goal anywhere around."""
        for joint in (0, 1):
            pybullet.resetJointState(self._body, joint, 0.0, 0.0, self._client_id)
        x, y = rng.uniform((0.2, -0.6), (0.7, 0.6)).tolist()
        self._goal = (x, y, 0.325)
        return self._observe()[0]

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Turn with so much of 3 rad/s for eight engine steps."""
        client = self._client_id
        speeds = [3.0 * min(max(value, -1.0), 1.0) for value in action.tolist()]
        pybullet.setJointMotorControlArray(
            self._body, (0, 1), pybullet.VELOCITY_CONTROL, targetVelocities=speeds,
            forces=(4.0, 2.0), physicsClientId=client,
        )  # fmt: skip
        for _ in range(8):
            pybullet.stepSimulation(client)
        observed, distance = self._observe()
        is_there = distance < 0.06
        return observed, float(is_there) - 0.1 * distance, is_there

    def _observe(self) -> tuple[Seen, float]:
        """Angles, their velocities, tip, goal and whether it is reached; and the distance [m]."""
        client, goal = self._client_id, self._goal
        (a, va, _, _), (b, vb, _, _) = pybullet.getJointStates(self._body, (0, 1), client)
        tip = pybullet.getLinkState(
            self._body, 2, computeForwardKinematics=1, physicsClientId=client
        )[0]
        distance = math.dist(tip, goal)
        return np.array((a, b, va, vb, *tip, *goal, distance < 0.06), np.float32), distance


class PlainWalker:
    """A torso on four legs of two servos each; how far it comes."""

    sizes = (29, 8)
    most_steps = 120

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client_id)
        ground = pybullet.createMultiBody(0, plane, physicsClientId=client_id)
        pybullet.changeDynamics(ground, -1, lateralFriction=1.0, physicsClientId=client_id)
        torso = pybullet.createCollisionShape(
            pybullet.GEOM_SPHERE, radius=0.2, physicsClientId=client_id
        )
        thigh = pybullet.createCollisionShape(
            pybullet.GEOM_CAPSULE, radius=0.05, height=0.22,
            collisionFramePosition=(0.11, 0, 0), physicsClientId=client_id,
            collisionFrameOrientation=pybullet.getQuaternionFromEuler((0, math.pi / 2, 0)),
        )  # fmt: skip
        shin = pybullet.createCollisionShape(
            pybullet.GEOM_CAPSULE, radius=0.05, height=math.hypot(0.16, 0.35),
            collisionFramePosition=(0.08, 0, -0.175), physicsClientId=client_id,
            collisionFrameOrientation=pybullet.getQuaternionFromEuler(
                (0, math.atan2(0.16, -0.35), 0)
            ),
        )  # fmt: skip
        links: list[_Link] = []
        for quarter in (1, 3, 5, 7):
            yaw, hip = quarter * math.pi / 4, len(links) + 1
            turn = pybullet.getQuaternionFromEuler((0, 0, yaw))
            place = (0.2 * math.cos(yaw), 0.2 * math.sin(yaw), 0)
            links += [
                _Link(0, pybullet.JOINT_REVOLUTE, (0, 0, 1), place, (0.11, 0, 0), 0.2, thigh, turn),
                _Link(hip, pybullet.JOINT_REVOLUTE, (0, 1, 0), (0.22, 0, 0), (0.08, 0, -0.175), 0.3,
                      shin),
            ]  # fmt: skip
        self._body = _chain(client_id, torso, (0.0, 0.0, 0.41), links, mass=2.4)
        for link in (1, 3, 5, 7):
            pybullet.changeDynamics(
                self._body, link, lateralFriction=1.0, physicsClientId=client_id
            )
        self._joints = tuple(range(8))
        self._limits = (12.0,) * 8

    def reset(self, rng: np.random.Generator) -> Seen:
        """On its feet, with a shove."""
        client, body = self._client_id, self._body
        pybullet.resetBasePositionAndOrientation(body, (0, 0, 0.41), _NO_TURN, client)
        shove = (*rng.uniform(-0.2, 0.2, 2).tolist(), 0.0)
        pybullet.resetBaseVelocity(body, shove, (0, 0, 0), client)
        for joint in self._joints:
            pybullet.resetJointState(body, joint, 0.0, 0.0, client)
        return self._observe()[0]

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Let the servos aim at so much of 0.7 rad for eight engine steps."""
        client, body = self._client_id, self._body
        targets = (0.7 * np.clip(action, -1.0, 1.0)).tolist()
        pybullet.setJointMotorControlArray(
            body, self._joints, pybullet.POSITION_CONTROL, targetPositions=targets,
            forces=self._limits, physicsClientId=client,
        )  # fmt: skip
        for _ in range(8):
            pybullet.stepSimulation(client)
        observed, height, speed = self._observe()
        return observed, speed / 30.0, height < 0.26

    def _observe(self) -> tuple[Seen, float, float]:
        """Angles, their velocities, the torso's pose and velocities; its height and speed."""
        client, body = self._client_id, self._body
        states = pybullet.getJointStates(body, self._joints, client)
        position, rotation = pybullet.getBasePositionAndOrientation(body, client)
        velocity, spin = pybullet.getBaseVelocity(body, client)
        numbers = (
            *(state[0] for state in states), *(state[1] for state in states),
            *position, *rotation, *velocity, *spin,
        )  # fmt: skip
        return np.array(numbers, np.float32), position[2], velocity[0]


class PlainHopper:
    """A leg of three hinges below a torso that stays in a plane; weight and grip drawn anew."""

    sizes = (12, 3)
    most_steps = 200

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, physicsClientId=client_id)
        ground = pybullet.createMultiBody(0, plane, physicsClientId=client_id)
        pybullet.changeDynamics(ground, -1, lateralFriction=1.0, physicsClientId=client_id)
        slide, turn, y = pybullet.JOINT_PRISMATIC, pybullet.JOINT_REVOLUTE, (0, 1, 0)
        self._body = _chain(
            client_id,
            -1,
            (0.0, 0.0, 1.1),
            [
                _Link(0, slide, (1, 0, 0), (0, 0, 0), (0, 0, 0), 0.001, -1),
                _Link(1, slide, (0, 0, 1), (0, 0, 0), (0, 0, 0), 0.001, -1),
                _Link(2, turn, y, (0, 0, 0), (0, 0, 0), 4.0, _box(client_id, (0.05, 0.05, 0.2))),
                _Link(3, turn, y, (0, 0, -0.2), (0, 0, -0.2), 2.0,
                      _box(client_id, (0.04, 0.04, 0.18), (0, 0, -0.2))),
                _Link(4, turn, y, (0, 0, -0.4), (0, 0, -0.2), 1.5,
                      _box(client_id, (0.03, 0.03, 0.18), (0, 0, -0.2))),
                _Link(5, turn, y, (0, 0, -0.4), (0.06, 0, -0.03), 1.0,
                      _box(client_id, (0.16, 0.05, 0.03), (0.06, 0, -0.03))),
            ],
        )  # fmt: skip
        for joint, low, high in ((3, -1.0, 1.0), (4, -0.2, 2.2), (5, -0.8, 0.8)):
            pybullet.changeDynamics(
                self._body, joint, jointLowerLimit=low, jointUpperLimit=high,
                physicsClientId=client_id,
            )  # fmt: skip
        self._joints = tuple(range(6))

    def reset(self, rng: np.random.Generator) -> Seen:
        """Upright, just above the ground, as heavy and as rough as it happens to be."""
        client, body = self._client_id, self._body
        mass, grip = rng.uniform(3.0, 5.0), rng.uniform(0.6, 1.2)
        pybullet.changeDynamics(body, 2, mass=mass, physicsClientId=client)
        pybullet.changeDynamics(body, 5, lateralFriction=grip, physicsClientId=client)
        for joint in self._joints:
            pybullet.resetJointState(body, joint, 0.0, 0.0, client)
        return self._observe()[0]

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Turn the hinges with so much of 60, 60 and 30 N m for four engine steps."""
        client, body = self._client_id, self._body
        push = np.clip(action, -1.0, 1.0)
        forces = (push * (60.0, 60.0, 30.0)).tolist()
        for _ in range(4):
            pybullet.setJointMotorControlArray(
                body, (3, 4, 5), pybullet.TORQUE_CONTROL, forces=forces, physicsClientId=client
            )
            pybullet.stepSimulation(client)
        observed, height, lean, speed = self._observe()
        reward = speed + 1.0 - 0.001 * float(push @ push)
        return observed, reward, height < 0.7 or abs(lean) > 0.8

    def _observe(self) -> tuple[Seen, float, float, float]:
        """Ways and angles, and their velocities; height, lean and speed."""
        states = pybullet.getJointStates(self._body, self._joints, self._client_id)
        numbers = [*(state[0] for state in states), *(state[1] for state in states)]
        return np.array(numbers, np.float32), 1.1 + numbers[1], numbers[2], numbers[6]


class PlainGripper:
    """A hand with two fingers above a table lifts a cube; it sees a picture."""

    sizes = (19, 3)
    most_steps = 100
    space = spaces.Dict(
        {
            "joint_positions": spaces.Box(-np.inf, np.inf, (3,), np.float32),
            "joint_velocities": spaces.Box(-np.inf, np.inf, (3,), np.float32),
            "bodies": spaces.Box(-np.inf, np.inf, (1, 13), np.float32),
            "camera": spaces.Box(0, 255, (PICTURE[1], PICTURE[0], 3), np.uint8),
        }
    )

    def __init__(self, client_id: int) -> None:
        self._client_id = client_id
        table = _box(client_id, (0.3, 0.3, 0.02))
        pybullet.createMultiBody(
            0, table, _seen_box(client_id, (0.3, 0.3, 0.02), (0.8, 0.8, 0.82, 1)),
            (0, 0, -0.02), physicsClientId=client_id,
        )  # fmt: skip
        slide, x, z = pybullet.JOINT_PRISMATIC, (1, 0, 0), (0, 0, 1)
        finger = _box(client_id, (0.01, 0.02, 0.04), (0, 0, -0.06))
        self._body = _chain(
            client_id,
            -1,
            (0.0, 0.0, 0.25),
            [
                _Link(0, slide, z, (0, 0, 0), (0, 0, 0), 1.0,
                      _box(client_id, (0.09, 0.03, 0.02)),
                      visual=_seen_box(client_id, (0.09, 0.03, 0.02), (0.5, 0.5, 0.5, 1))),
                *(_Link(1, slide, x, (place, 0, 0), (0, 0, -0.06), 0.1, finger,
                        visual=_seen_box(client_id, (0.01, 0.02, 0.04), (0.15, 0.3, 0.7, 1),
                                         (0, 0, -0.06)))
                  for place in (-0.07, 0.07)),
            ],
        )  # fmt: skip
        for joint, low, high in ((0, -0.15, 0.0), (1, 0.0, 0.05), (2, -0.05, 0.0)):
            pybullet.changeDynamics(
                self._body, joint, jointLowerLimit=low, jointUpperLimit=high,
                physicsClientId=client_id,
            )  # fmt: skip
        self._cube = pybullet.createMultiBody(
            0.05, _box(client_id, (0.02, 0.02, 0.02)),
            _seen_box(client_id, (0.02, 0.02, 0.02), (0.8, 0.2, 0.1, 1)), (0, 0, 0.02),
            physicsClientId=client_id,
        )  # fmt: skip
        for body, link in ((self._cube, -1), (self._body, 1), (self._body, 2)):
            pybullet.changeDynamics(body, link, lateralFriction=1.0, physicsClientId=client_id)
        self._view = pybullet.computeViewMatrix((0.4, -0.5, 0.4), (0, 0, 0.1), (0, 0, 1))
        self._projection = pybullet.computeProjectionMatrixFOV(45, 1, 0.1, 2)

    def reset(self, rng: np.random.Generator) -> Seen:
        """The hand open and up; the cube somewhere between the fingers."""
        client = self._client_id
        for joint in (0, 1, 2):
            pybullet.resetJointState(self._body, joint, 0.0, 0.0, client)
        x, y = rng.uniform((-0.02, -0.01), (0.02, 0.01)).tolist()
        pybullet.resetBasePositionAndOrientation(self._cube, (x, y, 0.02), _NO_TURN, client)
        pybullet.resetBaseVelocity(self._cube, (0, 0, 0), (0, 0, 0), client)
        return self._observe()[0]

    def step(self, action: npt.NDArray[np.float32]) -> tuple[Seen, float, bool]:
        """Let the servos aim at so much of their ways for eight engine steps."""
        client, body = self._client_id, self._body
        hand, left, right = np.clip(action, -1.0, 1.0).tolist()
        targets = (0.075 * hand - 0.075, 0.025 * left + 0.025, 0.025 * right - 0.025)
        pybullet.setJointMotorControlArray(
            body, (0, 1, 2), pybullet.POSITION_CONTROL, targetPositions=targets,
            forces=(40.0, 10.0, 10.0), physicsClientId=client,
        )  # fmt: skip
        for _ in range(8):
            pybullet.stepSimulation(client)
        observed, height = self._observe()
        return observed, height, height > 0.12

    def _observe(self) -> tuple[Seen, float]:
        """Ways, their velocities, pose and velocities of the cube, and a picture; its height."""
        client, (width, height) = self._client_id, PICTURE
        states = pybullet.getJointStates(self._body, (0, 1, 2), client)
        position, rotation = pybullet.getBasePositionAndOrientation(self._cube, client)
        velocity, spin = pybullet.getBaseVelocity(self._cube, client)
        picture = pybullet.getCameraImage(
            width, height, self._view, self._projection, shadow=0, physicsClientId=client,
            renderer=pybullet.ER_TINY_RENDERER, flags=pybullet.ER_NO_SEGMENTATION_MASK,
        )[2]  # fmt: skip
        seen = {
            "joint_positions": np.array([state[0] for state in states], np.float32),
            "joint_velocities": np.array([state[1] for state in states], np.float32),
            "bodies": np.array([[*position, *rotation, *velocity, *spin]], np.float32),
            "camera": np.array(picture, np.uint8).reshape(height, width, 4)[:, :, :3],
        }
        return seen, position[2]


def give_joint_speed(client_id: int, body: int, joint: int, speed: float) -> None:
    """Put a joint to 0, with a speed [m/s or rad/s]."""
    pybullet.resetJointState(body, joint, 0.0, speed, client_id)


def give_base_speed(client_id: int, body: int, velocity: Vec3) -> None:
    """Let a base go with a velocity [m/s]."""
    pybullet.resetBaseVelocity(body, velocity, (0.0, 0.0, 0.0), client_id)


class _Link:
    """A link of a chain, as ``createMultiBody`` takes it."""

    def __init__(
        self,
        parent: int,
        joint: int,
        axis: Sequence[float],
        place: Sequence[float],
        com: Sequence[float],
        mass: float,
        shape: int,
        turn: Sequence[float] = _NO_TURN,
        visual: int = -1,
    ) -> None:
        self.parent, self.joint, self.axis = parent, joint, axis
        self.place, self.com, self.mass, self.shape, self.turn = place, com, mass, shape, turn
        self.visual = visual


def _box(client_id: int, half: Sequence[float], place: Sequence[float] = (0, 0, 0)) -> int:
    shape: int = pybullet.createCollisionShape(
        pybullet.GEOM_BOX,
        halfExtents=half,
        collisionFramePosition=place,
        physicsClientId=client_id,
    )
    return shape


def _seen_box(
    client_id: int,
    half: Sequence[float],
    color: Sequence[float],
    place: Sequence[float] = (0, 0, 0),
) -> int:
    shape: int = pybullet.createVisualShape(
        pybullet.GEOM_BOX, halfExtents=half, rgbaColor=color, visualFramePosition=place,
        physicsClientId=client_id,
    )  # fmt: skip
    return shape


def _chain(
    client_id: int, shape: int, place: Vec3, links: Sequence[_Link], *, mass: float = 0.0
) -> int:
    """A multibody whose joints are free: every new one has a motor that brakes."""
    keywords: dict[str, Any] = {
        "linkMasses": [link.mass for link in links],
        "linkCollisionShapeIndices": [link.shape for link in links],
        "linkVisualShapeIndices": [link.visual for link in links],
        "linkPositions": [link.place for link in links],
        "linkOrientations": [link.turn for link in links],
        "linkInertialFramePositions": [link.com for link in links],
        "linkInertialFrameOrientations": [_NO_TURN for _ in links],
        "linkParentIndices": [link.parent for link in links],
        "linkJointTypes": [link.joint for link in links],
        "linkJointAxis": [link.axis for link in links],
    }
    body: int = pybullet.createMultiBody(
        mass, shape, basePosition=place, **keywords, physicsClientId=client_id
    )
    for number, link in enumerate(links):
        if link.joint != pybullet.JOINT_FIXED:
            pybullet.setJointMotorControl2(
                body, number, pybullet.VELOCITY_CONTROL, force=0.0, physicsClientId=client_id
            )
    for number in range(-1, len(links)):
        pybullet.changeDynamics(
            body, number, linearDamping=0.0, angularDamping=0.0, physicsClientId=client_id
        )
        pybullet.changeDynamics(body, number, jointDamping=0.0, physicsClientId=client_id)
    return body

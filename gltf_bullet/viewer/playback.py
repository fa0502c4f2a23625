"""A scene that is played in real time: steps, drives, animations, dragging. No window."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from gltf_bullet.bullet.session import require_client
from gltf_bullet.diagnostics import Issue
from gltf_bullet.errors import GltfBulletError
from gltf_bullet.model import DofKind, JointDrive, JointLimit, MotionKind
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.transforms import FloatArray

# --- Dragging a body with the mouse: a damped spring between the grabbed point and the pointer ----
#
# PyBullet has mouse picking of its own, but its point-to-point constraint has no effect on a body
# on a fixed link behind a massless one (measured: no motion at all), and our jointed bodies are
# such links.

PULL_RATE = 15.0
"""[rad/s] Frequency of the spring, for a free body with its whole mass at the grip."""


class _Grip(Struct, frozen=True, eq=False):
    node: int
    body_from_grip: FloatArray
    """Grabbed point in the frame of the body's node, scale included, shape [3]."""
    depth: float
    """[m] Distance from the eye along the direction of view; the pointer moves the grip across
    it."""


class Dragging:
    """The spring between the mouse and a grabbed body, if there is one."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._grip: _Grip | None = None
        self._target = np.zeros(3)

    @property
    def is_active(self) -> bool:
        """True if a body is grabbed."""
        return self._grip is not None

    def take(self, start: FloatArray, end: FloatArray, forward: FloatArray) -> bool:
        """Grab the body that a ray hits first; returns True if forces can move it.

        Args:
            start: Position of the eye [m], shape [3].
            end: A distant point behind the pointer [m], shape [3].
            forward: Direction of view, unit length, shape [3].
        """
        hit = self._scene.ray_cast(start.tolist(), end.tolist())
        if hit is None:
            return False
        point = start + hit.fraction * (end - start)
        return self.hold(hit.node, point, float((point - start) @ forward))

    def hold(self, node: int, point: FloatArray, depth: float = 0.0) -> bool:
        """Grab a body at a point; returns True if forces can move it.

        Args:
            node: A node of the body.
            point: Grabbed point in the world [m], shape [3].
            depth: Distance from the eye, for :meth:`move` [m].
        """
        body = self._scene.body_of(node)
        if body is None or body.kind is not MotionKind.DYNAMIC:
            return False
        matrix = self._scene.world_from_node(body.node)
        in_body = np.asarray(
            np.linalg.solve(matrix[:3, :3], point - matrix[:3, 3]), dtype=np.float64
        )
        self._grip = _Grip(body.node, in_body, depth)
        self._target = point
        return True

    def aim(self, target: FloatArray) -> None:
        """Set the world point that the body is pulled towards [m], shape [3]."""
        self._target = target

    def move(self, start: FloatArray, end: FloatArray, forward: FloatArray) -> None:
        """Set the target to the pointer; arguments as for :meth:`take`."""
        if self._grip is not None:
            ray = end - start
            self._target = start + ray * (self._grip.depth / float(ray @ forward))

    def release(self) -> None:
        """Let go."""
        self._grip = None

    def line(self) -> FloatArray:
        """Line from the grip to the pointer [m], shape [k, 2, 3]; k is 0 if no body is grabbed."""
        if self._grip is None:
            return np.zeros((0, 2, 3))
        return np.stack([self._point(self._grip), self._target])[None]

    def pull(self, time_step: float) -> None:
        """Apply the spring's impulse for the coming step [s]."""
        if self._grip is None:
            return
        body = self._scene.bodies[self._grip.node]
        if body.mass <= 0.0:  # an animation has taken it over
            return
        point = self._point(self._grip)
        arm = point - body.center_of_mass
        velocity = body.linear_velocity + np.cross(body.angular_velocity, arm)
        rate, damping = PULL_RATE**2, 2.0 * PULL_RATE
        change = time_step * (rate * (self._target - point) - damping * velocity)
        # The implicit spring at the end of the step is stable for any step length.
        change /= 1.0 + time_step * (damping + time_step * rate)
        body.apply_point_impulse((body.mass * change).tolist(), point.tolist())

    def _point(self, grip: _Grip) -> FloatArray:
        matrix = self._scene.world_from_node(grip.node)
        point: FloatArray = matrix[:3, :3] @ grip.body_from_grip + matrix[:3, 3]
        return point


# --- The clock, drives and animations of a scene --------------------------------------------------

LONGEST_CATCH_UP = 0.1
"""[s] of wall time: a longer delay of a slow machine is not made up for."""
WIDEST_LINEAR = 1.0
"""[m] A slider without limits reaches this far in both directions; speeds [m/s] likewise."""
WIDEST_SPEED = 10.0
"""[rad/s] Smallest range of sliders for angular speeds."""

NAME_CHARACTERS = 18
"""Longest name of a joint that fits beside its value in the panel."""


class DriveSlider(Struct, frozen=True, kw_only=True):
    """The slider of one drive in the panel."""

    label: str
    low: float
    high: float
    start: float
    is_speed: bool
    """True if it sets the velocity target: a drive without stiffness holds no position."""


def drive_slider(name: str, drive: JointDrive, limits: tuple[JointLimit, ...]) -> DriveSlider:
    """The slider of a drive: its joint's limits, or a usual range without any."""
    turns = drive.kind is DofKind.ANGULAR
    name = name if len(name) <= NAME_CHARACTERS else f"{name[: NAME_CHARACTERS - 2]}.."
    what = f"{name} {'turn' if turns else 'move'} {'xyz'[drive.axis]}"
    if drive.stiffness <= 0.0:
        widest = max(2.0 * abs(drive.velocity_target), WIDEST_SPEED if turns else WIDEST_LINEAR)
        unit = "rad/s" if turns else "m/s"
        return DriveSlider(
            label=f"{what} [{unit}]",
            low=-widest,
            high=widest,
            start=drive.velocity_target,
            is_speed=True,
        )
    low, high = (-math.pi, math.pi) if turns else (-WIDEST_LINEAR, WIDEST_LINEAR)
    target = drive.position_target
    low, high = min(low, target - WIDEST_LINEAR), max(high, target + WIDEST_LINEAR)
    for limit in limits:
        if limit.kind is drive.kind and limit.axes == (drive.axis,):
            low = limit.minimum if math.isfinite(limit.minimum) else low
            high = limit.maximum if math.isfinite(limit.maximum) else high
    return DriveSlider(
        label=f"{what} [{'rad' if turns else 'm'}]",
        low=min(low, target),
        high=max(high, target),
        start=target,
        is_speed=False,
    )


class Playback:
    """One scene with its clock, drives and animations, as viewers control it."""

    def __init__(
        self,
        scene: Scene | None,
        client_id: int,
        *,
        play: bool = True,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            scene: The scene to play; ``None`` if there is none yet.
            client_id: The PyBullet world; everything in it advances with the scene.
            play: True to start the time at once.
            speed: Simulated seconds per second of the clock.
            clock: Returns seconds since any moment.
        """
        self.client_id = client_id
        self.scene: Scene | None = None
        """``None`` if the file could not be loaded."""
        self.problem: tuple[str, ...] = ()
        """Reason why the current file could not be loaded or run; empty if it could."""
        self._has_stopped = False
        self.loads = 0
        """Number of scenes loaded so far; it identifies the scene."""
        self.playing = play
        self.speed = speed
        self.is_behind = False
        """True if this machine is too slow for the chosen speed."""
        self._clock = clock
        self.dragging: Dragging | None = None
        """The mouse's grip on the scene; ``None`` without a scene."""
        self._owed = 0.0
        self._targets: dict[int, float] = {}
        if scene is not None:
            self._show(scene)

    def _show(self, scene: Scene) -> None:
        """Play this scene from now on."""
        self._has_stopped, self.problem = False, ()
        self.scene = scene
        self.dragging = Dragging(scene)
        self.loads += 1
        self._owed = 0.0
        self._targets.clear()

    @property
    def name(self) -> str:
        """Name of the file."""
        return "" if self.scene is None else self.scene.asset.path.replace("\\", "/").split("/")[-1]

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Findings about the scene that is shown."""
        return self.scene.issues if self.scene is not None else ()

    def reload(self) -> bool:
        """Does nothing and returns False: the scene of a program is not reloaded."""
        return False

    # --- time ---------------------------------------------------------------------------------

    def advance(self, elapsed: float) -> int:
        """Advance the world by ``elapsed`` seconds of the clock; returns the number of steps.

        It takes at most :data:`LONGEST_CATCH_UP` seconds of the clock: the rest is dropped, and
        :attr:`is_behind` becomes True.
        """
        if self.scene is None or not self.playing:
            return 0
        step = self.scene.core.session.settings().time_step
        self._owed += elapsed * self.speed
        due, taken = int(self._owed / step), 0
        deadline = self._clock() + LONGEST_CATCH_UP
        while taken < due and self._clock() < deadline:
            if not self._step(self.scene, step):
                return taken
            taken += 1
        self.is_behind = taken < due
        self._owed = 0.0 if self.is_behind else self._owed - taken * step
        return taken

    def step_once(self) -> None:
        """Pause, and make one step."""
        self.playing = False
        if self.scene is not None:
            self._step(self.scene, self.scene.core.session.settings().time_step)

    def _step(self, scene: Scene, time_step: float) -> bool:
        """Make one step; ``False`` and a pause if the file makes it fail (an animated property)."""
        try:
            if self.dragging is not None:
                self.dragging.pull(time_step)
            scene.step()
        except (GltfBulletError, ValueError, TypeError, KeyError) as error:
            require_client(self.client_id)  # a closed window is no fault of the file
            self.playing = False
            self._has_stopped = True
            self.problem = (f"stopped after {scene.time:.3f} s: {error}",)
            return False
        return True

    def reset(self) -> None:
        """Return to the start; drives keep the targets that the user has set."""
        self._owed = 0.0
        if self.scene is not None:
            if self.dragging is not None:
                self.dragging.release()
            self.scene.reset()
            if self._has_stopped:
                self._has_stopped, self.problem = False, ()
            self._apply_targets()

    # --- drives -------------------------------------------------------------------------------

    def drive_sliders(self) -> tuple[DriveSlider, ...]:
        """One slider per drive of the scene, in the order of ``joint_controls.drives``."""
        if self.scene is None:
            return ()
        sliders = []
        for handle in self.scene.joint_controls.drives:
            joint = self.scene.joints[handle.joint_node]
            name = joint.name or f"node {handle.joint_node}"
            sliders.append(drive_slider(name, joint.drives[handle.drive], joint.limits))
        return tuple(sliders)

    def set_drive(self, index: int, value: float) -> None:
        """Set a drive's target, a position or a speed like its slider; resets do not change it."""
        self._targets[index] = value
        self._apply_targets()

    def _apply_targets(self) -> None:
        if self.scene is None or not self._targets:
            return
        positions, velocities = self.scene.joint_controls.drive_targets()
        sliders = self.drive_sliders()
        for index, value in self._targets.items():
            (velocities if sliders[index].is_speed else positions)[index] = value
        self.scene.set_drive_targets(positions, velocities)

    # --- animations ---------------------------------------------------------------------------

    def choose_animation(self, index: int) -> None:
        """Play this animation alone; pause it if it plays already, or resume it if it is paused."""
        if self.scene is None:
            return
        for player in self.scene.animations:
            if player.index != index:
                player.stop()
        chosen = self.scene.animations[index]
        if chosen.is_playing:
            chosen.pause()
        else:
            chosen.play()

    # --- texts --------------------------------------------------------------------------------

    def status(self) -> str:
        """One line: file, time, speed, and the problem, if there is one."""
        if self.scene is None:
            return f"{self.name}: cannot be loaded"
        state = "playing" if self.playing else "paused"
        behind = ", this machine is too slow" if self.is_behind and self.playing else ""
        animations = [
            player.name or str(player.index) for player in self.scene.animations if player.is_active
        ]
        animated = f"  animation: {', '.join(animations)}" if animations else ""
        return (
            f"{self.name}  {state}  t = {self.scene.time:.2f} s  x{self.speed:g}{behind}{animated}"
        )

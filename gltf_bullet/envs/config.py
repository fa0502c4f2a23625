"""Configuration of environments: actions, observations, rewards and ends, as picklable values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from gltf_bullet.envs.formulas import NodeKey
from gltf_bullet.envs.sight import SentEvent, StepContext
from gltf_bullet.envs.value_checks import require_numbers, require_term
from gltf_bullet.number_ranges import finite_vector
from gltf_bullet.options import LoadOptions, require_options
from gltf_bullet.runtime.placement import UpAxis
from gltf_bullet.transforms import Vec3

if TYPE_CHECKING:
    from gltf_bullet.runtime.scene import Scene
    from gltf_bullet.runtime.scene_state import SceneState

__all__ = [
    "Action",
    "CameraObservation",
    "DriveAction",
    "EnvConfig",
    "EventAction",
    "NodeKey",
    "Range",
    "ResetOptions",
    "SentEvent",
    "StepContext",
    "Term",
    "VariableAction",
    "draw",
]

Range: TypeAlias = "tuple[float | Sequence[float], float | Sequence[float]]"
"""Lowest and highest value; lists for vectors, whose components are drawn independently."""


_MODES: Final = ("position", "velocity", "force")

Term: TypeAlias = "Callable[[Scene, StepContext], float | bool]"
"""A part of the reward, or a reason to end the episode. Pickles if it is a module's function or
one of :mod:`gltf_bullet.envs.terms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveAction:
    """One number of the action: the target or force of a joint's drive."""

    joint: NodeKey
    """The joint node."""
    drive: int = 0
    """Index in the ``drives`` of its joint description."""
    mode: Literal["position", "velocity", "force"] | None = None
    """Kind of value to set. ``None``: a position if the drive has stiffness, else a velocity; a
    force if the range of these is unknown but ``maxForce`` is stated. ``force``: the axis gets this
    force alone, without the drive's spring and damper."""
    low: float | None = None
    """Value that -1 stands for [m, rad], per second, or [N, N m]; ``None``: the axis' lower limit,
    or minus the authored speed or ``maxForce``."""
    high: float | None = None
    """Value that 1 stands for, likewise."""

    def __post_init__(self) -> None:
        require_numbers(self)
        if self.mode not in (None, *_MODES):
            hint = "; force is the mode for torques, too" if str(self.mode) == "torque" else ""
            raise ValueError(f"mode is {self.mode!r}; must be {', '.join(_MODES)} or None{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableAction:
    """One number of the action: the value of a variable of the file's behavior graph."""

    variable: int | str
    """Index or name of the variable; a float, an int (rounded) or a bool (true above 0)."""
    low: float = -1.0
    """Value that -1 stands for."""
    high: float = 1.0
    """Value that 1 stands for."""

    def __post_init__(self) -> None:
        require_numbers(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventAction:
    """One number of the action: above 0 it sends an event to the file's behavior graph."""

    event: str
    """Id of the event; its values are the initial ones of the graph."""


_ACTIONS: Final = (DriveAction, VariableAction, EventAction)
Action: TypeAlias = "DriveAction | VariableAction | EventAction"
"""One number of the action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraObservation:
    """A picture as an observation."""

    camera: NodeKey | None = None
    """A camera of the file; ``None``: one that sees the asset whole."""
    follows: bool = True
    """True if a camera that is not of the file frames the asset anew in each picture; False: it
    stays where it was at load, which is what most policies want, and costs a third."""

    width: int = 84
    """Width [pixels]."""
    height: int = 84
    """Height [pixels]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvConfig:
    """All settings of an environment except its file; picklable if its functions are."""

    actions: tuple[DriveAction | VariableAction | EventAction, ...] | None = None
    """Actions, in the order of the action's numbers; ``None``: every drive, whose range the file
    must state."""
    joints: tuple[NodeKey, ...] | None = None
    """Joints to observe; ``None``: all. A single name is accepted here and below as well."""
    bodies: tuple[NodeKey, ...] | None = None
    """Bodies to observe; ``None``: the dynamic ones that are no links of a multibody."""
    triggers: tuple[NodeKey, ...] | None = None
    """Triggers to observe; ``None``: all."""
    nodes: tuple[NodeKey, ...] = ()
    """Nodes whose position is observed."""
    contacts: tuple[NodeKey, ...] = ()
    """Bodies or static colliders whose contacts are observed."""
    observed: tuple[Term, ...] = ()
    """Terms whose values are observed, such as ``terms.ProjectedGravity(node="Torso")``; a single
    term is accepted as well. Functions of your own give one number."""
    camera: CameraObservation | None = None
    """Camera to observe; needs ``flat=False``."""
    flat: bool = True
    """One vector of all observations if True, else a dictionary."""

    rewards: tuple[Term, ...] = ()
    """Terms whose sum is the reward; a single term is accepted as well."""
    terminations: tuple[Term, ...] = ()
    """Terms that end the episode; a single term is accepted as well."""
    success: Term | None = None
    """Term that is not zero where the task is done: ``info["is_success"]`` in every step. It ends
    nothing."""
    max_episode_steps: int | None = None
    """Number of steps after which the episode is truncated."""
    on_reset: Callable[[Scene, np.random.Generator], object] | None = None
    """Called at every reset after the randomisation, to start from a state of your choice."""
    randomization: Mapping[str, Range] = field(default_factory=dict)
    """Object-model pointers, and the range from which each reset draws their values."""

    frame_skip: int = 4
    """Engine steps per step of the environment."""
    time_step: float = 1.0 / 240.0
    """Duration of one engine step [s]."""
    gravity: Vec3 = (0.0, 0.0, -9.81)
    """Gravity [m/s^2], world axes."""
    up_axis: UpAxis = "z"
    """Up axis of the world, as for ``load_gltf``."""
    options: LoadOptions = field(default_factory=LoadOptions)
    """Options of loading the file."""
    picture_size: tuple[int, int] = (480, 360)
    """Width and height of ``render()`` [pixels]."""

    def __post_init__(self) -> None:
        require_numbers(self)
        for name in ("rewards", "terminations", "observed"):
            for number, term in enumerate(self._several(name, callable)):
                require_term(term, f"{name}[{number}]")
        if self.success is not None:
            require_term(self.success, "success")
        for action in self._several("actions", lambda one: isinstance(one, _ACTIONS)):
            if not isinstance(action, _ACTIONS):
                kinds = ", ".join(kind.__name__ for kind in _ACTIONS)
                raise TypeError(f"an action is {action!r}; must be one of {kinds}")
        for name in ("joints", "bodies", "triggers", "nodes", "contacts"):
            self._several(name, lambda one: isinstance(one, (str, int)))
        if self.on_reset is not None and not callable(self.on_reset):
            raise TypeError("on_reset must be a function of a scene and a random generator")
        finite_vector("gravity", self.gravity)
        require_options(self.options)
        if self.up_axis not in ("y", "z"):
            raise ValueError(f"up_axis is {self.up_axis!r}; must be y or z")
        if not self.time_step > 0.0:
            raise ValueError(f"time_step is {self.time_step}; must be > 0")
        if self.camera is not None and self.flat:
            raise ValueError("a camera does not fit into a flat observation; set flat=False")
        _require_ranges(self.randomization)

    def _several(self, name: str, is_one: Callable[[Any], bool]) -> tuple[Any, ...]:
        """Return the values of a field, which may be given as a single one."""
        given = getattr(self, name)
        if given is None:
            return ()
        try:
            several = (given,) if is_one(given) else tuple(given)
        except TypeError:
            raise TypeError(f"{name} is {given!r}; must be a tuple") from None
        object.__setattr__(self, name, several)
        return several


def config_of(config: object) -> EnvConfig:
    """Return the config of an environment; the default one for ``None``.

    Raises:
        TypeError: It is something else.
    """
    if config is None:
        return EnvConfig()
    if not isinstance(config, EnvConfig):
        raise TypeError(f"config is a {type(config).__name__}; must be EnvConfig(...) or None")
    return config


def _require_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is {value!r}; must be a dictionary")


def _require_ranges(randomization: Mapping[str, Range]) -> None:
    _require_mapping("randomization", randomization)
    for pointer, ends_given in randomization.items():
        try:
            low, high = ends_given
            ends = np.array([low, high], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"{pointer}: {ends_given!r} is no range; must be (low, high), each a number, or a "
                "list for a vector"
            ) from None
        if not np.isfinite(ends).all() or (ends[0] > ends[1]).any():
            raise ValueError(f"{pointer}: the range {low} to {high} is empty or not finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOptions:
    """Options of ``reset(options={...})``, by these names; they hold for that episode."""

    state: SceneState | None = None
    """State to start from, of ``env.scene.save_state()``; ``None``: as the file was loaded."""
    randomization: Mapping[str, Range] = field(default_factory=dict)
    """Pointers and ranges, besides those of the config or in their place."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Pointers and values that are set, such as the place of a goal; they win over drawn ones."""

    @staticmethod
    def of(options: Mapping[str, Any] | None) -> ResetOptions:
        """Read the options of a reset.

        Raises:
            TypeError: They or their values are no dictionary.
            ValueError: There is no such option, or a range is empty or not finite.
        """
        if options is None:
            return _NO_OPTIONS
        _require_mapping("options", options)
        known = [item.name for item in fields(ResetOptions)]
        for name in options:
            if name not in known:
                near = get_close_matches(str(name), known, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"reset has no option {name!r}, only {', '.join(known)}{hint}")
        found = ResetOptions(**options)
        _require_mapping("values", found.values)
        _require_ranges(found.randomization)
        return found


_NO_OPTIONS: Final = ResetOptions()


def draw(randomization: Mapping[str, Range], rng: np.random.Generator) -> dict[str, Any]:
    """Draw values for pointers and ranges, in their order."""
    drawn: dict[str, Any] = {}
    for pointer, (low, high) in randomization.items():
        value = rng.uniform(low, high)
        drawn[pointer] = float(value) if np.ndim(value) == 0 else value
    return drawn

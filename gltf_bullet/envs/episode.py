"""One copy of an asset in a world of its own, and its episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from weakref import WeakMethod, finalize
from typing import Any

import numpy as np

from gltf_bullet.bullet.owned_world import close_abandoned_world, close_world, open_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.envs.actions import DriveActions
from gltf_bullet.envs.config import EnvConfig, SentEvent, StepContext, Term, draw
from gltf_bullet.envs.name_checks import require_names
from gltf_bullet.envs.observations import Observations
from gltf_bullet.envs.sight import Sight, SightTerm
from gltf_bullet.gltf.document import AssetSource
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.scene_state import SceneState
from gltf_bullet.runtime.trigger_reports import TriggerEvent
from gltf_bullet.transforms import FloatArray


class Outline:
    """Data for an environment's spaces; independent of a running world, picklable."""

    def __init__(self, scene: Scene, config: EnvConfig, *, needs_actions: bool = False) -> None:
        """Resolve every name of the config against an asset.

        Raises:
            KeyError: The asset lacks something that the config names.
            ValueError: A drive does not exist, or its range is unknown.
        """
        self.actions = DriveActions(scene, config.actions, needed=needs_actions)
        self.observations = Observations(scene, config)


def _instantiate(asset: Asset, config: EnvConfig, client_id: int) -> Scene:
    """Create the asset in a world, translated by the config."""
    return asset.instantiate(client_id, up_axis=config.up_axis, options=config.options)


def outline_of(source: AssetSource, config: EnvConfig, *, needs_actions: bool = False) -> Outline:
    """Load a file into a temporary world, for the spaces of its environments.

    ``needs_actions``: refuse a file without drives, if the config has no other actions.
    """
    with headless_world() as client_id:
        scene = _instantiate(read_asset(source), config, client_id)
        require_names(scene, config)
        return Outline(scene, config, needs_actions=needs_actions)


def open_episode(
    asset: Asset, config: EnvConfig, outline: Outline, *, window: bool = False
) -> Episode:
    """Open a world for one copy of an asset; ``window``: show it.

    Raises:
        EngineError: No room for another world, or no display for a window.
    """
    client_id = open_world(gravity=config.gravity, time_step=config.time_step, window=window)
    try:
        scene = _instantiate(asset, config, client_id)
        return Episode(scene, config, outline, scene.save_state())
    except BaseException:
        close_world(client_id)
        raise


class Episode:
    """Resets, actions, rewards and ends of one scene, and its world, which it owns.

    The world is closed by :meth:`close`, or when nobody holds the episode any more: an empty one
    takes 28 MB (measured).
    """

    def __init__(
        self,
        scene: Scene,
        config: EnvConfig,
        outline: Outline,
        start: SceneState,
    ) -> None:
        self.scene = scene
        self.sight = sight = outline.observations.sight_of(scene)
        """The scene as observations and terms read it."""
        self._config = config
        self._outline = outline
        self._start = start
        self._closing = finalize(self, close_abandoned_world, scene.core.session)
        self._closing.atexit = False
        scene.core.disable_reset()
        self._actions = outline.actions.bind(scene)
        self._action: FloatArray = np.zeros(len(outline.actions))
        self.events: list[TriggerEvent] = []
        """Events of triggers within the step."""
        self._sent: list[SentEvent] = []
        self._variables_before: tuple[Any, ...] = ()
        self._graph = scene.behavior
        if self._graph is not None:
            for event in self._graph.events:
                self._graph.on(event, partial(_note, WeakMethod(self._note), event))
        self._step = 0
        self._rewards, self._ends = (
            [_bound(term, sight) for term in terms]
            for terms in (config.rewards, config.terminations)
        )
        self._duration = config.frame_skip * config.time_step

    def _note(self, event: str, values: Mapping[str, Any]) -> None:
        self._sent.append(SentEvent(event=event, values=values))

    def begin(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return to the start and randomise from there; returns the ``info`` of a reset."""
        scene = self.scene
        drawn = draw(self._config, rng)
        scene.restart(self._start, drawn)
        if self._graph is not None:
            self._graph.reseed(int(rng.integers(2**62)))
            self._sent = []
        if self._config.on_reset is not None:
            self._config.on_reset(scene, rng)
        self._step = 0
        self.events = []
        self.sight.invalidate()
        return {"randomization": drawn}

    def numbers(self) -> list[float]:
        """Return the observed numbers, in the order of their names."""
        return self._outline.observations.numbers(
            self.sight, self.events, has_stepped=self._step > 0
        )

    def step(self, action: FloatArray, values: Sequence[float]) -> None:
        """Hold an action for the engine steps of one step; see ``DriveActions.decode``."""
        self._action = action
        if self._graph is not None:
            self._sent = []
            self._variables_before = self._graph.variables.snapshot()
        self._actions.apply(values)
        self.scene.step(self._config.frame_skip)
        self.events = list(self.scene.core.events)
        self.sight.invalidate()

    def close(self) -> None:
        """Close the world; a second call does nothing."""
        self._closing.detach()
        close_world(self.scene.client_id)

    def outcome(self) -> tuple[float, bool, bool]:
        """Reward, and whether the episode is terminated and truncated."""
        self._step += 1
        context = StepContext(
            self._action,
            tuple(self.events),
            self._step,
            self._duration,
            self.sight,
            sent=tuple(self._sent),
            variables_before=self._variables_before,
        )
        reward = 0.0
        for term, subject in self._rewards:
            reward += term(subject, context)
        terminated = False
        for term, subject in self._ends:
            terminated = terminated or bool(term(subject, context))
        most = self._config.max_episode_steps
        return float(reward), terminated, most is not None and self._step >= most


def _bound(
    term: Term, sight: Sight
) -> tuple[Callable[[Any, StepContext], float | bool], Sight | Scene]:
    """A term's function and its argument: values read already, or the scene."""
    return (term.seen, sight) if isinstance(term, SightTerm) else (term, sight.scene)


def _note(known: WeakMethod[Callable[..., None]], event: str, values: Mapping[str, Any]) -> None:
    """Pass an event on to an episode that is still there: its graph does not keep it alive."""
    note = known()
    if note is not None:
        note(event, values)

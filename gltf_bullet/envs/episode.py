"""One copy of an asset in a world of its own, and its episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakMethod, finalize

import numpy as np

from gltf_bullet.bullet.owned_world import close_abandoned_world, close_world, open_world
from gltf_bullet.bullet.session import headless_world
from gltf_bullet.envs.actions import DriveActions
from gltf_bullet.envs.config import EnvConfig, ResetOptions, SentEvent, StepContext, Term, draw
from gltf_bullet.envs.copy_table import CopyTable
from gltf_bullet.envs.name_checks import require_names
from gltf_bullet.envs.observations import Observations
from gltf_bullet.envs.sight import SightTerm
from gltf_bullet.envs.terms import EventSent, Variable
from gltf_bullet.envs.value_checks import number_of
from gltf_bullet.gltf.document import AssetSource
from gltf_bullet.numba_aot import IntTable
from gltf_bullet.rendering.film_files import PixelArray
from gltf_bullet.runtime.asset import Asset, read_asset
from gltf_bullet.runtime.scene import Scene
from gltf_bullet.runtime.scene_state import SceneState
from gltf_bullet.runtime.step_program import step_worlds
from gltf_bullet.runtime.trigger_reports import TriggerEvent
from gltf_bullet.solver.formulas import COPY, observe
from gltf_bullet.transforms import FloatArray

_PLACES = ("/translation", "/rotation")


class Outline:
    """Data for an environment's spaces; independent of a running world, picklable."""

    def __init__(self, scene: Scene, config: EnvConfig, *, needs_actions: bool = False) -> None:
        """Resolve every name of the config against an asset.

        Raises:
            KeyError: The asset lacks something that the config names.
            ValueError: A drive does not exist, or its range is unknown.
        """
        self.actions = DriveActions(scene, config.actions, needed=needs_actions)
        self.observations = Observations(scene, config, len(self.actions))


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
    asset: Asset,
    config: EnvConfig,
    outline: Outline,
    row: IntTable | None = None,
    *,
    window: bool = False,
) -> Episode:
    """Open a world for one copy of an asset.

    Args:
        asset: The asset.
        config: Settings of the environment.
        outline: Its actions and observations.
        row: Row of the copy in a table of :func:`copy_rows`; ``None``: one of its own.
        window: Show the world.

    Raises:
        EngineError: No room for another world, or no display for a window.
    """
    client_id = open_world(gravity=config.gravity, time_step=config.time_step, window=window)
    try:
        scene = _instantiate(asset, config, client_id)
        for pointer in config.randomization:
            if pointer.startswith("/nodes/") and pointer.endswith(_PLACES):
                # Triggers look at what rests in the file only where it may move.
                scene.set(pointer, scene.get(pointer))
        start, row = scene.save_state(), copy_rows(1) if row is None else row
        return Episode(scene, config, outline, start, row)
    except BaseException:
        close_world(client_id)
        raise


class Outcome(NamedTuple):
    """Results of a step besides its observation."""

    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class Episode:
    """Resets, actions, rewards and ends of one scene, and its world, which it owns.

    The world is closed by :meth:`close`, or when nobody holds the episode or its scene any more: an
    empty one takes 28 MB (measured).
    """

    def __init__(
        self,
        scene: Scene,
        config: EnvConfig,
        outline: Outline,
        start: SceneState,
        row: IntTable,
    ) -> None:
        self.scene = scene
        self.sight = outline.observations.sight_of(scene)
        """The scene as terms of the user's read it."""
        self._config = config
        self._start = start
        self._closing = finalize(scene, close_abandoned_world, scene.core.session)
        self._closing.atexit = False
        scene.core.disable_reset()
        self._act_on_graph = outline.actions.graph_actions(scene)
        self.events: tuple[TriggerEvent, ...] = ()
        """Events of triggers within the step."""
        self.sent: list[SentEvent] = []
        """Events that the file's behavior graph has sent in the step."""
        self.variables_before: tuple[Any, ...] = ()
        """Variables of the graph at the start of the step."""
        self._graph = scene.behavior
        if self._graph is not None:
            for event in self._graph.events:
                self._graph.on(event, partial(_note, WeakMethod(self._note), event))
        self._step = 0
        rewards, ends = config.rewards, config.terminations
        self._rewards = [term for term in rewards if not isinstance(term, SightTerm)]
        self._ends = [term for term in ends if not isinstance(term, SightTerm)]
        self._graph_ends = [term for term in ends if isinstance(term, (EventSent, Variable))]
        successes = () if config.success is None else (config.success,)
        self._successes = [term for term in successes if not isinstance(term, SightTerm)]
        self._duration = config.frame_skip * config.time_step
        self._action: FloatArray = np.zeros(len(outline.actions))
        self._action_before: tuple[float, ...] = ()
        self.table = CopyTable(
            scene,
            outline.observations.write,
            outline.actions.drives,
            len(outline.actions),
            self._duration,
            [term for term in successes if isinstance(term, SightTerm)],
            [term for term in rewards if isinstance(term, SightTerm)],
            [term for term in ends if isinstance(term, SightTerm)],
            row,
        )
        """The table by which kernels act and look for this copy."""
        self.sight.seen = self.table

    def _note(self, event: str, values: Mapping[str, Any]) -> None:
        self.sent.append(SentEvent(event=event, values=values))

    def begin(
        self, rng: np.random.Generator, options: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return to the start and randomise from there; returns the ``info`` of a reset.

        Raises:
            KeyError: ``options`` have a pointer to nothing.
            TypeError: They have a value of another type.
            ValueError: They have an unknown name, or a value out of range.
        """
        scene, wanted = self.scene, ResetOptions.of(options)
        ranges = self._config.randomization
        if wanted.randomization:
            ranges = {**ranges, **wanted.randomization}
        drawn = draw(ranges, rng)
        start = self._start if wanted.state is None else wanted.state
        scene.restart(start, {**drawn, **wanted.values} if wanted.values else drawn)
        if wanted.values:
            drawn = {at: value for at, value in drawn.items() if at not in wanted.values}
        if self._graph is not None:
            self._graph.reseed(int(rng.integers(2**62)))
            self.sent, self.variables_before = [], ()
        if self._config.on_reset is not None:
            self._config.on_reset(scene, rng)
        self._step, self._action_before = 0, ()
        self._action = np.zeros(len(self._action))
        self.events = ()
        self.table.restart()
        self.sight.contact_times.begin()
        self.sight.invalidate()
        return {"randomization": drawn}

    @property
    def has_stepped(self) -> bool:
        """True after the first step of an episode."""
        return self._step > 0

    def picture(self, size: tuple[int, int]) -> PixelArray:
        """Return what people look at, triggers (goals, mostly) among it: [height, width, 3]."""
        return self.scene.pictures.rgb(size=size, triggers=True)

    def close(self) -> None:
        """Close the world; a second call does nothing."""
        self._closing.detach()
        close_world(self.scene.client_id)

    def step(self, action: FloatArray) -> None:
        """Make the engine steps of one step; ``action``: within [-1, 1], applied to the drives."""
        if self._begin_step(action):
            self.scene.step(self._config.frame_skip)
        self._end_step()

    def _begin_step(self, action: FloatArray) -> bool:
        """Take the action; return False if the steps were made already, one by one."""
        if self._step:
            self._action_before = tuple(self._action.tolist())
        self._action = action
        if self._graph is not None:
            self.sent = []
            self.variables_before = self._graph.variables.snapshot()
            if self._act_on_graph is not None:
                self._act_on_graph(action)
        if self._graph_ends:
            self._step_to_end()
        return not self._graph_ends

    def _end_step(self) -> None:
        if not self._graph_ends:
            self.events = self.scene.core.events
        self.sight.invalidate()
        self._step += 1
        self.sight.contact_times.after_step(self._duration)

    def _step_to_end(self) -> None:
        """Make engine steps until the file's behavior graph ends the episode."""
        self.events = ()
        for _ in range(self._config.frame_skip):
            self.scene.step()
            self.events += self.scene.core.events
            self.sight.invalidate()
            context = self._context()
            if any(term.seen(self.sight, context) for term in self._graph_ends):
                return

    def _context(self, terminated: bool = False) -> StepContext:
        return StepContext(
            self._action,
            self.events,
            self._step,
            self._duration,
            self.sight,
            sent=tuple(self.sent),
            variables_before=self.variables_before,
            action_before=self._action_before,
            terminated=terminated,
        )

    def fill(self) -> None:
        """Let the table have what only Python knows, before kernels look."""
        self.table.refresh()
        if not self.table.needs_python(self):
            return
        sight, self.sight.seen = self.sight, None  # kernels have not read this step yet
        try:
            self.table.fill(self)
        finally:
            sight.seen = self.table
            sight.invalidate()

    def ask(self, term: Term) -> float | bool:
        """Return the value of a function of the user's for an observation.

        Raises:
            TypeError: It is no number.
            ValueError: It is not finite.
        """
        return self._value(term, self._context())

    def _value(self, term: Term, context: StepContext) -> float:
        return number_of(term, term(self.scene, context))

    def outcome(self, found: Sequence[float]) -> Outcome:
        """Judge a step.

        Args:
            found: Success, reward and end by all terms that kernels compute.

        Raises:
            TypeError: A function of the user's gave no number.
            ValueError: It gave one that is not finite.
        """
        success, reward, end = found
        is_success, terminated = bool(success), bool(end)
        if self._ends or self._rewards or self._successes:
            context = self._context()
            for term in self._ends:
                terminated = terminated or bool(self._value(term, context))
            if terminated:
                context = context._replace(terminated=True)
            for term in self._rewards:
                reward += self._value(term, context)
            is_success = is_success or any(self._value(term, context) for term in self._successes)
        most = self._config.max_episode_steps
        is_over = most is not None and self._step >= most
        return Outcome(float(reward), terminated, is_over, self._info(is_success))

    def _info(self, is_success: bool) -> dict[str, Any]:
        if self._config.success is None:
            return {"events": self.events}
        return {"events": self.events, "is_success": is_success}


def copy_rows(count: int) -> IntTable:
    """Return an empty table of copies, a row each."""
    return np.zeros((count, COPY.size), dtype=np.int64)


def step_together(episodes: Sequence[Episode], actions: Sequence[FloatArray]) -> None:
    """Make the engine steps of one step of some copies; ``actions``: within [-1, 1]."""
    cores = [
        episode.scene.core
        for episode, action in zip(episodes, actions, strict=True)
        if episode._begin_step(action)  # noqa: SLF001
    ]
    if cores:
        step_worlds(cores, episodes[0]._config.frame_skip)  # noqa: SLF001
    for episode in episodes:
        episode._end_step()  # noqa: SLF001


def look_at(episodes: Sequence[Episode], rows: IntTable, count: int) -> FloatArray:
    """Read copies and compute what they show.

    Args:
        episodes: The copies.
        rows: Their tables.
        count: Number of the observations, which are brought into the range of 32 bits.

    Returns:
        Observations, success, reward, and whether the episode ends, shape [copies, count + 3].
    """
    results: FloatArray = np.zeros((len(episodes), count + 3))
    for episode in episodes:
        episode.fill()
    if observe(rows, results.reshape(-1), count, 0):
        for k in np.flatnonzero(rows[:, COPY.is_read] == 0).tolist():
            episodes[k].table.read()
            observe(rows[k : k + 1], results[k], count, 1)
    return results


def _note(known: WeakMethod[Callable[..., None]], event: str, values: Mapping[str, Any]) -> None:
    """Pass an event on to an episode that is still there: its graph does not keep it alive."""
    note = known()
    if note is not None:
        note(event, values)

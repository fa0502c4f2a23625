"""``scene.behavior``: the file's behavior graph for users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from gltf_bullet.behavior.running import LogEntry
from gltf_bullet.behavior.values import SIZES, Reference, Value
from gltf_bullet.bullet.world_lock import WorldLock, holds_world_lock
from gltf_bullet.errors import UnknownNameError
from gltf_bullet.runtime.acting.acting import Acting
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.runtime.trigger_reports import require_callable
from gltf_bullet.suggestions import did_you_mean

_NAN3 = (float("nan"), float("nan"), float("nan"))


@holds_world_lock("_lock")
class Variables(MutableMapping[int | str, Any]):
    """The custom variables of a graph, by index or by name; vectors are tuples."""

    def __init__(self, acting: Acting, lock: WorldLock) -> None:
        self._lock = lock
        self._variables = acting.behavior.graph.variables
        self._values = acting.behavior.values
        self._easings = acting.behavior.easings.running

    def index_of(self, key: int | str) -> int:
        """Return the index of a variable.

        Raises:
            KeyError: There is none, or several of that name.
        """
        if not isinstance(key, str):
            if not 0 <= key < len(self._variables):
                raise UnknownNameError(f"variable {key}; the graph has {len(self._variables)}")
            return key
        found = [k for k, variable in enumerate(self._variables) if variable.name == key]
        if len(found) != 1:
            names = [variable.name for variable in self._variables if variable.name]
            raise UnknownNameError(
                f"{key!r} names {len(found)} variables; names: {names}{did_you_mean(key, names)}"
            )
        return found[0]

    def __getitem__(self, key: int | str) -> Any:
        return self._values[self.index_of(key)]

    def __setitem__(self, key: int | str, value: Any) -> None:
        index = self.index_of(key)
        kind = self._variables[index].kind
        self._values[index] = taken(kind, value, f"variable {key!r}")
        self._easings.pop(index, None)

    def __delitem__(self, key: int | str) -> None:
        raise TypeError("the variables of a graph are fixed")

    def __iter__(self) -> Iterator[int | str]:
        known = Counter(variable.name for variable in self._variables)
        return (
            variable.name if variable.name and known[variable.name] == 1 else k
            for k, variable in enumerate(self._variables)
        )

    def __len__(self) -> int:
        return len(self._variables)

    def snapshot(self) -> tuple[Any, ...]:
        """Return all present values, in the order of the file."""
        return tuple(self._values)

    def __repr__(self) -> str:
        return f"Variables({dict(self)!r})"


def taken(kind: str, value: Any, what: str) -> Value:
    """Return a user's value as a graph stores it.

    Raises:
        TypeError: It is of another type.
    """
    plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if kind == "bool" and isinstance(plain, bool):
        return plain
    if kind == "ref" and (plain is None or isinstance(plain, Reference)):
        return plain
    if not isinstance(plain, bool):
        if kind == "int" and isinstance(plain, int) and -(2**31) <= plain < 2**31:
            return plain
        if kind == "float" and isinstance(plain, Real):
            return float(plain)
        if kind.startswith("float") and isinstance(plain, (list, tuple)):
            flat = np.asarray(plain, dtype=np.float64).ravel(order="F").tolist()
            if len(flat) == SIZES[kind]:
                return tuple(flat)
    raise TypeError(f"{what} is a {kind}; {value!r} is none")


@holds_world_lock("_core.session.lock")
class BehaviorView:
    """The behavior graph of a scene (KHR_interactivity).

    Events, selections and hovers that are given here act at the beginning of the next step.
    """

    def __init__(self, core: SceneCore, acting: Acting) -> None:
        self._core, self._acting = core, acting
        self.variables = Variables(acting, core.session.lock)
        """Custom variables, by index or by the ``id`` that the file gives them."""

    @property
    def log(self) -> Sequence[LogEntry]:
        """Last lines of ``debug/log``: time [s], severity, message."""
        return tuple(self._acting.behavior.log)

    @property
    def events(self) -> tuple[str, ...]:
        """Ids of the custom events that the graph receives or sends."""
        return tuple(e.id for e in self._acting.behavior.graph.events if e.id is not None)

    def require_event(self, event: str) -> int:
        """Return the index of a custom event.

        Raises:
            KeyError: The graph has no such event.
        """
        for number, known in enumerate(self._acting.behavior.graph.events):
            if known.id == event:
                return number
        near = did_you_mean(event, self.events)
        raise UnknownNameError(
            f"{event!r} is no event of the graph; events: {list(self.events)}{near}"
        )

    def send(self, event: str, **values: Any) -> None:
        """Send a custom event to the graph; values that are not given have their initial ones.

        Raises:
            KeyError: The graph has no such event, or the event no such value.
            TypeError: A value is of another type.
        """
        self._core.require_alive()
        number = self.require_event(event)
        sockets = self._acting.behavior.graph.events[number].values
        made: dict[str, Value] = {}
        for name, value in values.items():
            if name not in sockets:
                raise UnknownNameError(f"{event!r} has no value {name!r}; values: {list(sockets)}")
            made[name] = taken(sockets[name][0], value, f"{name} of {event!r}")
        self._acting.behavior.receive(number, made)

    def on(self, event: str, callback: Callable[[Mapping[str, Any]], object]) -> Callable[[], None]:
        """Call ``callback`` with the values whenever the graph sends a custom event.

        It returns a function that ends it.

        Raises:
            KeyError: The graph has no such event.
            TypeError: ``callback`` cannot be called.
        """
        require_callable(callback)
        return self._acting.behavior.on(self.require_event(event), callback)

    def select(
        self,
        node: int | str,
        point: Sequence[float] | None = None,
        ray_origin: Sequence[float] | None = None,
    ) -> bool:
        """Select a node, as a click does; return False if it is not selectable.

        Args:
            node: Index or name.
            point: Point where the ray hit it, in the world [m].
            ray_origin: Start of the ray, in the world [m].
        """
        self._core.require_alive()
        to_asset = self._acting.host.to_asset
        return self._acting.behavior.select(
            self._index(node),
            _NAN3 if point is None else to_asset(point),
            _NAN3 if ray_origin is None else to_asset(ray_origin),
        )

    def hover(self, node: int | str | None) -> None:
        """Hover over a node; ``None``: over nothing."""
        self._core.require_alive()
        self._acting.behavior.hover(-1 if node is None else self._index(node))

    def _index(self, node: int | str) -> int:
        from gltf_bullet.runtime.views.nodes import Nodes

        return Nodes(self._core).index_of(node)

    def keep(self, pointer: str, value: Any) -> bool:
        """Set a property that the simulation does not use, as a graph does; False without it.

        Raises:
            TypeError: The value is of another type.
        """
        found = self._acting.behavior.find(pointer)
        if found is None or found.set is None:
            return False
        found.set(taken(found.kind, value, pointer))
        return True

    def pause(self) -> None:
        """Pause the graph: its time stops while the scene goes on."""
        self._acting.pause()

    def resume(self) -> None:
        """Resume the graph, also after it was stopped as endless."""
        self._acting.resume()

    @property
    def is_paused(self) -> bool:
        """True if it was paused, or stopped as endless."""
        return self._acting.behavior.is_paused

    def reseed(self, seed: int) -> None:
        """Restart ``math/random``; two scenes with one seed get the same numbers."""
        self._acting.behavior.reseed(seed)

    def __repr__(self) -> str:
        graph = self._acting.behavior.graph
        return f"BehaviorView({len(graph.nodes)} nodes, {len(graph.variables)} variables)"

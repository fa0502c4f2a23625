"""JSON pointers of animations and behavior graphs, moved along with the physics that they name.

KHR_animation_pointer and KHR_interactivity name properties by JSON pointers. Writing physics as
current KHR moves and renames the properties; a pointer to one place is changed to its successor,
and is reported if there is none, or more than one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from gltf_bullet.diagnostics import ROOT, JsonPointer
from gltf_bullet.model import JointDescription, PhysicsScene
from gltf_bullet.model.pointers import find_target, members_of

_HOLE: Final = re.compile(r"^(\[[^\[\]{}]+\]|\{[^\[\]{}]+\})$")
_INTERACTIVITY: Final = "KHR_interactivity"

Move = Callable[[str], str | None]
"""The new text of a pointer or template; ``None`` where it has none."""


class Places:
    """New places of items by their old ones, recorded by the writer."""

    def __init__(self) -> None:
        self.of_items: dict[tuple[type, JsonPointer], dict[str, None]] = {}
        """New places by type and old place, in the order of writing."""
        self.of_entries: dict[JsonPointer, dict[str, None]] = {}
        """New places of whole entries of tables by old place."""

    def put(self, item: Any, place: JsonPointer) -> None:
        """An item of the model was written at ``place``."""
        if item.pointer:
            self.of_items.setdefault((type(item), item.pointer), {})[place] = None

    def put_entry(self, entry: Any, place: JsonPointer, block: str = "") -> None:
        """An entry of a table was written at ``place``; shapes have a block of their type."""
        if not entry.pointer:
            return
        self.put(entry, place / block if block else place)
        # A shape is told of by its block, where the file has one.
        tokens = entry.pointer.tokens
        old = entry.pointer
        if block and not tokens[-1].isdigit():
            old = JsonPointer(old.rpartition("/")[0])
        self.of_entries.setdefault(old, {})[place] = None
        if isinstance(entry, JointDescription):
            for name, parts in (("limits", entry.limits), ("drives", entry.drives)):
                for index, part in enumerate(parts):
                    self.put(part, place / name / index)


class MovedPointers:
    """The new text of a pointer into physics that was written anew."""

    def __init__(self, scene: PhysicsScene, places: Places) -> None:
        self._scene, self._places = scene, places
        self._moves: dict[str, str | None] | None = None

    def __call__(self, text: str) -> str | None:
        """The new pointer or template; ``None`` if its property has no single new place."""
        if any(_HOLE.match(token) for token in text.split("/")):
            return self._template(text)
        entry = self._places.of_entries.get(JsonPointer(text))
        if entry is not None:
            return _only(entry)
        if text.endswith(".length"):
            return self._length(text.removesuffix(".length"))
        target = find_target(self._scene, text)
        if target is None:
            return None
        kind = type(target.item)
        place = _only(self._places.of_items.get((kind, target.item.pointer), {}))
        return None if place is None else f"{place}/{_key(kind, target.field)}"

    def _all(self) -> dict[str, str | None]:
        """New pointers of all written properties by old ones; ``None`` for several new places."""
        if self._moves is None:
            self._moves = {}
            for (kind, old), new in self._places.of_items.items():
                place = _only(new)
                for key, member in members_of(kind).items():
                    moved = None if place is None else f"{place}/{_key(kind, member.field)}"
                    self._moves[f"{old}/{key}"] = moved
        return self._moves

    def _template(self, text: str) -> str | None:
        """The new template, if all properties that it can name moved alike."""
        tokens = text.split("/")
        pattern = "/".join("([0-9]+)" if _HOLE.match(t) else re.escape(t) for t in tokens)
        holes = [token for token in tokens if _HOLE.match(token)]
        found: str | None = None
        for old, new in self._all().items():
            match = re.fullmatch(pattern, old)
            if match is None:
                continue
            guess = None if new is None else _with_holes(tokens, old, new)
            if guess is None or (found is not None and guess != found):
                return None
            filled = guess.split("/")
            for hole, number in zip(holes, match.groups(), strict=True):
                filled[filled.index(hole)] = number
            if "/".join(filled) != new:
                return None
            found = guess
        return found

    def _length(self, table: str) -> str | None:
        """The new length pointer of a table that was written as a whole to one other table."""
        moved = {
            (_only(new) or "").rpartition("/")[0]
            for old, new in self._places.of_entries.items()
            if old.rpartition("/")[0] == table
        }
        target = _only(dict.fromkeys(moved))
        if not target:
            return None
        count = sum(old.rpartition("/")[0] == table for old in self._places.of_entries)
        written = {
            place
            for places in self._places.of_entries.values()
            for place in places
            if place.rpartition("/")[0] == target
        }
        return f"{target}.length" if len(written) == count else None


def _only(places: Mapping[str, None]) -> str | None:
    return next(iter(places)) if len(places) == 1 else None


def _key(kind: type, field: str) -> str:
    """The name of a field in KHR: the first of its names in the object model."""
    return next(key for key, member in members_of(kind).items() if member.field == field)


def _with_holes(template: list[str], old: str, new: str) -> str | None:
    """The new pointer with the holes of the old template, number by number."""
    numbers = [
        hole for hole, token in zip(template, old.split("/"), strict=True) if token.isdigit()
    ]
    tokens = new.split("/")
    places = [k for k, token in enumerate(tokens) if token.isdigit()]
    if len(places) != len(numbers):
        return None
    for place, hole in zip(places, numbers, strict=True):
        if _HOLE.match(hole):
            tokens[place] = hole
    return "/".join(tokens)


def pointers_in(root: Mapping[str, Any]) -> Iterator[tuple[JsonPointer, str]]:
    """The pointers of animations and behavior graphs of a file, with the places they stand at."""
    found: list[tuple[JsonPointer, str]] = []

    def note(at: JsonPointer, text: str) -> str:
        found.append((at, text))
        return text

    _rewritten(root, note)
    return iter(found)


def with_moved_pointers(
    root: Mapping[str, Any],
    move: Move,
    lost: Callable[[JsonPointer, str], object] | None = None,
) -> dict[str, Any]:
    """The root with every pointer of animations and graphs moved; what is changed is copied.

    Args:
        root: The JSON of a file.
        move: Gives the new text of each pointer.
        lost: Receives place and text of a pointer without a new text, which is left as it was.
    """

    def moved(at: JsonPointer, text: str) -> str:
        new = move(text)
        if new is None and lost is not None:
            lost(at, text)
        return text if new is None else new

    return _rewritten(root, moved)


def _rewritten(root: Mapping[str, Any], visit: Callable[[JsonPointer, str], str]) -> dict[str, Any]:
    result = dict(root)
    animations = root.get("animations")
    if isinstance(animations, list):
        at = ROOT / "animations"
        result["animations"] = [
            _with_channels(entry, at / index, visit) for index, entry in enumerate(animations)
        ]
    extensions = root.get("extensions")
    if isinstance(extensions, dict) and isinstance(extensions.get(_INTERACTIVITY), dict):
        at = ROOT / "extensions" / _INTERACTIVITY
        graphs = _with_values(extensions[_INTERACTIVITY], at, visit)
        result["extensions"] = {**extensions, _INTERACTIVITY: graphs}
    return result


def _with_channels(
    animation: Any, at: JsonPointer, visit: Callable[[JsonPointer, str], str]
) -> Any:
    channels = animation.get("channels") if isinstance(animation, dict) else None
    if not isinstance(channels, list):
        return animation
    made = []
    for index, channel in enumerate(channels):
        value = channel
        for key in ("target", "extensions", "KHR_animation_pointer", "pointer"):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            new = visit(at / "channels" / index, value)
            target = channel["target"]
            pointer = {**target["extensions"]["KHR_animation_pointer"], "pointer": new}
            extensions = {**target["extensions"], "KHR_animation_pointer": pointer}
            channel = {**channel, "target": {**target, "extensions": extensions}}
        made.append(channel)
    return {**animation, "channels": made}


def _with_values(value: Any, at: JsonPointer, visit: Callable[[JsonPointer, str], str]) -> Any:
    """JSON of a graph; pointers and references stand alone in lists called ``value``."""
    # Nesting is bounded: the JSON was parsed with a bound on it.
    if isinstance(value, list):
        return [_with_values(item, at / index, visit) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, item in value.items():
        texts = item if key == "value" and isinstance(item, list) else ()
        if len(texts) == 1 and isinstance(texts[0], str) and texts[0].startswith("/"):
            made[key] = [visit(at, texts[0])]
        elif key in ("extras", "extensions"):
            made[key] = item
        else:
            made[key] = _with_values(item, at / key, visit)
    return made

"""A host that is the file alone: the object model, without bodies and without time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gltf_bullet.behavior.host import Property, RayHit
from gltf_bullet.behavior.object_model import ObjectModel
from gltf_bullet.behavior.values import Value


class JsonHost:
    """Stores the values that a graph sets; nothing moves by itself."""

    def __init__(self, file: Mapping[str, Any], spans: Sequence[tuple[float, float] | None] = ()):
        """Take the root of the JSON, and the first and last key of each animation."""
        self.model = ObjectModel(file, supported=("KHR_interactivity",))
        self.spans = spans
        self.values: dict[str, Value] = {}
        """Values that were set, by pointer."""
        self.played: dict[int, float] = {}
        """Current time of each animation [s]."""

    def find(self, pointer: str) -> Property | None:
        """See ``Host``."""
        if pointer.endswith(("/matrix", "/globalMatrix")) and pointer.startswith("/nodes/"):
            return self._matrix(pointer)
        found = self.model.find(pointer)
        if found is None:
            return None
        values, value = self.values, found.value
        is_rotation = pointer.endswith("/rotation") and found.kind == "float4"

        def write(new: Value) -> None:
            values[pointer] = new

        return Property(
            found.kind,
            lambda: values.get(pointer, value),
            write if found.is_mutable else None,
            is_rotation=is_rotation,
        )

    def _matrix(self, pointer: str) -> Property | None:
        tokens = pointer.split("/")
        if len(tokens) != 4:
            return None
        token, name = tokens[2:]
        if self.model.find(f"/nodes/{token}/translation") is None:
            return None
        node = int(token)
        local, product = self._local, self.model.product

        def whole() -> tuple[float, ...]:
            matrix, above = local(node), self.parent_of(node)
            while above >= 0:
                matrix, above = product(local(above), matrix), self.parent_of(above)
            return matrix

        return Property("float4x4", whole if name == "globalMatrix" else lambda: local(node))

    def _local(self, node: int) -> tuple[float, ...]:
        owner = self.model.file["nodes"][node]
        if "matrix" in owner:
            return tuple(map(float, owner["matrix"]))
        parts: list[Any] = []
        for name in ("translation", "rotation", "scale"):
            found = self.find(f"/nodes/{node}/{name}")
            parts.append(None if found is None else found.get())
        return self.model.local_matrix(parts)

    def animation_span(self, animation: int) -> tuple[float, float] | None:
        """See ``Host``."""
        return self.spans[animation] if 0 <= animation < len(self.spans) else None

    def animate(self, animation: int, time: float) -> None:
        """See ``Host``."""
        self.played[animation] = time

    def end_animation(self, animation: int) -> None:
        """See ``Host``."""

    def parent_of(self, node: int) -> int:
        """See ``Host``."""
        return self.model.parents.get(node, -1)

    def apply_impulse(
        self, node: int, linear: tuple[float, ...], angular: tuple[float, ...]
    ) -> None:
        """See ``Host``."""

    def apply_point_impulse(
        self, node: int, impulse: tuple[float, ...], position: tuple[float, ...]
    ) -> None:
        """See ``Host``."""

    def ray_cast(
        self, start: tuple[float, ...], end: tuple[float, ...], collision_filter: int
    ) -> RayHit | None:
        """See ``Host``: nothing is hit."""
        del start, end, collision_filter
        return None

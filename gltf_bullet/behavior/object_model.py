"""The glTF Asset Object Model over the JSON: its pointers, their types and values.

It has the properties of "Core Pointers" and "Extension Pointers", of visibility, selectability and
hoverability, and KHR_interactivity's of the asset and the camera. Hosts own all that moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gltf_bullet.behavior.operations.vectors import composed, multiplied
from gltf_bullet.behavior.values import FLOATS, SIZES, Value


class ModelProperty(Struct, frozen=True):
    """A property with its value in the file."""

    kind: str
    value: Value
    is_mutable: bool = False


_ZERO3: Final = (0.0, 0.0, 0.0)
_NODE: Final[dict[str, tuple[str, Value]]] = {
    "translation": ("float3", _ZERO3),
    "rotation": ("float4", (0.0, 0.0, 0.0, 1.0)),
    "scale": ("float3", (1.0, 1.0, 1.0)),
}
_FLAGS: Final = {
    "KHR_node_visibility": "visible",
    "KHR_node_selectability": "selectable",
    "KHR_node_hoverability": "hoverable",
}
_INDICES: Final = ("camera", "mesh", "skin")
_CAMERA: Final = {
    "orthographic": ("xmag", "ymag", "zfar", "znear"),
    "perspective": ("aspectRatio", "yfov", "zfar", "znear"),
}
_MATERIAL: Final[dict[str, tuple[str, Value]]] = {
    "alphaCutoff": ("float", 0.5),
    "emissiveFactor": ("float3", _ZERO3),
    "normalTexture/scale": ("float", 1.0),
    "occlusionTexture/strength": ("float", 1.0),
    "pbrMetallicRoughness/baseColorFactor": ("float4", (1.0, 1.0, 1.0, 1.0)),
    "pbrMetallicRoughness/metallicFactor": ("float", 1.0),
    "pbrMetallicRoughness/roughnessFactor": ("float", 1.0),
}
_MATERIAL_EXTENSIONS: Final[dict[str, dict[str, tuple[str, Value]]]] = {
    "KHR_materials_anisotropy": {
        "anisotropyStrength": ("float", 0.0), "anisotropyRotation": ("float", 0.0),
    },
    "KHR_materials_clearcoat": {
        "clearcoatFactor": ("float", 0.0), "clearcoatRoughnessFactor": ("float", 0.0),
        "clearcoatNormalTexture/scale": ("float", 1.0),
    },
    "KHR_materials_dispersion": {"dispersion": ("float", 0.0)},
    "KHR_materials_emissive_strength": {"emissiveStrength": ("float", 1.0)},
    "KHR_materials_ior": {"ior": ("float", 1.5)},
    "KHR_materials_iridescence": {
        "iridescenceFactor": ("float", 0.0), "iridescenceIor": ("float", 1.3),
        "iridescenceThicknessMinimum": ("float", 100.0),
        "iridescenceThicknessMaximum": ("float", 400.0),
    },
    "KHR_materials_sheen": {
        "sheenColorFactor": ("float3", _ZERO3), "sheenRoughnessFactor": ("float", 0.0),
    },
    "KHR_materials_specular": {
        "specularFactor": ("float", 1.0), "specularColorFactor": ("float3", (1.0, 1.0, 1.0)),
    },
    "KHR_materials_transmission": {"transmissionFactor": ("float", 0.0)},
    "KHR_materials_volume": {
        "thicknessFactor": ("float", 0.0), "attenuationDistance": ("float", math.inf),
        "attenuationColor": ("float3", (1.0, 1.0, 1.0)),
    },
    "ADOBE_materials_clearcoat_specular": {
        "clearcoatIor": ("float", 1.5), "clearcoatSpecularFactor": ("float", 1.0),
    },
    "ADOBE_materials_clearcoat_tint": {"clearcoatTintFactor": ("float3", (1.0, 1.0, 1.0))},
}  # fmt: skip
_TEXTURE_TRANSFORM: Final[dict[str, tuple[str, Value]]] = {
    "offset": ("float2", (0.0, 0.0)), "rotation": ("float", 0.0), "scale": ("float2", (1.0, 1.0)),
}  # fmt: skip
_LIGHT: Final[dict[str, tuple[str, Value]]] = {
    "color": ("float3", (1.0, 1.0, 1.0)), "intensity": ("float", 1.0), "range": ("float", math.inf),
    "spot/innerConeAngle": ("float", 0.0), "spot/outerConeAngle": ("float", math.pi / 4.0),
}  # fmt: skip
_IMAGE_LIGHT: Final[dict[str, tuple[str, Value]]] = {
    "rotation": ("float4", (0.0, 0.0, 0.0, 1.0)), "intensity": ("float", 1.0),
}  # fmt: skip
_LISTS: Final = ("animations", "cameras", "materials", "meshes", "nodes", "scenes", "skins")
_INNER_LISTS: Final = {
    "meshes": ("primitives", "weights"), "nodes": ("children",), "scenes": ("nodes",),
    "skins": ("joints",),
}  # fmt: skip
_EYE: Final[dict[str, tuple[str, Value]]] = {
    "rotation": ("float4", (math.nan,) * 4), "position": ("float3", (math.nan,) * 3),
    **{
        f"{kind}/{name}": ("float", math.nan)
        for kind, names in {
            "perspective": ("aspectRatio", "yfov", "znear", "zfar"),
            "orthographic": ("xmag", "ymag", "znear", "zfar"),
        }.items()
        for name in names
    },
}  # fmt: skip
"""Properties of the active camera, NaN since none is active: no viewer, or a view from outside."""


class ObjectModel:
    """The properties of one file, by pointer."""

    def __init__(self, file: Mapping[str, Any], supported: Sequence[str] = ()) -> None:
        """Take the root of the JSON, and the names of the extensions that are ``enabled``."""
        self.file, self._supported = file, supported
        self.parents: dict[int, int] = {}
        """Parent of each node that is not a root."""
        for index, node in enumerate(self._list(file, "nodes")):
            for child in self._list(node, "children"):
                if isinstance(child, int) and not isinstance(child, bool):
                    self.parents.setdefault(child, index)
        self.parents = {
            child: parent for child, parent in self.parents.items() if self._is_above(parent, child)
        }

    def _is_above(self, parent: int, child: int) -> bool:
        """Return True if ``parent`` is no descendant of ``child``: cycles have no parents."""
        seen, node = {child}, parent
        while node in self.parents:
            if node in seen:
                return False
            seen.add(node)
            node = self.parents[node]
        return node not in seen

    @staticmethod
    def _list(owner: object, key: str) -> Sequence[Any]:
        found = owner.get(key) if isinstance(owner, Mapping) else None
        return found if isinstance(found, list) else ()

    def _item(self, key: str, index: str) -> Mapping[str, Any] | None:
        items = self._list(self.file, key)
        return _at(items, index)

    def extension(self, owner: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
        """An extension object of ``owner``; ``None`` if it has none."""
        extensions = owner.get("extensions")
        found = extensions.get(name) if isinstance(extensions, Mapping) else None
        return found if isinstance(found, Mapping) else None

    def find(self, pointer: str) -> ModelProperty | None:
        """The property at a pointer; ``None`` if the object model has none there."""
        tokens = pointer.split("/")[1:]
        if not tokens:
            return None
        if pointer.endswith(".length"):
            return self._length(pointer.removesuffix(".length").split("/")[1:])
        if tokens == ["scene"]:
            return _index(self.file.get("scene"), len(self._list(self.file, "scenes")))
        if tokens[0] == "extensions" and len(tokens) >= 3:
            return self._of_root_extension(tokens[1], tokens[2:])
        if tokens[0] in ("cameras", "materials", "meshes", "nodes", "scenes", "skins"):
            item = self._item(tokens[0], tokens[1]) if len(tokens) > 2 else None
            if item is not None:
                found: ModelProperty | None = getattr(self, f"_of_{tokens[0]}")(item, tokens)
                return found
        return None

    def _length(self, tokens: Sequence[str]) -> ModelProperty | None:
        size = None
        if len(tokens) == 1 and tokens[0] in _LISTS:
            size = len(self._list(self.file, tokens[0]))
        elif len(tokens) == 3 and (item := self._item(tokens[0], tokens[1])) is not None:
            if tokens[2] in _INNER_LISTS.get(tokens[0], ()):
                size = len(self._list(item, tokens[2]))
            elif tokens[0] == "nodes" and tokens[2] == "weights":
                size = len(self.weights(item))
        elif len(tokens) == 3 and tokens[0] == "extensions" and tokens[2] == "lights":
            known = ("KHR_lights_punctual", "EXT_lights_image_based", "EXT_lights_ies")
            if tokens[1] in known:
                size = len(self._list(self.extension(self.file, tokens[1]), "lights"))
        return None if size is None else ModelProperty("int", size)

    # ``find`` looks up methods by the name of the collection.

    def _of_cameras(self, item: Mapping[str, Any], tokens: Sequence[str]) -> ModelProperty | None:
        kind, name = (*tokens[2:], "", "")[:2]
        owner = item.get(kind)
        if len(tokens) != 4 or name not in _CAMERA.get(kind, ()) or not isinstance(owner, Mapping):
            return None
        return _property("float", owner.get(name))

    def _of_materials(self, item: Mapping[str, Any], tokens: Sequence[str]) -> ModelProperty | None:
        rest = "/".join(tokens[2:])
        if rest == "doubleSided":
            return ModelProperty("bool", item.get("doubleSided") is True)
        if rest in _MATERIAL:
            return _of_table(item, tokens[2:], *_MATERIAL[rest])
        if len(tokens) > 4 and tokens[-2] == "KHR_texture_transform" and tokens[-3] == "extensions":
            if tokens[-1] not in _TEXTURE_TRANSFORM or not tokens[-4].endswith("Texture"):
                return None
            owner = _walk(item, tokens[2:-1])
            return _value_of(owner, tokens[-1], *_TEXTURE_TRANSFORM[tokens[-1]])
        if len(tokens) > 4 and tokens[2] == "extensions":
            known = _MATERIAL_EXTENSIONS.get(tokens[3], {})
            name, owner = "/".join(tokens[4:]), self.extension(item, tokens[3])
            if name in known and owner is not None:
                return _of_table(owner, tokens[4:], *known[name])
        return None

    def _of_meshes(self, item: Mapping[str, Any], tokens: Sequence[str]) -> ModelProperty | None:
        if len(tokens) == 5 and tokens[2] == "primitives" and tokens[4] == "material":
            primitive = _at(self._list(item, "primitives"), tokens[3])
            if primitive is not None:
                return _index(primitive.get("material"), len(self._list(self.file, "materials")))
        return None

    def _of_scenes(self, item: Mapping[str, Any], tokens: Sequence[str]) -> ModelProperty | None:
        return self._member(item, "nodes", tokens)

    def _of_skins(self, item: Mapping[str, Any], tokens: Sequence[str]) -> ModelProperty | None:
        if tokens[2:] == ["skeleton"]:
            return _index(item.get("skeleton"), len(self._list(self.file, "nodes")))
        return self._member(item, "joints", tokens)

    def _member(
        self, item: Mapping[str, Any], key: str, tokens: Sequence[str]
    ) -> ModelProperty | None:
        if len(tokens) == 4 and tokens[2] == key:
            number = _number(tokens[3])
            items = self._list(item, key)
            if number is not None and number < len(items):
                return _index(items[number], len(self._list(self.file, "nodes")))
        return None

    def _of_nodes(self, item: Mapping[str, Any], tokens: Sequence[str]) -> ModelProperty | None:
        name = tokens[2]
        if len(tokens) == 3:
            if name in _NODE:
                if "matrix" in item and name != "translation":
                    return None
                value = _value_of(item, name, *_NODE[name])
                if "matrix" in item and (matrix := _value_of(item, "matrix", "float4x4", None)):
                    return ModelProperty("float3", matrix.value[12:15], is_mutable=True)  # type: ignore[index]
                return value
            if name in _INDICES:
                return _index(
                    item.get(name),
                    len(self._list(self.file, f"{name}s" if name != "mesh" else "meshes")),
                )
            if name == "parent" and (parent := self.parents.get(int(tokens[1]))) is not None:
                return ModelProperty("int", parent)
            return None
        if len(tokens) == 4 and name == "weights":
            number, weights = _number(tokens[3]), self.weights(item)
            if number is not None and number < len(weights):
                return ModelProperty("float", weights[number], is_mutable=True)
        if len(tokens) == 4 and name == "children":
            return self._member(item, "children", tokens)
        if len(tokens) == 5 and name == "extensions":
            return self._of_node_extension(item, tokens[3], tokens[4])
        return None

    def _of_node_extension(
        self, item: Mapping[str, Any], extension: str, name: str
    ) -> ModelProperty | None:
        owner = self.extension(item, extension)
        if _FLAGS.get(extension) == name:
            if owner is None and extension not in self._list(self.file, "extensionsUsed"):
                return None
            return ModelProperty("bool", (owner or {}).get(name) is not False, is_mutable=True)
        if owner is None:
            return None
        if extension == "KHR_lights_punctual" and name == "light":
            lights = self._list(self.extension(self.file, extension), "lights")
            return _index(owner.get(name), len(lights))
        if extension == "EXT_lights_ies" and name in ("multiplier", "color"):
            kind, default = ("float", 1.0) if name == "multiplier" else ("float3", (1.0,) * 3)
            return _value_of(owner, name, kind, default)
        return None

    def _of_root_extension(self, name: str, rest: Sequence[str]) -> ModelProperty | None:
        path = "/".join(rest)
        if name == "KHR_interactivity":
            return self._of_interactivity(path)
        owner = self.extension(self.file, name)
        known = {"KHR_lights_punctual": _LIGHT, "EXT_lights_image_based": _IMAGE_LIGHT}.get(name)
        if owner is None or known is None or len(rest) < 3 or rest[0] != "lights":
            return None
        light, path = _at(self._list(owner, "lights"), rest[1]), "/".join(rest[2:])
        if (
            light is None
            or path not in known
            or (rest[2] == "spot" and light.get("type") != "spot")
        ):
            return None
        return _of_table(light, rest[2:], *known[path])

    def _of_interactivity(self, path: str) -> ModelProperty | None:
        if path in ("asset/majorVersion", "asset/minorVersion"):
            asset = self.file.get("asset")
            version = asset.get("version") if isinstance(asset, Mapping) else None
            parts = str(version).split(".")
            is_known = len(parts) == 2 and all(p.isascii() and p.isdigit() for p in parts)
            major, minor = map(int, parts) if is_known else (2, 0)
            # This reader implements 2.0.
            return ModelProperty(
                "int", (min(major, 2) if path[6:7] == "m" and "major" in path else min(minor, 0))
            )
        if path.startswith("asset/extensions/") and path.endswith("/enabled"):
            name = path[17:-8]
            is_there = name in self._list(self.file, "extensionsUsed") and name in self._supported
            return ModelProperty("bool", True) if is_there else None
        kind_default = _EYE.get(path.removeprefix("activeCamera/"))
        if kind_default is not None and path.startswith("activeCamera/"):
            return ModelProperty(*kind_default)
        return None

    def weights(self, node: Mapping[str, Any]) -> tuple[float, ...]:
        """Initial morph weights of a node's mesh, one for each target."""
        mesh = _at(self._list(self.file, "meshes"), str(node.get("mesh")))
        if mesh is None:
            return ()
        primitives = self._list(mesh, "primitives")
        count = max((len(self._list(p, "targets")) for p in primitives), default=0)
        stated = [*self._list(node, "weights")] or [*self._list(mesh, "weights")]
        numbers = [float(w) for w in stated if isinstance(w, (int, float))]
        return tuple((numbers + [0.0] * count)[:count])

    def local_matrix(self, parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        """parent_from_node from translation, rotation and scale."""
        return composed(*parts)

    def product(self, a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
        """Matrix product."""
        return multiplied(a, b)


def _number(token: str) -> int | None:
    is_index = token.isascii() and token.isdigit() and len(token) < 10
    return int(token) if is_index and str(int(token)) == token else None


def _at(items: Sequence[Any], token: str) -> Mapping[str, Any] | None:
    number = _number(token)
    if number is None or number >= len(items) or not isinstance(items[number], Mapping):
        return None
    found: Mapping[str, Any] = items[number]
    return found


def _index(value: object, count: int) -> ModelProperty | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        return None
    return ModelProperty("int", value)


def _walk(owner: Any, tokens: Sequence[str]) -> Mapping[str, Any] | None:
    for token in tokens:
        owner = owner.get(token) if isinstance(owner, Mapping) else None
    return owner if isinstance(owner, Mapping) else None


def _of_table(
    owner: Mapping[str, Any], tokens: Sequence[str], kind: str, default: Value
) -> ModelProperty | None:
    """A property of an object; within a texture or a spot only if the file has that."""
    inner = _walk(owner, tokens[:-1])
    if inner is None and tokens[0] != "pbrMetallicRoughness":
        return None
    return _value_of(inner or {}, tokens[-1], kind, default)


def _value_of(
    owner: Mapping[str, Any] | None, name: str, kind: str, default: Value
) -> ModelProperty | None:
    if owner is None:
        return None
    return _property(kind, owner[name]) if name in owner else ModelProperty(kind, default, True)


def _property(kind: str, value: object) -> ModelProperty | None:
    items = value if isinstance(value, list) else [value]
    if len(items) != SIZES[kind] or not all(
        isinstance(item, (int, float)) and not isinstance(item, bool) for item in items
    ):
        return None
    numbers = tuple(map(float, items))
    is_number = kind == FLOATS[0]
    return ModelProperty(kind, numbers[0] if is_number else numbers, is_mutable=True)

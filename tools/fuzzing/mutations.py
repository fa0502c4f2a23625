"""Real files made wrong in ways that a reader would not think of, each from a seed.

The JSON is changed where it has structure (numbers, indices, names, links of the node tree, whole
objects moved or repeated, parts of other files), the buffers where they hold floats, and now and
then the bytes of the container.
"""

from __future__ import annotations

import base64
import copy
import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.gltf.document import read_document
from gltf_bullet.gltf.writing import encode_glb, self_contained

__all__ = ["Seeds", "as_text", "mutated"]

Json: TypeAlias = Any
Path_: TypeAlias = tuple[Any, ...]
Kinds: TypeAlias = dict[Path_, list[Path_]]

JUNK: list[Json] = [
    None, True, False, 0, 1, -1, 2, 3, 255, 65535, 2**31, 2**53, 10**30, 10**400, -(10**400), 0.5,
    -0.0, 1e-9, 1e-30, 1e-300, 5e-324, 1e6, 1e9, 1e19, 1e38, 1e104, 1e160, 1e300, -1e300, "", "x",
    "0", "NaN", "2.0", "\0", "\ud800", "é" * 70, [], {}, [[]], [{}], [None], {"": {}},
    [0, 0], [0, 0, 0], [0, 0, 0, 0], [1e300] * 3, [1e9, 1e-9, 1.0], [1e-9] * 3, [0] * 16,
    [1e308] * 16, [True] * 4, [[[[[[[[]]]]]]]],
]  # fmt: skip
FACTORS = [
    -1.0, 0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.999, 1.001, 2.0, 10.0, 1e3, 1e6, 1e9, 1e12,
    1e30, 1e150,
]  # fmt: skip
FLOATS = [
    b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\0\0\x80\xff", b"\xff\xff\x7f\x7f", b"\0\0\0\0",
    b"\x01\0\0\0", b"\xff\xff\xff\xff", struct.pack("<f", 1e9), struct.pack("<f", -1e-9),
    struct.pack("<f", 1e30),
]  # fmt: skip
WORDS = [
    "static", "kinematic", "dynamic", "force", "acceleration", "linear", "angular", "box", "sphere",
    "capsule", "cylinder", "plane", "convex", "trimesh", "mesh", "average", "minimum", "maximum",
    "multiply", "LINEAR", "STEP", "CUBICSPLINE", "translation", "rotation", "scale", "weights",
    "pointer", "SCALAR", "VEC2", "VEC3", "VEC4", "MAT4", "OPAQUE", "MASK", "BLEND", "hull",
    "directional", "point", "disc", "torus", "line", "shaped",
]  # fmt: skip


class Seeds:
    """The files that mutations start from, with their buffers inside."""

    def __init__(self, paths: list[Path]) -> None:
        self.files: list[tuple[str, Json, list[bytes], Kinds]] = []
        for path in paths:
            sink = Diagnostics()
            root, buffers = self_contained(read_document(path, sink), sink)
            self.files.append(
                (path.name, root, [bytes(buffer) for buffer in buffers], _kinds(root))
            )


def mutated(seeds: Seeds, seed: str) -> tuple[str, bytes]:
    """The name of the file that it was, and the bytes of one input."""
    rng = random.Random(seed)  # noqa: S311  # reproducible on purpose
    name, root, buffers, kinds = rng.choice(seeds.files)
    root, buffers = copy.deepcopy(root), list(buffers)
    # Mild ones change numbers only: most of those load, and are stepped.
    is_mild = rng.random() < 0.5
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        kind = rng.random()
        if is_mild:
            _change_a_number(rng, root, kinds)
            continue
        if kind < 0.12 and any(buffers):
            _change_buffer(rng, buffers)
        else:
            _change_json(rng, root, kinds, seeds)
    try:
        data = _encoded(rng, root, buffers)
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        # The list of buffers itself is no longer one: the rest goes as text.
        data = json.dumps(root).encode(errors="surrogatepass")
    if rng.random() < 0.04:
        data = _changed_bytes(rng, data)
    return name, data


def _encoded(rng: random.Random, root: Json, buffers: list[bytes]) -> bytes:
    if rng.random() < 0.15 and len(buffers) <= 1:
        return encode_glb(root, buffers)
    data = as_text(root, buffers)
    return data.replace(b"0.", b"NaN0.", 1) if rng.random() < 0.01 else data


def as_text(root: Json, buffers: list[bytes]) -> bytes:
    """A ``.gltf`` with its buffers inside."""
    for entry, data in zip(root.get("buffers", ()), buffers, strict=False):
        if isinstance(entry, dict):
            entry["uri"] = "data:;base64," + base64.b64encode(data).decode()
    return json.dumps(root).encode(errors="surrogatepass")


def _change_buffer(rng: random.Random, buffers: list[bytes]) -> None:
    number = rng.choice([k for k, buffer in enumerate(buffers) if buffer])
    content = bytearray(buffers[number])
    for _ in range(rng.choice((1, 1, 3, 20))):
        place = rng.randrange(max(1, len(content) // 4)) * 4
        content[place : place + 4] = rng.choice([*FLOATS, rng.randbytes(4)])
    if rng.random() < 0.1:
        del content[rng.randrange(len(content)) :]
    buffers[number] = bytes(content)


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    content = bytearray(data)
    if rng.random() < 0.3:
        return bytes(content[: rng.randrange(len(content) + 1)])
    for _ in range(rng.choice((1, 2, 5))):
        place = rng.randrange(len(content))
        content[place] = rng.choice((rng.randrange(256), *b'0123456789-+.eE"[]{},:\\'))
    return bytes(content)


def places(value: Json, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all members and items below ``value``."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in entries:
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def _kinds(root: Json) -> Kinds:
    """The places below a root by their kind: the same path with ``*`` for every index."""
    found: Kinds = {}
    for path in places(root):
        kind = tuple("*" if isinstance(key, int) else key for key in path)
        if kind[0] not in ("asset", "buffers", "images"):
            found.setdefault(kind, []).append(path)
    return found


def _place(rng: random.Random, root: Json, kinds: Kinds) -> Path_ | None:
    """A place, physics three times as often as the rest, and long lists no more than short ones.

    ``kinds`` are those of the root before it was changed: what is gone by now is tried again.
    """
    physics = [kind for kind in kinds if "extensions" in kind or kind[0] in ("nodes", "animations")]
    for _ in range(5):
        pool = physics if physics and rng.random() < 0.75 else list(kinds)
        path = rng.choice(kinds[rng.choice(pool)])
        owner = root
        for key in path:
            if not (isinstance(owner, list) and isinstance(key, int) and key < len(owner)) and not (
                isinstance(owner, dict) and key in owner
            ):
                break
            owner = owner[key]
        else:
            return path
    return None


def _owner(root: Json, path: Path_) -> Json:
    for key in path[:-1]:
        root = root[key]
    return root


def _change_json(rng: random.Random, root: Json, kinds: Kinds, seeds: Seeds) -> None:
    if not isinstance(root, dict) or not root:
        return
    path = _place(rng, root, kinds)
    if path is None:
        return
    owner, key = _owner(root, path), path[-1]
    value = owner[key]
    choice = rng.random()
    if _is_number(value) and choice < 0.65:
        owner[key] = _number(rng, value, root)
    elif isinstance(value, list) and value and choice < 0.6:
        _change_list(rng, value)
    elif isinstance(value, str) and choice < 0.5:
        owner[key] = rng.choice(WORDS)
    elif choice < 0.7:
        owner[key] = copy.deepcopy(rng.choice(JUNK))
    elif choice < 0.78:
        del owner[key]
    elif choice < 0.86:
        other = _place(rng, root, kinds) or path
        owner[key] = copy.deepcopy(_owner(root, other)[other[-1]])
    elif choice < 0.92 and isinstance(owner, dict):
        owner[rng.choice((f"{key}s", key.capitalize(), key[::-1]))] = owner.pop(key)
    elif isinstance(value, dict):
        _, other_root, _, others = rng.choice(seeds.files)
        twins = [p for kind in others.values() for p in kind if p[-1] == key]
        if twins:
            twin = rng.choice(twins)
            owner[key] = copy.deepcopy(_owner(other_root, twin)[twin[-1]])
    else:
        owner[key] = copy.deepcopy(rng.choice(JUNK))


def _change_a_number(rng: random.Random, root: Json, kinds: Kinds) -> None:
    """A number of the physics or of a node, to another one that a program may have written."""
    for _ in range(20):
        path = _place(rng, root, kinds)
        if path is None:
            return
        owner, key = _owner(root, path), path[-1]
        if _is_number(owner[key]):
            if isinstance(owner[key], float) or rng.random() < 0.7:
                owner[key] = owner[key] * rng.choice(FACTORS) if owner[key] else rng.choice(FACTORS)
            return


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(rng: random.Random, value: Json, root: Json) -> Json:
    choice = rng.random()
    try:
        if choice < 0.5:
            result = value * rng.choice(FACTORS)
            return int(result) if isinstance(value, int) and abs(result) < 1e15 else result
        if choice < 0.7:
            return value + rng.choice((-1, 1, 0.5, -2, 100))
    except OverflowError:  # an integer that no float can hold
        return value
    if choice < 0.85:
        nodes = root.get("nodes")
        return rng.randrange(len(nodes)) if isinstance(nodes, list) and nodes else 0
    return rng.choice([junk for junk in JUNK if _is_number(junk)])


def _change_list(rng: random.Random, value: list[Json]) -> None:
    choice = rng.random()
    if all(map(_is_number, value)) and choice < 0.5:
        factor = rng.choice(FACTORS)
        try:
            value[:] = [item * factor for item in value]
        except OverflowError:
            value[0] = 0
    elif choice < 0.65:
        value.append(copy.deepcopy(rng.choice(value)))
    elif choice < 0.75:
        value.pop(rng.randrange(len(value)))
    elif choice < 0.85:
        rng.shuffle(value)
    elif choice < 0.9:
        value += copy.deepcopy(value) * rng.choice((1, 1, 10))
    else:
        value[rng.randrange(len(value))] = copy.deepcopy(rng.choice(JUNK))

"""Writing of JSON and buffers as ``.glb`` or ``.gltf`` (glTF 2.0, "GLB File Format").

Unknown keys and extensions are written unchanged: only ``buffers`` and the references to them in
``bufferViews`` are made anew, on copies.
"""

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from gltf_bullet.diagnostics import ROOT, Diagnostics, warning
from gltf_bullet.gltf.buffers import read_uri
from gltf_bullet.gltf.container import BIN_CHUNK, GLB_MAGIC, JSON_CHUNK
from gltf_bullet.gltf.document import Document
from gltf_bullet.gltf.fields import JsonObject
from gltf_bullet.gltf.meshopt import COMPRESSIONS
from gltf_bullet.output_files import written_aside

# --- Readable JSON text: short arrays and objects stay on one line --------------------------------

LINE_LENGTH = 96
"""Length up to which an array or object stays on one line [characters]."""


def readable_json(value: object) -> str:
    """``value`` as indented JSON; arrays and objects that fit stay on one line.

    Raises:
        TypeError: A value is no JSON value, or a key is no string.
        ValueError: A number is NaN or infinite, which JSON cannot hold.
    """
    return _text(value, "") + "\n"


def _text(value: object, indent: str) -> str:
    if isinstance(value, Mapping):
        brackets = "{}"
        entries = [f"{_scalar(_key(key))}: {_text(value[key], indent + '  ')}" for key in value]
    elif isinstance(value, Sequence) and not isinstance(value, str):
        brackets = "[]"
        entries = [_text(item, indent + "  ") for item in value]
        if len(entries) > 1 and not any(isinstance(item, (Mapping, list, tuple)) for item in value):
            entries = _filled(entries, LINE_LENGTH - len(indent))
    else:
        return _scalar(value)
    inner = ", ".join(entries)
    if "\n" not in inner and len(indent) + len(inner) <= LINE_LENGTH:
        return brackets[0] + inner + brackets[1]
    lines = ",\n".join(f"{indent}  {entry}" for entry in entries)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a JSON key must be a string; got {key!r}")
    return key


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _filled(entries: Sequence[str], width: int) -> list[str]:
    """Numbers joined to as few lines as possible."""
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + len(entry) + 4 <= width:
            lines[-1] += ", " + entry
        else:
            lines.append(entry)
    return lines


# --- Documents as files ---------------------------------------------------------------------------

IMAGE_NOT_EMBEDDED = warning(
    "IMAGE_NOT_EMBEDDED",
    "the image file {got} cannot be read and stays a reference; it may be missing where the "
    "written file goes",
)

IMAGE_TYPES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"RIFF": "image/webp",
    b"\xabKTX": "image/ktx2",
}


def write_document(
    json_root: JsonObject,
    buffers: Sequence[bytes | memoryview | None],
    path: str | os.PathLike[str],
) -> None:
    """Write ``path``, or change nothing if that fails.

    A ``.glb`` gets one binary chunk, a ``.gltf`` readable text with data URIs.

    Args:
        json_root: The root object; it is not changed.
        buffers: The bytes of each entry of its ``buffers`` (which may be absent); ``None`` keeps
            an entry without data, as EXT_meshopt_compression declares them for fall-backs.
        path: A path that ends in ``.glb`` or ``.gltf``.

    Raises:
        ValueError: Another suffix, a number that JSON cannot hold, or another number of ``buffers``
            than the JSON has.
        OSError: The file cannot be written; a former file stays unchanged.
    """
    file = Path(path)
    data: bytes
    if file.suffix.lower() == ".glb":
        data = encode_glb(json_root, buffers)
    elif file.suffix.lower() == ".gltf":
        root = {**json_root, "buffers": _data_uri_buffers(json_root, buffers)}
        if not root["buffers"]:
            del root["buffers"]
        data = readable_json(root).encode()
    else:
        raise ValueError(f"path is {str(path)!r}; must end in .glb or .gltf")
    with written_aside(file) as aside:
        aside.write_bytes(data)


def encode_glb(json_root: JsonObject, buffers: Sequence[bytes | memoryview | None]) -> bytes:
    """The GLB file with all buffers merged into its binary chunk; arguments as above."""
    old = _old_buffers(json_root, buffers)
    chunk, places, kept = bytearray(), {}, []
    for index, data in enumerate(buffers):
        if data is None:
            kept.append(index)
            continue
        places[index] = (0, len(chunk))
        chunk += data
        chunk += bytes(-len(chunk) % 4)
    merged = [] if not places else [{**_shared_members(old, places), "byteLength": len(chunk)}]
    for position, index in enumerate(kept):
        places[index] = (len(merged) + position, 0)
    root: dict[str, object] = {**json_root, "buffers": merged + [dict(old[i]) for i in kept]}
    if not root["buffers"]:
        del root["buffers"]
    views = json_root.get("bufferViews")
    if isinstance(views, list):
        root["bufferViews"] = [_moved_view(view, places) for view in views]
    text = json.dumps(root, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    parts = [struct.pack("<II", len(text), JSON_CHUNK), text]
    if merged:
        parts += [struct.pack("<II", len(chunk), BIN_CHUNK), bytes(chunk)]
    length = 12 + sum(map(len, parts))
    return b"".join([GLB_MAGIC, struct.pack("<II", 2, length), *parts])


def document_buffers(document: Document) -> list[memoryview | None]:
    """The bytes of every buffer of a document, in the form of ``write_document``.

    Raises:
        ContainerError: One of them cannot be read.
    """
    return [
        None if _is_fall_back(entry) else document.buffer(index)
        for index, entry in enumerate(document.objects("buffers"))
    ]


def self_contained(
    document: Document, diagnostics: Diagnostics
) -> tuple[dict[str, Any], list[bytes | memoryview | None]]:
    """The root and buffers of a document with its image files embedded, to be written anywhere.

    The root is a new dictionary; unchanged parts of it are shared with the document.
    unchanged.

    Raises:
        ContainerError: A buffer cannot be read.
    """
    root: dict[str, Any] = dict(document.json)
    if not isinstance(root.get("buffers", []), list):
        del root["buffers"]  # reported at reading
    buffers: list[bytes | memoryview | None] = list(document_buffers(document))
    images = list(document.objects("images"))
    views, taken = list(document.objects("bufferViews")), bytearray()
    for index, image in enumerate(images):
        uri = image.get("uri")
        if not isinstance(uri, str) or uri[:5].lower() == "data:":
            continue
        at = ROOT / "images" / index / "uri"
        data = read_uri(uri, document.folder, at, Diagnostics(), document.limits)
        mime_type = None if data is None else _image_type(data, uri)
        if data is None or mime_type is None:
            diagnostics.report(IMAGE_NOT_EMBEDDED, at, got=repr(uri)[:60])
            continue
        images[index] = {key: image[key] for key in image if key != "uri"} | {
            "bufferView": len(views),
            "mimeType": mime_type,
        }
        view = {"buffer": len(buffers), "byteOffset": len(taken), "byteLength": len(data)}
        views.append(view)
        taken += data + bytes(-len(data) % 4)
    if taken:
        root["images"], root["bufferViews"] = images, views
        root["buffers"] = [*document.objects("buffers"), {"byteLength": len(taken)}]
        buffers.append(bytes(taken))
    return root, buffers


def _old_buffers(json_root: JsonObject, buffers: Sequence[object]) -> list[JsonObject]:
    old = json_root.get("buffers")
    if old is None:
        return [{} for _ in buffers]
    if not isinstance(old, list) or len(old) != len(buffers):
        raise ValueError(f"{len(buffers)} buffers are given; the JSON must have as many")
    return [entry if isinstance(entry, dict) else {} for entry in old]


def _shared_members(old: Sequence[JsonObject], places: dict[int, tuple[int, int]]) -> JsonObject:
    """Name, extras and further members, if exactly one buffer goes into the chunk."""
    if len(places) != 1:
        return {}
    (index,) = places
    return {key: value for key, value in old[index].items() if key != "uri"}


def _moved_view(view: object, places: dict[int, tuple[int, int]]) -> object:
    """A bufferView, and the compressed data that it may name, at its new position."""
    if not isinstance(view, dict):
        return view
    moved = _moved(view, places)
    extensions = view.get("extensions")
    if isinstance(extensions, dict):
        moved["extensions"] = {
            name: _moved(value, places) if name in COMPRESSIONS else value
            for name, value in extensions.items()
        }
    return moved


def _moved(owner: object, places: dict[int, tuple[int, int]]) -> Any:
    if not isinstance(owner, dict):
        return owner
    buffer, offset = owner.get("buffer"), owner.get("byteOffset", 0)
    if not isinstance(buffer, int) or not isinstance(offset, (int, float)) or buffer not in places:
        return dict(owner)
    index, start = places[buffer]
    moved = {**owner, "buffer": index}
    if start:
        moved["byteOffset"] = offset + start
    return moved


def _data_uri_buffers(
    json_root: JsonObject, buffers: Sequence[bytes | memoryview | None]
) -> list[JsonObject]:
    result: list[JsonObject] = []
    for entry, data in zip(_old_buffers(json_root, buffers), buffers, strict=True):
        if data is None:
            result.append(entry)
            continue
        text = base64.b64encode(data).decode()
        uri = f"data:application/octet-stream;base64,{text}"
        result.append({**entry, "byteLength": len(data), "uri": uri})
    return result


def _is_fall_back(entry: JsonObject) -> bool:
    extensions = entry.get("extensions")
    return (
        "uri" not in entry
        and isinstance(extensions, dict)
        and any(name in extensions for name in COMPRESSIONS)
    )


def _image_type(data: bytes, uri: str) -> str | None:
    for magic, mime_type in IMAGE_TYPES.items():
        if data.startswith(magic):
            return mime_type
    suffix = PurePosixPath(unquote(uri[-60:])).suffix.lower()
    by_suffix = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
    return by_suffix.get(suffix)

"""USD stages made wrong: text where it has numbers, names and statements, files byte by byte."""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path
from typing import TypeAlias

from tools.fuzzing.robots import JUNK, NUMBER, other_number, replaced

__all__ = ["broken", "mutated_stage", "stage_seeds"]

Seeds: TypeAlias = list[tuple[str, bytes]]

MODELS = Path(__file__).resolve().parents[2] / "tests" / "convert" / "usd_models"
_STATEMENTS = (
    "prepend references = @part.usda@", "prepend references = </>", 'string x = "\0"',
    "prepend payload = @/dev/zero@", "prepend inherits = </World>", "instanceable = true",
    "float3 xformOp:scale = (0, 0, 0)\nuniform token[] xformOpOrder = [\"xformOp:scale\"]",
    "float physics:mass.timeSamples = { 0: 1, nan: 2 }", "rel physics:body0 = </World>",
    "active = false", "point3f[] points = [(1e300, 0, 0)]", "int[] faceVertexIndices = [-1, 99]",
    "bool physics:rigidBodyEnabled = None", 'uniform token physics:axis = "W"',
    'def Cube "again" (prepend references = </World>) {\n}', "over \"x\" {\n}",
)  # fmt: skip
_SHARES = (10, 2, 2, 2, 1, 3)
_STRING = re.compile(r'"([^"\n]*)"')
_LINE = re.compile(r"[^\n]*\n")
_OPEN = re.compile(r"\{\n")
_WORD = re.compile(r"[A-Za-z]+(?:API|Joint)|Cube|Sphere|Capsule|Cylinder|Mesh|Xform")


def stage_seeds() -> Seeds:
    """Names and bytes of small stages, as text, as binary, and as an archive."""
    from pxr import Sdf, UsdUtils

    models = sorted(MODELS.glob("*.usda"))
    found = [(model.name, model.read_bytes()) for model in models]
    with tempfile.TemporaryDirectory() as folder:
        for model in models[:4]:
            path = Path(folder) / f"{model.stem}.usdc"
            Sdf.Layer.OpenAsAnonymous(str(model)).Export(str(path))
            found.append((path.name, path.read_bytes()))
        path = Path(folder) / "archive.usdz"
        UsdUtils.CreateNewUsdzPackage(Sdf.AssetPath(str(models[0])), str(path))
        found.append((path.name, path.read_bytes()))
    return found


def mutated_stage(seeds: Seeds, seed: str) -> tuple[str, bytes]:
    """The name of the file that it was, and the bytes of one input."""
    rng = random.Random(seed)  # noqa: S311  # reproducible on purpose
    name, data = rng.choice(seeds)
    if not name.endswith(".usda") or rng.random() < 0.1:
        return name, broken(data, rng)
    text = data.decode()
    words = _WORD.findall(text)
    changes = (
        (NUMBER, lambda m: other_number(rng, m.group())),
        (_STRING, lambda _: f'"{rng.choice(JUNK)}"'),
        (_WORD, lambda _: rng.choice(words)),
        (_LINE, lambda _: ""),
        (_LINE, lambda m: m.group() * 2),
        (_OPEN, lambda _: f"{{\n{rng.choice(_STATEMENTS)}\n"),
    )
    for pattern, make in rng.choices(changes, _SHARES, k=rng.choice((1, 1, 1, 2, 3, 5))):
        text = replaced(rng, text, pattern, make)
    return name, text.encode()


def broken(source: bytes, rng: random.Random) -> bytes:
    """A copy with some bytes changed, cut off, or overwritten by others of its own."""
    data = bytearray(source)
    place, kind = rng.randrange(len(data)), rng.randrange(4)
    if kind == 0:
        for _ in range(rng.choice((1, 4, 30))):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        some = (b"\xff" * 8, bytes(8), (1 << 40).to_bytes(8, "little"))
        data[place : place + 8] = rng.choice(some)
    else:
        other, length = rng.randrange(len(data)), rng.randrange(1, 200)
        data[place : place + length] = data[other : other + length]
    return bytes(data)

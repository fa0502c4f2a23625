"""Robots made wrong: text of URDF, SDF and MJCF, changed where it has numbers and names."""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path

import pybullet_data

import gltf_bullet as gb
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.runtime.world_export import robot_file
from tools.fuzzing.trial import Failure, guarded, run_trial

__all__ = [
    "JUNK", "NUMBER", "mutated_robot", "other_number", "replaced", "robot_seeds", "run_robot_trial",
]  # fmt: skip

JUNK = [
    "", "0", "-1", "1e300", "-1e300", "1e-300", "nan", "inf", "-inf", "1e9", "0 0 0", "1 2", "x",
    "0 0 0 0 0 0 0", "1e30 1e30 1e30", "../../etc/passwd", "file:///etc/passwd", "base", "é" * 40,
    "continuous", "revolute", "prismatic", "floating", "planar", "fixed", "ball", "hinge", "free",
    "slide", "mesh", "box", "capsule", "9" * 400,
]  # fmt: skip
_VALUE = re.compile(r'="([^"]*)"')
NUMBER = re.compile(r"-?[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?")
_ELEMENT = re.compile(r"<(\w+)[^<>]*?/>|<(\w+)[^<>]*>.*?</\2>", re.DOTALL)
_MESH = re.compile(r"<mesh>.*?</mesh>", re.DOTALL)
_FACTORS = (-1.0, 0.0, 1e-9, 1e-3, 0.5, 2.0, 10.0, 1e3, 1e6, 1e12)


def robot_seeds() -> list[tuple[str, str]]:
    """Names and texts of small robots of PyBullet's own data that name no other file."""
    folder = Path(pybullet_data.getDataPath())
    patterns = ("*.urdf", "mjcf/*.xml", "humanoid/*.urdf", "**/*.sdf")
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    texts = [
        # Hardly any SDF is without meshes.
        (path.name, _MESH.sub("<box><size>.1 .2 .3</size></box>", path.read_text(errors="replace")))
        for path in paths
        if path.stat().st_size < 40_000
    ]
    return [(name, text) for name, text in texts if "filename" not in text]


def mutated_robot(seeds: list[tuple[str, str]], seed: str) -> tuple[str, bytes]:
    """The name of the file that it was, and the text of one input."""
    rng = random.Random(seed)  # noqa: S311  # reproducible on purpose
    name, text = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        kind = rng.random()
        if kind < 0.5:
            text = replaced(rng, text, NUMBER, lambda m: other_number(rng, m.group()))
        elif kind < 0.75:
            text = replaced(rng, text, _VALUE, lambda _: f'="{rng.choice(JUNK)}"')
        elif kind < 0.85:
            text = replaced(rng, text, _ELEMENT, lambda _: "")
        elif kind < 0.95:
            text = replaced(rng, text, _ELEMENT, lambda m: m.group() * 2)
        elif text:
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice(("<", ">", '"', "&", "\0", "")) + text[place + 1 :]
    return name, text.encode()


def run_robot_trial(name: str, data: bytes, seed: str) -> str:
    """Convert one input, and try the glTF as any other; what became of it, in a word.

    Raises:
        Failure: A promise is broken.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        found = guarded("convert", lambda: robot_file(path, Diagnostics())[1].to_glb())
    if isinstance(found, gb.GltfBulletError):
        return f"convert: {type(found).__name__}"
    if not isinstance(found, bytes):
        raise Failure(f"convert: {found!r}")
    return run_trial(found, seed)


def other_number(rng: random.Random, text: str) -> str:
    if rng.random() < 0.2:
        return rng.choice(JUNK)
    return f"{float(text) * rng.choice(_FACTORS):.9g}"


def replaced(rng: random.Random, text: str, pattern: re.Pattern[str], make: object) -> str:
    places = list(pattern.finditer(text))
    if not places:
        return text
    match = rng.choice(places)
    return text[: match.start()] + make(match) + text[match.end() :]  # type: ignore[operator]

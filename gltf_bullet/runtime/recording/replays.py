"""A written rollout, played through again for those who draw it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gltf_bullet.bullet.headless import headless_world
from gltf_bullet.options import LoadOptions
from gltf_bullet.runtime.asset import read_asset
from gltf_bullet.runtime.scene_core import SceneCore
from gltf_bullet.transforms import FloatArray, matrices_from_trs

__all__ = ["replayed"]


@contextmanager
def replayed(
    write: Callable[[Path], None], times: FloatArray
) -> Iterator[tuple[SceneCore, list[FloatArray]]]:
    """A file with one animation in a world of its own.

    Args:
        write: Writes the file, ``.glb``.
        times: Moments of the animation [s].

    Yields:
        The scene, and world_from_node of all nodes at each moment, shape [node_count, 4, 4].

    Raises:
        OSError: There is no room for the file.
        EngineError: PyBullet has no room for another client.
    """
    with tempfile.TemporaryDirectory(prefix="gltf_bullet-") as folder, headless_world() as client:
        path = Path(folder) / "rollout.glb"
        write(path)
        options = LoadOptions(visuals="none", behavior=False)
        scene = read_asset(path).instantiate(client, options=options)
        core, tree = scene.core, scene.asset.tree
        samplers = [player.sampler for player in core.followers.animations]
        frames = []
        for time in times.tolist():
            parts = tree.translations.copy(), tree.rotations_xyzw.copy(), tree.scales.copy()
            for sampler in samplers:
                sampler.sample_into(time, *parts)
            frames.append(tree.compose(matrices_from_trs(*parts), core.placement.matrix))
        yield core, frames

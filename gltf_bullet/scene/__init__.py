"""The node tree and animation tracks as plain data, independent of file format and engine."""

from gltf_bullet.scene.animation import (
    Animation,
    AnimationSampler,
    AnimationTrack,
    Interpolation,
    sample_track,
)
from gltf_bullet.scene.nodes import Lens, NodeFrames, NodeTree, OrthographicLens, PerspectiveLens

__all__ = [
    "Animation",
    "AnimationSampler",
    "AnimationTrack",
    "Interpolation",
    "Lens",
    "NodeFrames",
    "NodeTree",
    "OrthographicLens",
    "PerspectiveLens",
    "sample_track",
]

"""Animations of properties by pointer (KHR_animation_pointer): their values, checked at load.

While a scene runs, a value that cannot be set is ignored: an animation in a file must not end
somebody's program in the middle of a step.
"""

from __future__ import annotations

from collections.abc import Sequence

from gltf_bullet.diagnostics import ROOT, Diagnostics, note, warning
from gltf_bullet.model import PhysicsScene
from gltf_bullet.model.pointers import BOOLEANS, PointerTarget, find_target, written
from gltf_bullet.scene import Animation
from gltf_bullet.scene.animation import AnimationTrack, Interpolation
from gltf_bullet.transforms import FloatArray

ANIMATION_WITHOUT_EFFECT = note(
    "ANIMATION_WITHOUT_EFFECT",
    "the animation changes {got}, which is nothing of the simulation; it has no effect",
)
ANIMATION_VALUE_REFUSED = warning(
    "ANIMATION_VALUE_REFUSED",
    "keyframe {key} of {got} cannot be set ({why}); such values are passed over",
)


def pointer_value(pointer: str, numbers: FloatArray) -> object:
    """Return the value at a pointer for an animation's numbers, shape [width]."""
    if pointer.rpartition("/")[2] in BOOLEANS:
        return bool(numbers[0] != 0.0)
    if len(numbers) == 1 and not pointer.endswith("/weights"):
        return float(numbers[0])
    return numbers


def check_pointer_tracks(
    animations: Sequence[Animation], physics: PhysicsScene, diagnostics: Diagnostics
) -> None:
    """Report tracks without effect, and with values that cannot be set."""
    for number, animation in enumerate(animations):
        for track in animation.tracks:
            if track.node is None and track.pointer is not None:
                _check(track, track.pointer, number, physics, diagnostics)


def _check(
    track: AnimationTrack,
    pointer: str,
    animation: int,
    physics: PhysicsScene,
    diagnostics: Diagnostics,
) -> None:
    at = ROOT / "animations" / animation
    shown = pointer[:100]
    target = find_target(physics, pointer)
    if target is None or not target.is_used:
        diagnostics.report(ANIMATION_WITHOUT_EFFECT, at, got=shown)
        return
    is_cubic = track.interpolation is Interpolation.CUBICSPLINE
    for key, numbers in enumerate(track.values[:, 1] if is_cubic else track.values):
        why = _refusal(target, pointer_value(pointer, numbers))
        if why:
            diagnostics.report(ANIMATION_VALUE_REFUSED, at, key=key, got=shown, why=why)
            return


def _refusal(target: PointerTarget, value: object) -> str:
    """Return the reason why a value cannot be set; empty if it can."""
    try:
        written(target, value)
    except (TypeError, ValueError) as error:
        return str(error)[:100]
    return ""

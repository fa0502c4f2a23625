"""Translations of fresh scenes, kept with what they were made of."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np

from gltf_bullet.collection import no_collection
from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.errors import InvalidAssetError
from gltf_bullet.number_ranges import WORLD
from gltf_bullet.options import LoadOptions
from gltf_bullet.planning.scene_plan import within_reach
from gltf_bullet.runtime.content import AssetContent
from gltf_bullet.runtime.kept_assets import kept_asset
from gltf_bullet.runtime.placement import Placement
from gltf_bullet.runtime.translation import Translation, translate_at
from gltf_bullet.scene import NodeFrames

__all__ = ["first_translation"]

_KEPT_TRANSLATIONS = 4
"""Of one document: environments ask for the same one again and again, at few places."""


def first_translation(
    asset: AssetContent, placement: Placement, options: LoadOptions
) -> Translation:
    """The translation of a fresh scene; the same again for the same request.

    Environments make one asset many times, each in a world of its own or all in one; planning is
    half the price of a scene. The last few are kept with the document, as they are at the origin.

    Raises:
        InvalidAssetError: Content turned out unusable while translating.
        TranslationError: ``options.strict`` and the engine would approximate.
        ValueError: The file has no such scene.
    """
    kept: dict[object, Translation] = asset.derived.setdefault(Translation, {})
    key = (placement.key_at_origin, options)
    found = kept.get(key)
    if found is None:
        with no_collection():
            found = _translation(asset, placement, options)
        while len(kept) >= _KEPT_TRANSLATIONS:
            del kept[next(iter(kept))]
        kept[key] = found
    plan = found.plan
    frames = plan.frames.moved(placement.offset)
    farthest = plan.derive("farthest", partial(_farthest, plan.frames))
    if farthest + max(map(abs, frames.offset)) > WORLD:
        too_far = Diagnostics()
        if within_reach(frames, too_far) is not frames:
            raise InvalidAssetError(asset.path, (*found.issues, *too_far.issues))
    return found.moved(frames)


def _translation(asset: AssetContent, placement: Placement, options: LoadOptions) -> Translation:
    entry = kept_asset(asset)
    if entry is not None and not entry.serves(options):
        entry = None
    name = _entry_name(placement.key_at_origin, options)
    found = None if entry is None else entry.translation(name)
    if found is None:
        found = translate_at(asset, placement.at_origin(), options)
        found.require_usable(strict=options.strict)
        if entry is not None:
            entry.expect(name, found)
    return found


@lru_cache(16)
def _entry_name(placement: object, options: LoadOptions) -> str:
    """Under which a translation is kept for other processes."""
    return f"{placement} {options}"


def _farthest(frames: NodeFrames) -> float:
    """The largest number in the nodes' transforms."""
    return float(np.abs(frames.world_from_node).max(initial=0.0))

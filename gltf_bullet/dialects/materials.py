"""Physics materials: the same object in every dialect but for the default of the combine modes.

KHR_physics_rigid_bodies, "Physics Materials"; ``*.material.schema.json`` of KHR, OMI and MSFT.
"""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import warning
from gltf_bullet.dialects.reading import AS_ABSENT, keys_of, read_values, report_unknown
from gltf_bullet.gltf.fields import Reader
from gltf_bullet.model import CombineMode, PhysicsMaterial
from gltf_bullet.model.properties import MATERIAL, WORD, Dialect, Property

COMBINE_MODE_UNKNOWN = warning(
    "COMBINE_MODE_UNKNOWN",
    '{key} is "{got}"; must be average, minimum, maximum or multiply; average is used',
)

_MODES: Final = {mode.value: mode for mode in CombineMode}


def parse_material(entry: Reader, *, dialect: Dialect) -> PhysicsMaterial:
    """A material, with what the dialect makes of a combine mode that is not stated."""
    report_unknown(entry, keys_of(MATERIAL, dialect), MATERIAL.what)
    readers = {WORD: _read_mode}
    values = read_values(entry, MATERIAL, dialect, readers=readers)
    return PhysicsMaterial(**values, pointer=entry.at)


def _read_mode(owner: Reader, entry: Property, dialect: Dialect) -> CombineMode | None:
    stated = owner.string(entry.key, instead=AS_ABSENT)
    if stated is None:
        unstated: CombineMode | None = entry.default_in(dialect)
        return unstated
    # MSFT spells the modes in capitals, KHR and OMI in lower case; files mix them up.
    mode = _MODES.get(stated.lower())
    if mode is None:
        owner.report(COMBINE_MODE_UNKNOWN, entry.key, key=entry.key, got=stated[:60])
        return CombineMode.AVERAGE
    return mode

"""How much a file may ask for, by count and by bytes: one table, checked before the work.

Each bound is far above what real files have, and keeps a small or hostile file from taking a
machine's time and memory. What a caller may want to change is in ``ReadLimits`` instead.
"""

from __future__ import annotations

from typing import Final

DESCRIPTION_BYTES: Final = 64 << 20
"""The text of a robot or a stage, or of one file that it includes; the largest that was seen has
2 MB."""
DESCRIPTION_FILES: Final = 250
"""Files that a robot or a stage includes, one by another."""
XML_ELEMENTS: Final = 1_000_000
"""Elements of one text; each takes some hundred bytes."""
MESH_FILE_BYTES: Final = 512 << 20
"""A file with a mesh or an image that a robot or a stage names."""
NAME_CHARACTERS: Final = 10_000
"""The name of a node, a mesh or an animation: it is written into tables, pages and messages."""
REPEATED_TARGET_VALUES: Final = 1 << 24
"""Numbers of the morph targets of a file whose accessors other targets of the same primitive use:
exporters share one accessor of zeros, and few bytes can stand for many."""
DECODED_VIEW_BYTES: Final = 512 << 20
"""Bytes of all bufferViews of a file that meshopt decodes: a thousandth of it can stand for it."""
WORLD_BODIES: Final = 20_000
"""Bodies and fixed colliders of one scene: PyBullet makes 10 000 in 5 s and 20 000 in 14 s."""
BURIED_TRIANGLES: Final = 5000
"""Triangles of meshes that begin inside of dynamic shapes, counted for each shape: each takes the
engine 25 to 80 us, in up to ten passes of a step."""
DRAWN_TRIGGERS: Final = 40
"""Volumes of triggers in one picture: the software renderer takes 0.17 s for each that fills it."""
ISSUES_PER_CODE: Final = 1000
"""Findings of one code in one report; the others are counted."""

"""All dialects of one document -> one :class:`~gltf_bullet.model.PhysicsScene`.

The only entry that other rooms use: read every dialect in use, then resolve references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects import khr_physics_rigid_bodies
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.dialects.precedence import claim_nodes
from gltf_bullet.dialects.references import resolve_references
from gltf_bullet.dialects.registry import Dialect
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import PhysicsScene

__all__ = ["read_physics"]

DialectParser = Callable[[Document, Sequence[int], PhysicsParts, Diagnostics], None]

_PARSERS: Final[Mapping[Dialect, DialectParser]] = {
    Dialect.KHR: khr_physics_rigid_bodies.parse,
}


def read_physics(document: Document, diagnostics: Diagnostics) -> PhysicsScene:
    """The physics of ``document``, whatever dialects it is written in.

    Content that cannot be used is left out and reported; the scene's references are consistent.
    """
    claims = claim_nodes(document, diagnostics)
    parts = PhysicsParts()
    for dialect, parse in _PARSERS.items():
        parse(document, claims[dialect], parts, diagnostics)
    return resolve_references(parts, document, diagnostics)

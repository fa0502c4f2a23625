"""Precedence of the dialects on a node that carries several.

The newest wins, whole node by whole node; different nodes may use different dialects.
"""

from __future__ import annotations

from typing import Final

from gltf_bullet.diagnostics import Diagnostics, note
from gltf_bullet.dialects.parts import node_extension_pointer
from gltf_bullet.dialects.registry import NODE_EXTENSIONS
from gltf_bullet.gltf.document import Document
from gltf_bullet.model.properties import Dialect

DIALECT_SHADOWED = note(
    "DIALECT_SHADOWED", "{shadowed} stands beside the newer {winner}; the newer one is used"
)

_BODY: Final = "OMI_physics_body"
_SHAPE: Final = "OMI_physics_shape"


def claim_nodes(document: Document, diagnostics: Diagnostics) -> dict[Dialect, list[int]]:
    """Per dialect the nodes that it describes, in file order; what is shadowed is reported."""
    claims: dict[Dialect, list[int]] = {}
    owner_of: dict[int, Dialect] = {}
    for dialect, names in NODE_EXTENSIONS.items():
        claimed = claims[dialect] = []
        carrying = {node: None for name in names for node in document.nodes_with_extension(name)}
        for node in sorted(carrying):
            winner = owner_of.get(node)
            if winner is None:
                owner_of[node] = dialect
                claimed.append(node)
            elif dialect is Dialect.OMI_COLLIDER and _lacks_shape(document, node, winner):
                # OMI_collider "can be optionally used together with OMI_physics_body" (003): it
                # then gives the shape of a body that has none of its own.
                claimed.append(node)
            else:
                _report_shadowed(document, node, dialect, winner, diagnostics)
    return claims


def _lacks_shape(document: Document, node: int, winner: Dialect) -> bool:
    if winner is not Dialect.OMI:
        return False
    if document.node_extension(node, _SHAPE) is not None:
        return False
    body = document.node_extension(node, _BODY) or {}
    return "collider" not in body and "trigger" not in body


def _report_shadowed(
    document: Document, node: int, dialect: Dialect, winner: Dialect, diagnostics: Diagnostics
) -> None:
    for name in NODE_EXTENSIONS[dialect]:
        if document.node_extension(node, name) is not None:
            diagnostics.report(
                DIALECT_SHADOWED,
                node_extension_pointer(node, name),
                shadowed=name,
                winner=NODE_EXTENSIONS[winner][0],
            )

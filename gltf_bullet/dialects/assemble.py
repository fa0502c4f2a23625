"""All dialects of one document -> one :class:`~gltf_bullet.model.PhysicsScene`.

The only entry that other rooms use: read every dialect in use, then resolve references.
"""

from __future__ import annotations

from gltf_bullet.diagnostics import Diagnostics
from gltf_bullet.dialects.joints import with_extras
from gltf_bullet.dialects.khr import physics_rigid_bodies as khr_physics_rigid_bodies
from gltf_bullet.dialects.msft import camel_rigid_bodies as msft_camel_rigid_bodies
from gltf_bullet.dialects.msft import rigid_bodies as msft_rigid_bodies
from gltf_bullet.dialects.omi import collider as omi_collider
from gltf_bullet.dialects.omi import physics_body as omi_physics_body
from gltf_bullet.dialects.omi import physics_gravity as omi_physics_gravity
from gltf_bullet.dialects.omi import physics_joint as omi_physics_joint
from gltf_bullet.dialects.omi import physics_shape as omi_physics_shape
from gltf_bullet.dialects.parts import PhysicsParts
from gltf_bullet.dialects.precedence import claim_nodes
from gltf_bullet.dialects.references import resolve_references
from gltf_bullet.gltf.document import Document
from gltf_bullet.model import PhysicsScene
from gltf_bullet.model.properties import Dialect


def read_physics(document: Document, diagnostics: Diagnostics) -> PhysicsScene:
    """The physics of ``document``, whatever dialects it is written in.

    Content that cannot be used is left out and reported; the scene's references are consistent.
    """
    nodes_of = claim_nodes(document, diagnostics)
    parts = PhysicsParts()
    khr_physics_rigid_bodies.parse(document, nodes_of[Dialect.KHR], parts, diagnostics)
    omi_shapes = omi_physics_shape.read_shapes(document, diagnostics)
    omi_physics_body.parse(document, nodes_of[Dialect.OMI], omi_shapes, parts, diagnostics)
    omi_physics_joint.parse(document, nodes_of[Dialect.OMI], parts, diagnostics)
    omi_collider.parse(document, nodes_of[Dialect.OMI_COLLIDER], parts, diagnostics)
    msft_rigid_bodies.parse(document, nodes_of[Dialect.MSFT_LATER], parts, diagnostics)
    msft_camel_rigid_bodies.parse(document, nodes_of[Dialect.MSFT_CAMEL], parts, diagnostics)
    omi_physics_gravity.parse(document, omi_shapes, parts, diagnostics)
    parts.joints = with_extras(parts.joints, document, diagnostics)
    return resolve_references(parts, document, diagnostics)

"""All operations: the import of the modules that declare them fills the table."""

from __future__ import annotations

from gltf_bullet.behavior.operations import (
    events,
    flows,
    numbers,
    physics,
    states,
    vectors,
)
from gltf_bullet.behavior.operations.declaring import OPERATIONS, Operation, find_operation

__all__ = ["OPERATIONS", "Operation", "find_operation"]

_DECLARING = (events, flows, numbers, physics, states, vectors)

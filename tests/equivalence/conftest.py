"""Fixtures of this room."""

from tests.prepared_children import prepared_children as prepared_children

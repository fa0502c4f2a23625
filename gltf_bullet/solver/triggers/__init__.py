"""Overlaps of colliders and trigger volumes, from arrays."""

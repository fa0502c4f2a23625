"""Trigger volumes in the engine: overlaps, entries and exits."""

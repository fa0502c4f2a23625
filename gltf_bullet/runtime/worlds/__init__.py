"""Whole worlds, scenes of ours among them, on their way into a file."""

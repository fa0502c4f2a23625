"""Gravity that differs from the engine's own: factors of bodies, volumes of the file."""

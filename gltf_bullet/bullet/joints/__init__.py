"""Articulations in the engine: state read, forces applied, loops closed."""

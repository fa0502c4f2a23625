"""Articulations in the engine: reading states, applying forces, closing loops."""

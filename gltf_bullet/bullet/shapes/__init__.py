"""Collision shapes of a PyBullet world, created once per content."""

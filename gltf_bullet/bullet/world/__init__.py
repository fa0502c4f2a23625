"""A planned scene in a PyBullet world: creation, steps, queries, removal."""

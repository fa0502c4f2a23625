"""The state of a PyBullet world or of some of its bodies, as values."""

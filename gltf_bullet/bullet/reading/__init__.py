"""The contents of a PyBullet world, made by any code, as a ``WorldDescription``."""

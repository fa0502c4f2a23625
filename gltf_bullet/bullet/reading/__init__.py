"""What a PyBullet world holds, whoever made it, as a ``WorldDescription``."""

"""A planned scene in a PyBullet world: created, stepped, asked, removed."""

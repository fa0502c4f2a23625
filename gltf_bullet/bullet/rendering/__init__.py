"""Visual shapes, textures and pictures by PyBullet."""

"""Load glTF physics into PyBullet."""

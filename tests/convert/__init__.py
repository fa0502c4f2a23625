"""Robots and PyBullet worlds as glTF, and back."""

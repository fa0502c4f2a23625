"""Room 5: the model as PyBullet bodies; the only room that imports pybullet."""

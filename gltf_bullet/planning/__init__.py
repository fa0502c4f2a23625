"""From the model to what will be created, as pure data; nothing here imports pybullet."""

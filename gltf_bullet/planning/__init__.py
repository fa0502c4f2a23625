"""Plans from the model: all that the engine will create, as pure data; pybullet is not used."""

"""From a world, described free of any engine, to glTF with KHR_physics_rigid_bodies."""

"""glTF files with KHR_physics_rigid_bodies from a world described independently of the engine."""

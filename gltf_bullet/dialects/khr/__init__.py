"""The Khronos family: KHR_physics_rigid_bodies over its three ways to state geometry."""

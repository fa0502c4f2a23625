"""The OMI family: OMI_physics_body, _shape, _joint, _gravity and the archived OMI_collider."""

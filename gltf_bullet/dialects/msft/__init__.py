"""The MSFT family in both spellings: MSFT_rigid_bodies and MSFT_RigidBodies."""

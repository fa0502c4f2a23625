"""The joint-space solve of scenes: contacts, islands, one step, many scenes at once."""

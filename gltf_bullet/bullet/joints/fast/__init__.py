"""Links that move further in a step than they are thick, and how they went."""

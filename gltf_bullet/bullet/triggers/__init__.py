"""Trigger volumes at work: who overlaps, who came, who went."""

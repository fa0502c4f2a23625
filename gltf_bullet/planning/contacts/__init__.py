"""Materials and filters of colliders: one surface per engine link, right for every pair."""

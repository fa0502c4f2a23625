"""Between two steps: external changes, motors and forces are detected, open loops are closed."""

"""How scores look: rendering kept apart from the numbers."""

"""Reads recipes, scales them, and says what to buy."""

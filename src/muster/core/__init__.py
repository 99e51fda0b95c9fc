"""Primitives that know nothing of agents."""

"""Repairs small faults of a program by search and tests. Standard library only: the folder is copied to hosts without muster."""

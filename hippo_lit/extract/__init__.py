"""Passages to entities and facts."""

"""Tuning prompts: versions, a labelled set, trying, scoring, and optimizers that search for better ones."""

"""The graph of facts: what an entity is, how it is found in a question, and how rank spreads over it."""

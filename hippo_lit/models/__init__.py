"""Chat models and embedders behind the protocols, with retries, caching and accounting."""

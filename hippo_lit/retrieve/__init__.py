"""The one query path: signals → candidates → filter → seeds → PageRank → ranking, and its fallbacks."""

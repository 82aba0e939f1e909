"""The two-pass retriever of REFERENCE 1: BM25, the citation graph, their blend, and a client over sources."""

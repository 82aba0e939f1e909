"""Questions answered from papers that were retrieved, and hypotheses held against them."""

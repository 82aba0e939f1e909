"""`python -m hippo_lit.cli`."""

from hippo_lit.cli import main

main()

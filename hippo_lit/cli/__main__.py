"""`python -m hippo_lit.cli`."""

from hippo_lit.cli import main

if __name__ == "__main__":
    main()

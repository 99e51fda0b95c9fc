"""`python -m muster` is `muster`."""

from muster.cli import main

main()

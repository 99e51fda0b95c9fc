"""The tutorial, typed: each block of `docs/tutorial.sh` is run by a test that looks at what it does."""

"""What runs in the interpreter of the project under test: each file stands alone on the standard library, Python 3.8 and later."""

"""Tests of the pure parts: `python3 -m unittest discover -s bench -t bench`, from the root."""

"""Test runners: one reader for the output of each; `read.py` asks them all."""

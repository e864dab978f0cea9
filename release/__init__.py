"""Makes a release: its files, and its notes. Not part of the program; `CONTRIBUTING.md` describes the steps."""

"""Executors, which run turns: one module for each place."""

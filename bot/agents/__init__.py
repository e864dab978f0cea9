"""Agents, which turn a prompt into changes: one package for each kind."""

"""Shared by the services over HTTP: comment outbox, credential lockout, availability, signature, server clock."""

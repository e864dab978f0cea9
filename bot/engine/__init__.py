"""Verbs. One tick is observe -> decide -> act -> save; only `decide` and `schedule` judge."""

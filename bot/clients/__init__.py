"""How to talk to one service: one folder each, and the only place where its library and its words are known."""

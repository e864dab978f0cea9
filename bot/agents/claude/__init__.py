"""Claude, through its Agent SDK and the program that comes with it. The only room that knows either."""

"""A page on this machine for those who do not program: drop a file, see the numbers of the library, ask "what if"."""

"""Tables in files: what kind of file, which column holds what, which text means which number. Nothing statistical."""

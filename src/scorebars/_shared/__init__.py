"""What the command line, the report, the figures and the tables share: words, numbers as text, files, and curves."""

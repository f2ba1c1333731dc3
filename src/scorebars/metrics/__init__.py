"""The public metric functions."""

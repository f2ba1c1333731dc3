"""Scores of data that come in pieces: batches, files, workers."""

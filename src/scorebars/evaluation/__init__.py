"""From what a user passes to an evaluation: the data, the task, the metrics, and their scores."""

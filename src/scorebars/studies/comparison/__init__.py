"""Which model is better, and how sure can the labels make us?"""

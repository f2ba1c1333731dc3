"""How many labels, repeats and checks are needed?"""

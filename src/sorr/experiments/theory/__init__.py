"""What needs no data set: figures 1 and 2, Theorem 2 in numbers, the cost of steps."""

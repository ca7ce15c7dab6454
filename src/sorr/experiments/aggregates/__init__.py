"""Aggregate losses, Table 1 and tendency curves: ours, the paper's protocol, its loop."""

"""Timings against peers, as ratios within one run: `python -m benchmarks`."""

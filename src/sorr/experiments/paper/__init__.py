"""The tables and figures of the paper, one chapter each."""

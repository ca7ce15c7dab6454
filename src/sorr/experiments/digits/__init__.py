"""Digits with wrong labels, Table 3 and errors by class: ours, the paper's protocol, its loop."""

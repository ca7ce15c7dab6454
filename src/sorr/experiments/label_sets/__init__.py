"""Label sets, Table 2 and average precision: ours, the paper's protocol, its loop."""

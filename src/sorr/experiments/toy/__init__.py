"""Lines through toy sets: figure 3 and the appendix."""

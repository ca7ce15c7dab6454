"""Learning on data with outliers and wrong labels, by minimising a ranked range of losses."""

__version__ = "0.1.0"

"""PyTorch: ranked ranges in place of ``.mean()``, and a tracker that finds wrong labels.

It needs PyTorch: ``pip install "sorr[torch]"``.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        'sorr.nn needs PyTorch, which is not installed: pip install "sorr[torch]"'
    ) from error

from sorr.nn.criterion import RankedRangeLoss
from sorr.nn.reductions import (
    average_ranked_range,
    average_top_k,
    top_k_multilabel_loss,
    top_k_subset_loss,
    trimmed_mean,
)
from sorr.nn.tracker import RankTracker

__all__ = [
    "RankTracker",
    "RankedRangeLoss",
    "average_ranked_range",
    "average_top_k",
    "top_k_multilabel_loss",
    "top_k_subset_loss",
    "trimmed_mean",
]

"""The numbers printed in the paper, in per cent: S. Hu, Y. Ying, X. Wang, S. Lyu, NeurIPS 2020.

Pairs are a mean and a standard deviation over 10 random splits (on MNIST, 5 random runs).
"""

from __future__ import annotations

from typing import NamedTuple

Pair = tuple[float, float]
Printed = tuple[Pair, ...]

LOSSES = ("logistic", "hinge")
"""The individual losses of the aggregates."""


class AggregateSetting(NamedTuple):
    """The kept ranks, C, and the steps of the loop: outer steps, inner steps, step length."""

    k: int
    m: int
    C: float
    outer: int
    inner: int
    step: float


class LoopSetting(NamedTuple):
    """C, if printed, and the steps of the loop: outer steps, inner steps, step length."""

    C: float | None
    outer: int
    inner: int
    step: float


# Error by data set, individual loss and aggregate ("tab:aggregate_real_experiments").
# The spread of AoRR on Phoneme, logistic, is printed as "5(0.71)".
AGGREGATES: dict[str, dict[str, dict[str, Pair]]] = {
    "monk": {
        "logistic": {
            "maximum": (22.41, 2.95),
            "robust maximum": (21.69, 2.62),
            "average": (20.46, 2.02),
            "AT_k": (16.76, 2.29),
            "AoRR": (12.69, 2.34),
        },
        "hinge": {
            "maximum": (22.04, 3.08),
            "robust maximum": (20.61, 3.38),
            "average": (18.61, 3.16),
            "AT_k": (17.04, 2.77),
            "AoRR": (13.17, 2.13),
        },
    },
    "australian": {
        "logistic": {
            "maximum": (19.88, 6.64),
            "robust maximum": (17.65, 1.30),
            "average": (14.27, 3.22),
            "AT_k": (11.70, 2.82),
            "AoRR": (11.42, 1.01),
        },
        "hinge": {
            "maximum": (19.82, 6.56),
            "robust maximum": (15.88, 1.05),
            "average": (14.74, 3.10),
            "AT_k": (12.51, 4.03),
            "AoRR": (12.50, 1.55),
        },
    },
    "phoneme": {
        "logistic": {
            "maximum": (28.67, 0.58),
            "robust maximum": (26.71, 1.40),
            "average": (25.50, 0.88),
            "AT_k": (24.17, 0.89),
            "AoRR": (21.95, 0.71),
        },
        "hinge": {
            "maximum": (28.81, 0.62),
            "robust maximum": (24.21, 1.70),
            "average": (22.88, 1.01),
            "AT_k": (22.88, 1.01),
            "AoRR": (21.95, 0.68),
        },
    },
    "titanic": {
        "logistic": {
            "maximum": (26.50, 3.35),
            "robust maximum": (24.15, 3.12),
            "average": (22.77, 0.82),
            "AT_k": (22.44, 0.84),
            "AoRR": (21.69, 0.99),
        },
        "hinge": {
            "maximum": (25.45, 2.52),
            "robust maximum": (25.08, 1.20),
            "average": (22.82, 0.74),
            "AT_k": (22.02, 0.77),
            "AoRR": (21.63, 1.05),
        },
    },
    "splice": {
        "logistic": {
            "maximum": (23.57, 1.93),
            "robust maximum": (23.48, 0.76),
            "average": (17.25, 0.93),
            "AT_k": (16.12, 0.97),
            "AoRR": (15.59, 0.90),
        },
        "hinge": {
            "maximum": (23.40, 2.10),
            "robust maximum": (22.82, 2.63),
            "average": (16.25, 1.12),
            "AT_k": (16.23, 0.97),
            "AoRR": (15.64, 0.89),
        },
    },
}

# Settings of AoRR ("tab:aggregate_real_datasets_logistic_settings" and "..._hinge_settings").
AGGREGATE_SETTINGS: dict[str, dict[str, AggregateSetting]] = {
    "monk": {
        "logistic": AggregateSetting(k=70, m=20, C=1e4, outer=5, inner=2000, step=0.01),
        "hinge": AggregateSetting(k=70, m=45, C=1e4, outer=5, inner=1000, step=0.01),
    },
    "australian": {
        "logistic": AggregateSetting(k=80, m=3, C=1e4, outer=10, inner=1000, step=0.01),
        "hinge": AggregateSetting(k=80, m=3, C=1e4, outer=5, inner=1000, step=0.01),
    },
    "phoneme": {
        "logistic": AggregateSetting(k=1400, m=100, C=1e4, outer=10, inner=1000, step=0.01),
        "hinge": AggregateSetting(k=1400, m=410, C=1e4, outer=10, inner=500, step=0.01),
    },
    "titanic": {
        "logistic": AggregateSetting(k=500, m=10, C=1e4, outer=10, inner=1000, step=0.01),
        "hinge": AggregateSetting(k=500, m=10, C=1e4, outer=5, inner=500, step=0.01),
    },
    "splice": {
        "logistic": AggregateSetting(k=450, m=50, C=1e4, outer=10, inner=1000, step=0.01),
        "hinge": AggregateSetting(k=450, m=50, C=1e4, outer=10, inner=1000, step=0.01),
    },
}

# Top-k multi-label accuracy, k = 1 to 5 ("tab:multilabel_experiments").
MULTILABEL: dict[str, dict[str, Printed]] = {
    "emotions": {
        "LR": ((73.54, 3.98), (57.48, 3.35), (73.20, 4.69), (86.60, 3.02), (96.46, 1.71)),
        "LSEP": ((72.18, 4.56), (55.85, 3.37), (72.18, 3.74), (85.58, 2.92), (95.85, 1.07)),
        "tkml": ((76.80, 2.66), (62.11, 2.85), (77.62, 2.81), (90.14, 2.22), (96.94, 0.63)),
    },
    "scene": {
        "LR": ((73.20, 0.57), (85.31, 0.47), (94.79, 0.79), (97.88, 0.63), (99.70, 0.30)),
        "LSEP": ((69.22, 3.43), (83.83, 4.83), (92.46, 4.78), (96.35, 3.50), (98.56, 1.94)),
        "tkml": ((74.06, 0.45), (85.36, 0.79), (88.92, 1.47), (91.94, 0.87), (95.01, 0.61)),
    },
    "yeast": {
        "LR": ((77.57, 0.91), (70.59, 1.16), (52.65, 1.23), (43.26, 1.16), (43.49, 1.33)),
        "LSEP": ((75.50, 1.03), (66.84, 2.90), (49.72, 1.26), (41.90, 1.91), (43.01, 1.02)),
        "tkml": ((76.94, 0.49), (67.19, 2.79), (45.41, 0.71), (43.47, 1.06), (44.69, 1.14)),
    },
}

# Settings of TKML ("tab:multi_label_settings").
MULTILABEL_SETTINGS: dict[str, LoopSetting] = {
    "emotions": LoopSetting(1e4, 20, 1000, 0.1),
    "scene": LoopSetting(1e4, 20, 1000, 0.1),
    "yeast": LoopSetting(1e4, 20, 1000, 0.1),
}

# Average precision ("tab:ap_results"). The paper does not say for which k.
AVERAGE_PRECISION: dict[str, dict[str, float]] = {
    "emotions": {"LR": 74.85, "LSEP": 82.66, "tkml": 84.82},
    "scene": {"LR": 71.60, "LSEP": 85.43, "tkml": 86.38},
    "yeast": {"LR": 73.56, "LSEP": 74.26, "tkml": 74.32},
}

# MNIST, top-1 to top-5 accuracy by the per cent of flipped labels ("tab:MSVM_real_experiments").
MNIST: dict[int, dict[str, Printed]] = {
    20: {
        "top-k SVM": ((78.33, 0.18), (90.66, 0.29), (95.12, 0.20), (97.28, 0.09), (98.49, 0.10)),
        "tkml": ((83.06, 0.94), (94.17, 0.19), (97.24, 0.13), (98.47, 0.05), (99.22, 0.01)),
    },
    30: {
        "top-k SVM": ((74.65, 0.17), (89.31, 0.24), (94.14, 0.20), (96.73, 0.23), (98.19, 0.07)),
        "tkml": ((80.13, 1.24), (93.37, 0.10), (96.81, 0.22), (98.21, 0.05), (99.08, 0.05)),
    },
    40: {
        "top-k SVM": ((68.32, 0.32), (86.71, 0.42), (93.14, 0.49), (96.16, 0.32), (97.84, 0.18)),
        "tkml": ((75.00, 1.15), (92.41, 0.14), (96.20, 0.13), (97.95, 0.10), (98.89, 0.04)),
    },
}

# Settings of TKML by the per cent of flipped labels ("tab:multi_class_settings"). C is not printed.
MNIST_SETTINGS: dict[int, LoopSetting] = {
    20: LoopSetting(None, 27, 2000, 0.1),
    30: LoopSetting(None, 25, 2000, 0.1),
    40: LoopSetting(None, 21, 2000, 0.1),
}

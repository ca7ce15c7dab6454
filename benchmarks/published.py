"""What the paper prints, in per cent: S. Hu, Y. Ying, X. Wang, S. Lyu, NeurIPS 2020.

Pairs are a mean and a standard deviation, of 10 random splits (5 random runs on MNIST).
"""

from __future__ import annotations

__all__ = ["AVERAGE_PRECISION", "MNIST", "MULTILABEL"]

Printed = tuple[tuple[float, float], ...]

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

# Average precision ("tab:ap_results"); of which k is not said.
AVERAGE_PRECISION: dict[str, dict[str, float]] = {
    "emotions": {"LR": 74.85, "LSEP": 82.66, "tkml": 84.82},
    "scene": {"LR": 71.60, "LSEP": 85.43, "tkml": 86.38},
    "yeast": {"LR": 73.56, "LSEP": 74.26, "tkml": 74.32},
}

# MNIST, top-1 to top-5 accuracy by the per cent of labels flipped ("tab:MSVM_real_experiments").
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

import pytest

from sorr.experiments import published

LOSSES = ("logistic", "hinge")
MODELS = ("maximum", "robust maximum", "average", "AT_k", "AoRR")


def test_the_printed_tables_are_complete():
    assert list(published.AGGREGATES) == ["monk", "australian", "phoneme", "titanic", "splice"]
    for by_loss in published.AGGREGATES.values():
        assert tuple(by_loss) == LOSSES
        assert all(tuple(by_model) == MODELS for by_model in by_loss.values())
    assert list(published.MULTILABEL) == ["emotions", "scene", "yeast"]
    for by_model in published.MULTILABEL.values():
        assert list(by_model) == ["LR", "LSEP", "tkml"]
        assert all(len(pairs) == 5 for pairs in by_model.values())
    assert list(published.MNIST) == [20, 30, 40]
    for by_model in published.MNIST.values():
        assert list(by_model) == ["top-k SVM", "tkml"]
        assert all(len(pairs) == 5 for pairs in by_model.values())


@pytest.mark.parametrize(
    ("dataset", "loss", "model", "printed"),
    [
        ("monk", "logistic", "AoRR", (12.69, 2.34)),
        ("monk", "hinge", "robust maximum", (20.61, 3.38)),
        ("australian", "logistic", "AT_k", (11.70, 2.82)),
        ("phoneme", "logistic", "AoRR", (21.95, 0.71)),
        ("titanic", "hinge", "average", (22.82, 0.74)),
        ("splice", "logistic", "robust maximum", (23.48, 0.76)),
        ("splice", "hinge", "maximum", (23.40, 2.10)),
    ],
)
def test_cells_of_table_1_are_as_printed(dataset, loss, model, printed):
    assert published.AGGREGATES[dataset][loss][model] == printed


def test_cells_of_the_other_tables_are_as_printed():
    assert published.MULTILABEL["emotions"]["tkml"][0] == (76.80, 2.66)
    assert published.MULTILABEL["yeast"]["LSEP"][1] == (66.84, 2.90)
    assert published.AVERAGE_PRECISION["scene"] == {"LR": 71.60, "LSEP": 85.43, "tkml": 86.38}
    assert published.MNIST[40]["tkml"][0] == (75.00, 1.15)


def test_in_table_1_the_paper_has_its_own_loss_below_all_others():
    for by_loss in published.AGGREGATES.values():
        for by_model in by_loss.values():
            assert min(by_model.values()) == by_model["AoRR"]


def test_settings_are_as_printed():
    settings = published.AGGREGATE_SETTINGS
    assert settings["monk"]["logistic"] == (70, 20, 1e4, 5, 2000, 0.01)
    assert settings["phoneme"]["hinge"] == (1400, 410, 1e4, 10, 500, 0.01)
    assert settings["titanic"]["hinge"] == (500, 10, 1e4, 5, 500, 0.01)
    assert published.MULTILABEL_SETTINGS["yeast"] == (1e4, 20, 1000, 0.1)
    assert published.MNIST_SETTINGS[40] == (None, 21, 2000, 0.1)


def test_every_setting_belongs_to_a_printed_cell():
    for data, by_loss in published.AGGREGATES.items():
        assert published.AGGREGATE_SETTINGS[data].keys() == by_loss.keys()
    assert published.MULTILABEL_SETTINGS.keys() == published.MULTILABEL.keys()
    assert published.MNIST_SETTINGS.keys() == published.MNIST.keys()

import pytest

from sorr.losses import LOSSES, Hinge, Huber, TopKSVM, get_loss
from tests.losses.problems import ALL

NAMES = [
    "logistic",
    "hinge",
    "smooth_hinge",
    "squared_hinge",
    "modified_huber",
    "squared",
    "absolute",
    "smooth_absolute",
    "huber",
    "softmax",
    "multiclass_hinge",
    "tkml",
    "topk_subset",
    "multilabel_hinge",
    "lsep",
    "lsep_sigmoid",
    "topk_svm",
]


def test_the_names_are_these_and_the_test_registry_has_them_all():
    assert sorted(LOSSES) == sorted(NAMES)
    assert {loss.name for loss in ALL} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_finds_the_loss_with_that_name(name):
    loss = get_loss(name)
    assert loss.name == name
    assert type(loss) is LOSSES[name]


def test_parameters_go_with_the_name():
    assert get_loss("huber", delta=2.0) == Huber(2.0)
    assert get_loss("topk_svm", k=3) == TopKSVM(k=3)


def test_a_loss_object_passes_through():
    loss = Huber(0.7)
    assert get_loss(loss) is loss


def test_parameters_beside_a_loss_object_are_refused():
    with pytest.raises(TypeError, match=r"delta given with the loss object Huber\(delta=1.35\)"):
        get_loss(Huber(), delta=2.0)


def test_a_misspelt_name_is_answered_with_close_ones_only():
    with pytest.raises(ValueError, match=r"loss='logistc' .*; did you mean 'logistic'") as info:
        get_loss("logistc")
    assert "huber" not in str(info.value)


def test_a_name_like_no_other_is_answered_with_all():
    with pytest.raises(ValueError, match="needed one of ") as caught:
        get_loss("zzz")
    for name in NAMES:
        assert name in str(caught.value)


def test_a_wrong_parameter_is_answered_with_the_right_ones():
    with pytest.raises(TypeError, match="huber has no parameter gamma; it accepts delta"):
        get_loss("huber", gamma=1)
    with pytest.raises(TypeError, match="hinge has no parameter k; it accepts none"):
        get_loss("hinge", k=1)


@pytest.mark.parametrize("loss", [Hinge, None, 3])
def test_neither_a_name_nor_a_loss_object_is_refused(loss):
    with pytest.raises(TypeError, match="needed a name such as 'logistic'"):
        get_loss(loss)

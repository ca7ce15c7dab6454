"""Errors that leave no trace, and errors behind a prefix."""

import pytest

from sorr.estimators import rollback_on_error
from sorr.estimators.base import prefix_errors


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_gives_an_object_its_old_attributes_back(error):
    class Model:
        def fit(self):
            with rollback_on_error(self):
                self.changed, self.new = 4, 5
                del self.deleted
                raise error

    model = Model()
    model.kept, model.changed, model.deleted = 1, 2, 3
    with pytest.raises(error):
        model.fit()
    assert vars(model) == {"kept": 1, "changed": 2, "deleted": 3}


def test_an_error_keeps_its_class_behind_a_prefix():
    with pytest.raises(TypeError, match=r"^m_samples: m is a list"), prefix_errors("m_samples"):
        raise TypeError("m is a list")

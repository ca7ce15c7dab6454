import pytest

from sorr.share import models, two_models
from sorr.share.held_out import TableRows


@pytest.fixture(scope="package", autouse=True)
def _forests_are_small():
    """Let forests have fewer trees: here it does not matter how well they judge."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TableRows.__init__.__kwdefaults__, "trees", 80)
        patch.setitem(models.make_single.__kwdefaults__, "trees", 80)
        patch.setattr(two_models, "TREES", 80)
        yield

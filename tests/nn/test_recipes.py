"""What the page on networks shows for libraries that train: the same set, found by each."""

from functools import partial

import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="sorr.nn needs PyTorch")

from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from sorr.nn import RankedRangeLoss, RankTracker  # noqa: E402
from tests.nn.training import blobs  # noqa: E402

EPOCHS = 8


def assert_finds(tracker, wrong):
    assert tracker.dropped[wrong].float().mean() > 0.9
    assert tracker.dropped[~wrong].float().mean() < 0.05
    assert tracker.judge().flagged_[wrong].mean() > 0.8


def test_a_plain_loop():
    x, y, wrong = blobs(1500, wrong=0.4)
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    loader = DataLoader(TensorDataset(torch.arange(len(x)), x, y), batch_size=50, shuffle=True)
    tracker = RankTracker(len(x), n_classes=3)
    criterion = RankedRangeLoss(tracker=tracker)
    for _ in range(EPOCHS):
        for index, inputs, labels in loader:
            loss = criterion(model(inputs), labels, index=index)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tracker.step()
    assert_finds(tracker, wrong)


@pytest.mark.filterwarnings("ignore")  # of skorch about versions of scikit-learn
def test_skorch():
    skorch = pytest.importorskip("skorch", reason="the recipe for skorch needs it")
    from skorch.callbacks import Callback

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x, index):  # noqa: ARG002, the index is for the criterion
            return self.linear(x)

    class Criterion(RankedRangeLoss):
        def __init__(self, n_rows, n_classes):
            super().__init__(tracker=RankTracker(n_rows, n_classes))

    class Tracked(skorch.NeuralNetClassifier):
        def get_loss(self, y_pred, y_true, X, training=False):
            index = X["index"] if training else None
            return self.criterion_(y_pred, y_true, index=index)

    class Step(Callback):
        def on_epoch_end(self, net, **_):
            net.criterion_.tracker.step()

    x, y, wrong = blobs(1500, wrong=0.4)
    torch.manual_seed(0)
    net = Tracked(
        Model,
        criterion=Criterion,
        criterion__n_rows=len(x),
        criterion__n_classes=3,
        predict_nonlinearity=partial(torch.softmax, dim=1),
        optimizer=torch.optim.Adam,
        lr=0.05,
        batch_size=50,
        iterator_train__shuffle=True,
        max_epochs=EPOCHS,
        train_split=None,  # every row is judged
        callbacks=[Step()],
        verbose=0,
    )
    rows = {"x": x, "index": torch.arange(len(x))}
    first = net.fit(rows, y).criterion_.tracker
    assert_finds(first, wrong)
    assert net.fit(rows, y).criterion_.tracker is not first  # a new fit begins anew
    assert net.criterion_.tracker.epoch == EPOCHS
    assert_allclose(net.predict_proba(rows).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")  # of skorch about versions of scikit-learn
def test_skorch_with_ranks_of_each_batch():
    skorch = pytest.importorskip("skorch", reason="the recipe for skorch needs it")
    x, y, _ = blobs(600)
    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(
        torch.nn.Linear,
        module__in_features=3,
        module__out_features=3,
        criterion=RankedRangeLoss,
        criterion__m=0.1,
        max_epochs=EPOCHS,
        optimizer=torch.optim.Adam,
        lr=0.05,
        verbose=0,
    )
    assert net.fit(x, y).score(x, y) > 0.9


@pytest.mark.filterwarnings("ignore")  # of Lightning about loggers and workers
def test_lightning(tmp_path):
    lightning = pytest.importorskip("lightning", reason="the recipe for Lightning needs it")

    class Model(lightning.LightningModule):
        def __init__(self, n_rows):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)
            self.criterion = RankedRangeLoss(tracker=RankTracker(n_rows, n_classes=3))

        def training_step(self, batch, _):
            index, inputs, labels = batch
            return self.criterion(self.linear(inputs), labels, index=index)

        def on_train_epoch_end(self):
            self.criterion.tracker.step()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 0.05)

    x, y, wrong = blobs(1500, wrong=0.4)
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(torch.arange(len(x)), x, y), batch_size=50, shuffle=True)

    def fit(model, epochs, checkpoint=None):
        trainer = lightning.Trainer(
            max_epochs=epochs,
            accelerator="cpu",
            devices=1,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=tmp_path,
        )
        trainer.fit(model, loader, ckpt_path=checkpoint)
        return trainer

    first = Model(len(x))
    fit(first, 4).save_checkpoint(tmp_path / "model.ckpt")
    model = Model(len(x))
    fit(model, EPOCHS, tmp_path / "model.ckpt")
    assert model.criterion.tracker.epoch == EPOCHS
    assert_finds(model.criterion.tracker, wrong)


class Rows(Dataset):
    """Rows as dictionaries, each with its number."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, row):
        return {"inputs": self.x[row], "labels": self.y[row], "index": row}


class Trainer:
    """The part of a trainer of Hugging Face that calls `compute_loss` and the callbacks."""

    def __init__(self, model, rows, others, callback):
        self.model, self.callback = model, callback
        self.loader = DataLoader(rows, batch_size=50, shuffle=True)
        self.others = DataLoader(others, batch_size=50)
        self.optimizer = torch.optim.Adam(model.parameters(), 0.05)

    def train(self, epochs):
        for _ in range(epochs):
            self.model.train()
            for inputs in self.loader:
                loss = self.compute_loss(self.model, inputs)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.callback()
            self.model.eval()
            for inputs in self.others:
                self.compute_loss(self.model, inputs, return_outputs=True)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, inputs):
        return {"logits": self.linear(inputs)}


def test_compute_loss_as_of_hugging_face():
    x, y, wrong = blobs(1500, wrong=0.4)
    torch.manual_seed(0)
    criterion = RankedRangeLoss(tracker=RankTracker(len(x), n_classes=3))

    class TrackedTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):  # noqa: ARG002
            labels, index = inputs.pop("labels"), inputs.pop("index")
            outputs = model(**inputs)
            criterion.train(model.training)
            loss = criterion(outputs["logits"], labels, index=index)
            return (loss, outputs) if return_outputs else loss

    others = Rows(*blobs(300, seed=1)[:2])
    TrackedTrainer(Encoder(), Rows(x, y), others, criterion.tracker.step).train(EPOCHS)
    assert_finds(criterion.tracker, wrong)
    assert criterion.tracker.labels.equal(y)  # those of the evaluation are not recorded

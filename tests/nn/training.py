"""A small training set with wrong labels, and the loop that everybody writes."""

import torch

from sorr.nn import RankedRangeLoss, RankTracker


def blobs(n=600, n_classes=3, wrong=0.0, seed=0):
    """Rows of three classes; a share of the labels of class 0 says 1."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.arange(n) % n_classes
    centres = 4 * torch.eye(n_classes)
    x = centres[truth] + torch.randn(n, n_classes, generator=generator)
    flipped = (truth == 0) & (torch.rand(n, generator=generator) < wrong)
    return x, torch.where(flipped, 1, truth), flipped


class Run:
    """A training run that can be saved and resumed at any batch."""

    def __init__(self, x, y, *, m="auto", seed=0, batch=50, **options):
        torch.manual_seed(seed)
        self.x, self.y, self.batch = x, y, batch
        self.model = torch.nn.Linear(x.shape[1], 3)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 0.05)
        self.tracker = RankTracker(len(x), 3, m=m, **options)
        self.criterion = RankedRangeLoss(tracker=self.tracker)

    def order(self, epoch):
        generator = torch.Generator().manual_seed(epoch)
        return torch.randperm(len(self.x), generator=generator).split(self.batch)

    def train_batch(self, index):
        loss = self.criterion(self.model(self.x[index]), self.y[index], index=index)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def train(self, epochs, first=0):
        for epoch in range(first, epochs):
            for index in self.order(epoch):
                self.train_batch(index)
            self.tracker.step()
        return self

    def save(self, path):
        parts = (self.model, self.optimizer, self.criterion)
        torch.save([part.state_dict() for part in parts], path)

    def load(self, path):
        states = torch.load(path, weights_only=True)
        for part, state in zip((self.model, self.optimizer, self.criterion), states, strict=True):
            part.load_state_dict(state)

"""Tests of loaders see no network, no cache of the user, and real files only where they ask."""

import pytest

from sorr.datasets import sources


class Network:
    """Addresses with their contents, and a list of those that were asked for."""

    def __init__(self):
        self.contents = {}
        self.asked = []

    def get(self, url):
        self.asked.append(url)
        if url not in self.contents:
            raise OSError("no such address")
        return self.contents[url]


@pytest.fixture(autouse=True)
def network(monkeypatch):
    made_up = Network()
    monkeypatch.setattr(sources, "download_content", made_up.get)
    return made_up


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("SORR_CACHE", str(folder))
    monkeypatch.delenv("SORR_DATA", raising=False)
    return folder

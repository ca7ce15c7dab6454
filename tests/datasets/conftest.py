"""Tests of loaders see no network, no cache of the user, and real files only where they ask."""

import os
from pathlib import Path

import pytest

from sorr.datasets import fetch

REAL = os.environ.get("SORR_DATA")


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
    monkeypatch.setattr(fetch, "download_content", made_up.get)
    return made_up


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("SORR_CACHE", str(folder))
    monkeypatch.delenv("SORR_DATA", raising=False)
    return folder


@pytest.fixture
def real_files():
    if not REAL or not Path(REAL).is_dir():
        pytest.skip("the environment variable SORR_DATA names no folder of data sets")
    return Path(REAL)

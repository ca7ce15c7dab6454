"""The catalogue agrees with itself, and with the files where they are at hand."""

import gzip
import re

import numpy as np
import pytest

from sorr.datasets.catalogue import IMAGES, TABLES
from sorr.datasets.files import find_file, read_csv, read_file, read_idx

PARTS = [part for images in IMAGES.values() for part in (*images.train, *images.test)]
STORED = [name for name in TABLES if name not in ("monk", "titanic")]


def test_no_two_files_have_a_name_or_a_checksum_in_common():
    parts = [*PARTS, *(table.part for table in TABLES.values())]
    assert len({part.file for part in parts}) == len(parts)
    assert len({part.sha256 for part in parts}) == len(parts)
    assert all(re.fullmatch("[0-9a-f]{64}", part.sha256) for part in parts)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_names_for_all_columns_and_a_text_with_its_size(name):
    table = TABLES[name]
    assert table.part.shape[1] == len({*table.features, *table.labels})
    assert len(table.target_names) == (2 if table.n_labels == 1 else table.n_labels)
    assert str(table.rows) in table.text
    assert table.text.endswith(".\n")


@pytest.mark.parametrize("name", STORED)
def test_a_table_is_the_file(name, data_folder):
    table = TABLES[name]
    path = find_file(table.part, data_folder)
    if path is None:
        pytest.skip(f"{table.file} is not there")
    assert np.isfinite(read_file(path, table.part, read_csv)).all()
    content = path.read_bytes()
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    assert lines[0].decode() == ",".join([*table.features, *table.labels])


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.file)
def test_images_and_classes_are_those_of_the_files(part, data_folder):
    path = find_file(part, data_folder)
    if path is None:
        pytest.skip(f"{part.file} is not there")
    assert read_file(path, part, read_idx).dtype == np.uint8

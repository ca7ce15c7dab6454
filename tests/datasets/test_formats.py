"""Formats: samples written by hand as the official files are written."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sorr.datasets.formats import (
    read_arff,
    read_csv,
    read_idx,
    read_keel,
    read_libsvm,
    read_rows,
    read_sequences,
    write_csv,
)

ARFF = b"""\
% a comment
@relation 'music: -C 2'

@attribute Mean_Acc numeric
@attribute amazed-suprised {0,1}
@ATTRIBUTE 'a name' REAL
@attribute happy {FALSE, TRUE}

@DATA
0.25,1,-3e-2,FALSE
% another one
0.5,0,4,TRUE
"""

KEEL = b"""\
@relation phoneme
@attribute Aa real [-1.7, 4.107]
@attribute Class {0, 1}
@inputs Aa
@outputs Class
@data
1.24, 0
0.268, 1
"""

SPLICE = b"""\
EI,   ATRINS-DONOR-521,               AGCT
IE,            HUMX-ACCEPTOR-1,       TTTT
N,              HUMX-NEG-1,           NGCT
N,              HUMX-NEG-2,           CCGA
"""


def idx(array, kind=8):
    header = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def test_arff_gives_numbers_first_and_labels_last():
    expected = [[0.25, -0.03, 1, 0], [0.5, 4, 0, 1]]
    np.testing.assert_array_equal(read_arff(ARFF), expected)
    np.testing.assert_array_equal(read_arff(ARFF.replace(b"\n", b"\r\n")), expected)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"@DATA", b"", "no line @data"),
        (b"0.25,1,-3e-2,FALSE", b"{0 0.25, 1 1}", "sparse"),
        (b"@ATTRIBUTE 'a name' REAL\n", b"", "4 columns and 3 attributes"),
        (b"0.25,", b"?,", "could not convert"),
    ],
)
def test_arff_that_is_not_as_expected_is_refused(old, new, message):
    with pytest.raises(ValueError, match=message):
        read_arff(ARFF.replace(old, new))


def test_keel_keeps_the_order_of_columns():
    np.testing.assert_array_equal(read_keel(KEEL), [[1.24, 0], [0.268, 1]])


def test_a_file_without_rows_is_refused():
    with pytest.raises(ValueError, match="no rows"):
        read_keel(KEEL[: KEEL.index(b"1.24")])


def test_rows_are_parted_by_white_space_or_by_commas():
    expected = [[1, 22.08, 0], [0, 7, 1]]
    np.testing.assert_array_equal(read_rows(b"1 22.08 0\n0 7 1\n"), expected)
    np.testing.assert_array_equal(read_rows(b"1,22.08, 0\n0,7,1", delimiter=","), expected)


def test_libsvm_fills_in_the_zeros():
    content = b"+1 1:1.000000 3:11.460000 \n-1 2:22.08\n\n"
    np.testing.assert_array_equal(
        read_libsvm(content, n_features=3), [[1, 0, 11.46, 1], [0, 22.08, 0, -1]]
    )


@pytest.mark.parametrize("number", [0, 4])
def test_libsvm_with_another_number_of_features_is_refused(number):
    with pytest.raises(ValueError, match=f"feature {number}; needed 1 to 3"):
        read_libsvm(b"+1 %d:1.0" % number, n_features=3)


def test_sequences_are_coded_and_ambiguous_ones_left_out():
    expected = [[1, 2, 3, 4, -1], [4, 4, 4, 4, -1], [3, 3, 2, 1, 1]]
    np.testing.assert_array_equal(read_sequences(SPLICE), expected)


def test_sequences_of_an_unknown_class_are_refused():
    with pytest.raises(ValueError, match="class 'XX'; needed N, EI or IE"):
        read_sequences(SPLICE.replace(b"EI", b"XX"))


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_idx_gives_the_array_that_was_written(shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    np.testing.assert_array_equal(read_idx(idx(array)), array)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\x08",
        b"\0\0\x08\x03\0\0",
        b"<html>not found</html>",
        idx(np.zeros(4, dtype=np.uint8))[:-1],
        idx(np.zeros(4, dtype=np.uint8)) + b"\0",
        idx(np.zeros(4, dtype=np.float32), kind=13),
        gzip.compress(idx(np.zeros(4, dtype=np.uint8)), mtime=0),
    ],
)
def test_idx_that_is_cut_or_of_another_kind_is_refused(content):
    with pytest.raises(ValueError, match=r".+"):
        read_idx(content)


@given(arrays(np.float64, (3, 2), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_our_own_format_keeps_every_bit(table):
    content = write_csv(("f1", "y"), table)
    assert content.startswith(b"f1,y\n")
    assert read_csv(content).tobytes() == table.tobytes()


def test_whole_numbers_are_written_as_such():
    assert write_csv(("a", "y"), np.array([[22.08, 1.0], [7.0, -1.0]])) == b"a,y\n22.08,1\n7,-1\n"

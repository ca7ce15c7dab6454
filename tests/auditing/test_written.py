import pytest

pytest.importorskip("pandas", reason="tables are an extra")

import datetime as dt
import math

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from sorr.auditing.written import (
    Counted,
    as_dates,
    as_numbers,
    as_texts,
    find_date_formats,
    find_numbers,
    format_in_words,
    is_ambiguous,
    kind_of_values,
)


def counted(texts):
    return Counted(list(texts), np.ones(len(texts)))


def numbers(texts, separator=None):
    found = find_numbers(counted(texts), separator)
    return None if found is None else found.values.tolist()


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["$1,234", "$12", "-$5", "$1,000.50"], [1234, 12, -5, 1000.5]),
        (["US$ 3", "US$ 4"], [3, 4]),
        (["USD 12", "USD 1,300"], [12, 1300]),
        (["12,50 €", "3 €"], [12.5, 3]),
        (["12 %", "4.5%"], [12, 4.5]),
        (["70.5 kg", "1,200 kg", "80"], [70.5, 1200, 80]),
        (["50 km/h", "22.5 km/h"], [50, 22.5]),
        (["22.5 kg/m2", "30 kg/m2"], [22.5, 30]),
        (["21.5 °C", "-3 °C"], [21.5, -3]),
        (["12 years", "1 year"], [12, 1]),
        (["1.234,5", "12,7"], [1234.5, 12.7]),
        (["1'234", "2'345.50"], [1234, 2345.5]),
        (["1 234", "12 345 678"], [1234, 12345678]),
        (["1\u00a0234,5", "7"], [1234.5, 7]),
        (["(12)", "15", "($3.50)", "$(4)"], [-12, 15, -3.5, -4]),
        (["1e3", "2.5E-4", ".5"], [1000, 0.00025, 0.5]),
        (["<5", ">=100", "~7", "65+", "1", "2", "3"], [5, 100, 7, 65, 1, 2, 3]),
        (["\u22125", "+3"], [-5, 3]),
        (["1.2k", "3M", "500"], [1200, 3e6, 500]),
        (["$5", "6 €"], [5, 6]),
        (["3.50-", "2"], [-3.5, 2]),
        (["$224.60/month", "$3/month"], [224.6, 3]),
        (["224.6*", "3"], [224.6, 3]),
        (["224.6 ± 22.5", "3 +/- 1"], [224.6, 3]),
        (["=224.6", "3"], [224.6, 3]),
    ],
)
def test_numbers_in_costume_are_numbers(texts, values):
    assert numbers(texts) == pytest.approx(values)


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "042"],
        ["192.168.0.1", "10.0.0.1"],
        ["1.2.3", "10.4.2"],
        ["555-1234", "555-9876"],
        ["1-5", "6-10"],
        ["1/2", "3/4"],
        ["1st", "2nd", "3rd"],
        ["1935-", "1940-", "1945-"],
        [*map(str, range(60)), "c60", "c61"],
        ["12A", "12B", "13C"],
        ["INV00012", "INV00013"],
        ["12345678901234567890"],
        ["70 kg", "150 lb"],
        ["5'11\"", "6'2\""],
        ["2024-01-31"],
        ["10:30"],
        ["yes", "no"],
        ["<=60", ">60"],
        ["(5", "6"],
        ["?", "-"],
    ],
)
def test_what_only_looks_like_numbers_is_none(texts):
    assert numbers(texts) is None


def test_a_comma_is_decimal_if_the_fields_are_separated_by_semicolons():
    assert numbers(["1,234", "5,678"], ";") == [1.234, 5.678]
    assert numbers(["1,234", "5,678"], ",") == [1234, 5678]
    assert numbers(["1,234", "5,67"], ",") == [1.234, 5.67], "one value settles it"
    assert numbers(["1.234", "5.678"], ";") == [1.234, 5.678], "there is no comma"
    assert numbers(["1,234", "567"], ";") == [1234, 567], "only thousands have a comma"
    assert numbers(["1,23", "567"], ";") == [1.23, 567]


def test_a_few_words_among_numbers_count_as_missing():
    texts = [str(i) for i in range(97)] + ["see note"]
    values = numbers(texts)
    assert values[:97] == list(range(97))
    assert math.isnan(values[97])
    assert numbers([*texts[:10], "see note"]) is None


def test_a_style_that_is_known_does_not_change_with_other_values():
    found = as_numbers(counted(["1,234", "7 kg", "7 lb", "7 t"]), ",", "kg").values
    np.testing.assert_array_equal(found, [1.234, 7, np.nan, np.nan])


@given(
    st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=1, max_size=20),
    st.sampled_from(["", "$", "€", "USD "]),
    st.sampled_from(["", " kg", "%", " km/h", " years"]),
    st.sampled_from([(",", "."), (".", ","), (" ", ","), ("'", ".")]),
)
def test_a_number_that_is_written_is_the_number_that_is_read(values, prefix, unit, style):
    mark, point = style
    rounded = [round(value, 2) + 0.0 for value in values]

    def write(value):
        text = f"{abs(value):,.2f}".replace(",", "_").replace(".", point).replace("_", mark)
        return f"{'-' if value < 0 else ''}{prefix}{text}{unit}"

    found = find_numbers(counted([write(value) for value in rounded]), None)
    np.testing.assert_allclose(found.values, rounded)
    assert found.money == ((prefix.strip(),) if prefix else ())


@pytest.mark.parametrize(
    ("texts", "days", "words"),
    [
        (["2024-01-31", "2023-12-01"], ["2024-01-31", "2023-12-01"], "year-month-day"),
        (["31/01/2024", "5/2/2024"], ["2024-01-31", "2024-02-05"], "day/month/year"),
        (["01/31/2024", "02/05/2024"], ["2024-01-31", "2024-02-05"], "month/day/year"),
        (["31.1.2024", "5.2.2024"], ["2024-01-31", "2024-02-05"], "day.month.year"),
        (["31-Jan-24", "05-Feb-24"], ["2024-01-31", "2024-02-05"], "day-month-year"),
        (["12 March 2018", "3 April 2019"], ["2018-03-12", "2019-04-03"], "day month year"),
        (["March 12, 2018", "April 3, 2019"], ["2018-03-12", "2019-04-03"], "month day, year"),
        (["31/12/68", "1/2/29"], ["1968-12-31", "2029-02-01"], "day/month/year"),
        (["2018 Mar", "2019 April"], ["2018-03-01", "2019-04-01"], None),
        (["Mar-2018", "Apr-2019"], ["2018-03-01", "2019-04-01"], "month-year"),
        (["2018-03", "2019-04"], ["2018-03-01", "2019-04-01"], None),
        (["1/31/2024 3:05 PM", "2/1/2024 11:00 AM"], ["2024-01-31T15:05", "2024-02-01T11"], None),
        (
            ["2024-01-31T10:00:00Z", "2024-02-01T11:30:00.25Z"],
            ["2024-01-31T10", "2024-02-01T11:30"],
            None,
        ),
        (
            ["31.01.2024 10:30:15", "01.02.2024 00:00:01"],
            ["2024-01-31T10:30:15", "2024-02-01T00:00:01"],
            None,
        ),
        (["2015-11-15 20:38:00 UTC"], ["2015-11-15T20:38:00"], "year-month-day"),
        (["10:30", "23:59"], ["1900-01-01T10:30", "1900-01-01T23:59"], "hour:minute"),
    ],
)
def test_dates_in_usual_formats_are_dates(texts, days, words):
    formats = find_date_formats(counted(texts))
    expected = np.array(days, dtype="datetime64[s]")
    np.testing.assert_array_equal(as_dates(texts, formats), expected)
    if words is not None:
        assert format_in_words(formats[0]) == words


@pytest.mark.parametrize(
    "texts", [["yes", "no"], ["1.2.3", "10.4.2"], ["12", "2018"], ["May", "June"], ["a-b-c"]]
)
def test_what_only_looks_like_dates_is_none(texts):
    formats = find_date_formats(counted(texts))
    assert not formats or np.isnat(as_dates(texts, formats)).all()


def test_a_column_may_mix_two_formats():
    texts = ["2024-01-31", "31.01.2024"]
    found = as_dates(texts, find_date_formats(counted(texts)))
    assert (found == np.datetime64("2024-01-31")).all()


def test_day_and_month_that_cannot_be_told_apart_are_noticed():
    one, other = counted(["01/02/2024", "03/05/2024"]), counted(["01/02/2024", "25/05/2024"])
    assert is_ambiguous(one, find_date_formats(one))
    assert not is_ambiguous(other, find_date_formats(other))
    iso = counted(["2024-01-02"])
    assert not is_ambiguous(iso, find_date_formats(iso))


@given(
    st.lists(
        st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2049, 12, 31)), min_size=1, max_size=20
    ),
    st.sampled_from(
        ["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%B %d, %Y", "%Y-%m-%d %H:%M:%S", "%d/%b/%Y"]
    ),
)
def test_a_date_that_is_written_is_the_date_that_is_read(dates, written):
    texts = [date.strftime(written) for date in dates]
    expected = [np.datetime64(dt.datetime.strptime(text, written), "s") for text in texts]
    formats = find_date_formats(counted(texts))
    np.testing.assert_array_equal(as_dates(texts, formats), expected)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3], "number"),
        ([1.5, None, 3], "number"),
        (np.array([1, 2.5, None], dtype=object), "number"),
        (pd.array([1, None], dtype="Int64"), "number"),
        ([True, False], "text"),
        (["a", None, "b"], "text"),
        (["1", "2"], "text"),
        (np.array([1, "a"], dtype=object), "text"),
        (pd.Categorical(["x", "y"]), "text"),
        (pd.to_datetime(["2024-01-31"]), "date"),
        (np.array([dt.date(2024, 1, 31), None], dtype=object), "date"),
        (pd.to_timedelta([1], unit="D"), "time span"),
        ([None, None], "text"),
    ],
)
def test_the_type_of_values_says_what_they_are(values, kind):
    assert kind_of_values(pd.Series(values)) == kind


def test_texts_of_values_are_as_people_write_them():
    values = [1.0, 2.5, "x", None, True, dt.datetime(2024, 1, 31), [1, 2]]
    for some in (values, values[:-1]):  # a list cannot be hashed
        found = as_texts(pd.Series(some, dtype=object)).tolist()
        assert math.isnan(found.pop(3))
        assert found == ["1", "2.5", "x", "True", "2024-01-31", "[1, 2]"][: len(found)]


def test_one_date_among_many_settles_day_and_month():
    texts = [f"{d:02}/{m:02}/{y}" for y in range(1990, 2020) for m in range(1, 13) for d in (3, 5)]
    assert is_ambiguous(counted(texts), find_date_formats(counted(texts)))
    for place in (0, 1, 100, 719):  # also beyond the sample that is tried first
        settled = [*texts[:place], "25/03/2024", *texts[place:]]
        assert find_date_formats(counted(settled)) == ["%d/%m/%Y"]

"""From raw columns to numbers: a scikit-learn pipeline, so that a model predicts from raw rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from sorr._typing import FloatArray
from sorr.auditing.columns import MOST_CATEGORIES, Column, Kind, parse_column, read_columns
from sorr.auditing.table import TableError, quote
from sorr.auditing.table.values import is_number
from sorr.auditing.written import (
    BETWEEN_FORMATS,
    MISSING_MARKS,
    READABLE,
    as_texts,
    format_in_words,
)
from sorr.objectives import centre_and_spread

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MISSING = "(missing)"
_SAMPLE = 20_000  # rows that medians, and groups of letters, are computed from
_MIN_ROWS = 5  # of a category; a model would learn the labels of fewer by heart
_MAX_SPREADS = 100.0  # from the centre: far enough to be seen, and not to spoil a fit
_NEEDED = {"number": "numbers", "date": "dates"}


class RawColumns(TransformerMixin, BaseEstimator):
    """The columns of a table as the model learned from them: numbers, dates and texts.

    Attributes
    ----------
    kinds_ : dict of str to str
        What each column that is learned from holds: "number", "date", "category" or "text".
    formats_ : dict of str to dict
        How its numbers or dates are written.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Find out what each column holds.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        del y
        return self.use(read_columns(X))

    def use(self, columns: Sequence[Column]) -> Self:
        """Take columns as they were read before; those that are not learned from are ignored."""
        used = [column for column in columns if column.is_learned_from]
        self.kinds_ = {column.name: str(column.kind) for column in used}
        self.formats_ = {column.name: dict(column.format) for column in used}
        self.feature_names_in_ = np.array(list(self.kinds_), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def of_kind(self, kind: Kind) -> list[str]:
        """Return the names of the columns of one kind."""
        return [name for name, found in self.kinds_.items() if found == kind]

    def transform(self, X: Any) -> DataFrame:
        """Return these columns of a table, which may have others.

        Parameters
        ----------
        X : DataFrame, or array of shape (n_samples, n_features) in the order of the fit

        Returns
        -------
        DataFrame
            Numbers as float64, dates as datetime64, others as text. Missing values are NaN, and so
            are infinite numbers. A few values that cannot be read are missing too, with a warning.
        """
        import pandas as pd

        check_is_fitted(self)
        if not isinstance(X, pd.DataFrame):
            X = self._as_frame(X)
        absent = [name for name in self.feature_names_in_ if name not in X.columns]
        if absent:
            raise TableError(
                f"{len(absent)} of the columns that the model learned from are missing: "
                f"{', '.join(map(quote, absent[:8]))}; needed all of them, with the same names"
            )
        columns = {name: self._read(X[name], name) for name in self.kinds_}
        return pd.DataFrame(columns, index=X.index, copy=False)

    def _read(self, column: Series[Any], name: str) -> npt.NDArray[Any]:
        """Return the values of a column, and refuse one that holds something else now."""
        kind: Any = self.kinds_[name]
        values = parse_column(column, kind, self.formats_[name])
        if kind not in _NEEDED or column.dtype.kind in "fiuM":
            return values
        given = column.notna().to_numpy()
        unread = np.flatnonzero(given & (values != values))
        texts = [str(column.iloc[i]).strip() for i in unread]
        wrong = [
            text for text in texts if text.casefold() not in MISSING_MARKS and not is_number(text)
        ]
        if len(wrong) > (1 - READABLE) * given.sum():
            raise TableError(
                f"column {quote(name)} holds {quote(wrong[0])}, which is not a {kind}; needed "
                f"{_NEEDED[kind]}{self._manner(name)}, as in the rows that the model learned from"
            )
        if wrong:
            warnings.warn(
                f"column {quote(name)} holds {quote(wrong[0])}, which is not a {kind}: "
                f"{len(wrong):,} such value{'s count' if len(wrong) > 1 else ' counts'} as missing",
                stacklevel=3,
            )
        return values

    def _manner(self, name: str) -> str:
        """Return how the numbers or dates of a column are written, as far as that is special."""
        written = self.formats_[name]
        if formats := written.get("dates"):
            return f" ({' or '.join(map(format_in_words, formats.split(BETWEEN_FORMATS)))})"
        return f" in {written['unit']}" if written.get("unit") else ""

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        del input_features
        check_is_fitted(self)
        return self.feature_names_in_.copy()

    def _as_frame(self, X: Any) -> DataFrame:
        import pandas as pd

        if hasattr(X, "to_pandas"):
            return X.to_pandas()
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != self.n_features_in_:
            raise TableError(
                f"given an array of shape {values.shape}; needed {self.n_features_in_} columns, "
                "or a frame with names"
            )
        return pd.DataFrame(values, columns=list(self.feature_names_in_))


class TypicalScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Centre columns by the median, and scale them by a spread that outliers do not change.

    The spread is 1.4826 MAD, or a wider quantile of the deviations if that is larger, or the
    standard deviation if both are zero. Values are clipped at a hundred spreads, so that a single
    huge value cannot dominate a fit.

    Attributes
    ----------
    centre_, scale_ : ndarray of shape (n_features,)
    """

    def fit(self, X: Any, y: Any = None) -> TypicalScaler:
        """Find the centre and the spread of each column.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        del y
        X = validate_data(self, X, dtype=np.float64)
        step = -(-len(X) // _SAMPLE)  # evenly spaced rows: nothing random
        self.centre_, spread = centre_and_spread(X[::step])
        self.scale_ = np.where(np.isfinite(spread), spread, 1.0)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the columns scaled.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scaled = (X - self.centre_) / self.scale_
        return np.asarray(np.clip(scaled, -_MAX_SPREADS, _MAX_SPREADS, out=scaled))


class DateParts(TransformerMixin, BaseEstimator):
    """Make numbers of dates: year, month, weekday, hour and days since 1970, as far as they vary.

    Attributes
    ----------
    parts_ : dict of str to list of str
        The parts of each column.
    """

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Find out which parts of the dates vary.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        del y
        self.parts_ = {str(name): _varying_parts(X[name]) for name in X.columns}
        return self

    def transform(self, X: DataFrame) -> FloatArray:
        """Return the parts of the dates, NaN where a date is missing.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_parts)
        """
        check_is_fitted(self)
        columns = []
        for name, parts in self.parts_.items():
            found = _date_parts(X[name])
            columns += [found[part] for part in parts]
        return np.column_stack(columns)


def _date_parts(column: Series[Any]) -> dict[str, FloatArray]:
    """Return the numbers that dates are made of, and whether they are missing."""
    dates = column.to_numpy().astype("datetime64[s]")
    is_missing = np.isnat(dates)
    seconds = np.where(is_missing, 0, dates.astype(np.int64)).astype(np.float64)
    days = np.floor(seconds / 86400)
    months = dates.astype("datetime64[M]").astype(np.int64)
    found = {
        "year": np.floor(months / 12) + 1970,
        "month": months % 12 + 1.0,
        "weekday": (days + 3) % 7 + 1,  # Monday is 1, and the first day of 1970 was a Thursday
        "hour": seconds % 86400 / 3600,
        "days": days if (seconds % 86400 == 0).all() else seconds / 86400,
    }
    return {part: np.where(is_missing, np.nan, values) for part, values in found.items()} | {
        MISSING: is_missing.astype(np.float64)
    }


def _varying_parts(column: Series[Any]) -> list[str]:
    found = _date_parts(column)
    vary = [part for part, values in found.items() if np.nanmin(values) < np.nanmax(values)]
    if np.nanmin(found["days"] // 1) == np.nanmax(found["days"] // 1) and "hour" in vary:
        vary.remove("days")  # times of day
    return vary or ["days"]


class TextEncoder(TransformerMixin, BaseEstimator):
    """Make numbers of texts: texts that share groups of three and four letters are near.

    As in latent semantic analysis: how often each group of letters occurs, those that are in many
    texts counting less (tf-idf), reduced to the directions in which texts differ most. Each column
    has a total variance of one, as a number has after scaling.

    Parameters
    ----------
    n_components : int, default=30
        How many numbers a text gets.
    max_groups : int, default=10_000
        How many groups of letters count, the most frequent ones.

    Attributes
    ----------
    groups_, weights_, components_ : dict of str to ndarray
        The groups of letters of each column, how much each counts, and the directions.
    """

    def __init__(self, n_components: int = 30, max_groups: int = 10_000) -> None:
        self.n_components = n_components
        self.max_groups = max_groups

    def fit(self, X: DataFrame, y: Any = None) -> Self:
        """Find the groups of letters and the directions of each column.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        del y
        self.groups_: dict[str, npt.NDArray[Any]] = {}
        self.weights_: dict[str, FloatArray] = {}
        self.components_: dict[str, FloatArray] = {}
        step = -(-len(X) // _SAMPLE)  # evenly spaced rows: nothing random
        for name in X.columns:
            texts = X[name].iloc[::step].fillna("")
            self._fit_column(str(name), texts.tolist())
        return self

    def _fit_column(self, name: str, texts: list[str]) -> None:
        vectorizer = _vectorizer(max_features=self.max_groups)
        try:
            counts = vectorizer.fit_transform(texts)
        except ValueError:  # no text has a letter
            self.groups_[name] = np.array([], dtype=str)
            self.weights_[name], self.components_[name] = np.empty(0), np.empty((0, 0))
            return
        weigh = TfidfTransformer().fit(counts)
        weighted = weigh.transform(counts)
        most = min(self.n_components, min(weighted.shape) - 1)
        if most < 1:
            components = np.ones((1, weighted.shape[1]))
        else:
            svd = TruncatedSVD(most, random_state=0).fit(weighted)
            components = svd.components_
        spread = float(np.sqrt(np.asarray(weighted @ components.T).var(axis=0).sum()))
        self.groups_[name] = vectorizer.get_feature_names_out().astype(str)
        self.weights_[name] = weigh.idf_
        self.components_[name] = (components / spread if spread > 0 else components).astype(
            np.float32
        )

    def transform(self, X: DataFrame) -> FloatArray:
        """Return the numbers of the texts. A missing text has zeros.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_numbers)
        """
        check_is_fitted(self)
        return np.hstack([self._transform_column(X[name], name) for name in self.groups_])

    def _transform_column(self, column: Series[Any], name: str) -> FloatArray:
        import pandas as pd

        groups, components = self.groups_[name], self.components_[name].astype(np.float64)
        if not len(groups):
            return np.zeros((len(column), 0))
        codes, texts = pd.factorize(column.fillna(""))
        counts = _vectorizer(vocabulary=list(groups)).transform(list(texts)).astype(np.float64)
        weighted = normalize(counts.multiply(self.weights_[name]).tocsr(), copy=False)
        return np.asarray((weighted @ components.T)[codes])


def _vectorizer(**options: Any) -> CountVectorizer:
    return CountVectorizer(analyzer="char_wb", ngram_range=(3, 4), **options)


def prepared_by(columns: RawColumns, *, is_dense: bool = False) -> ColumnTransformer:
    """Return an unfitted transformer that turns such columns into numbers.

    Missing numbers become the median, and an extra column marks them. Missing categories are a
    category. Categories of fewer than five rows are joined. Unless asked for a dense array, many
    categories are a sparse one.
    """
    numbers = Pipeline(
        [
            ("fill", SimpleImputer(strategy="median", add_indicator=True)),
            ("scale", TypicalScaler()),
        ]
    )
    dates = Pipeline(
        [
            ("parts", DateParts()),
            ("fill", SimpleImputer(strategy="median")),
            ("scale", TypicalScaler()),
        ]
    )
    categories = Pipeline(
        [
            ("fill", SimpleImputer(strategy="constant", fill_value=MISSING)),
            (
                "encode",
                OneHotEncoder(
                    drop="if_binary",
                    min_frequency=_MIN_ROWS,
                    max_categories=MOST_CATEGORIES,
                    handle_unknown="infrequent_if_exist",
                ),
            ),
        ]
    )
    parts = [
        ("numbers", numbers, columns.of_kind("number")),
        ("dates", dates, columns.of_kind("date")),
        ("categories", categories, columns.of_kind("category")),
        ("texts", TextEncoder(), columns.of_kind("text")),
    ]
    return ColumnTransformer(
        [part for part in parts if part[2]], sparse_threshold=0.0 if is_dense else 0.3
    )


def new_categories(pipeline: Pipeline, frame: DataFrame) -> dict[str, list[str]]:
    """Return the values of columns of categories that a fitted pipeline has not seen."""
    columns, prepare = pipeline.named_steps["columns"], pipeline.named_steps["prepare"]
    names = columns.of_kind("category")
    if not names:
        return {}
    known = prepare.named_transformers_["categories"].named_steps["encode"].categories_
    found = {}
    for name, values in zip(names, known, strict=True):
        texts = {text for text in as_texts(frame[name]) if text == text}
        if new := sorted(texts.difference(values)):
            found[name] = new
    return found


class Source(NamedTuple):
    """The raw column that a prepared column comes from."""

    column: str
    value: str | None = None
    """The category it stands for, or None."""
    part: str | None = None
    """The part of a date, or the number of a direction of texts."""

    @property
    def label(self) -> str:
        """The name to show."""
        if self.part is not None:
            return f"{self.column} ({self.part})"
        return self.column if self.value is None else f"{self.column} = {self.value}"


def sources(prepare: ColumnTransformer) -> list[Source]:
    """Return the raw column of each column that a fitted transformer makes."""
    found: list[Source] = []
    for name, part, names in prepare.transformers_:
        if name == "numbers":
            found += [Source(column) for column in names]
            indicator = part.named_steps["fill"].indicator_
            if indicator is not None:
                found += [Source(names[i], MISSING) for i in indicator.features_]
        elif name == "dates":
            for column, parts in part.named_steps["parts"].parts_.items():
                found += [
                    Source(column, MISSING) if it == MISSING else Source(column, part=it)
                    for it in parts
                ]
        elif name == "categories":
            found += _categories(part.named_steps["encode"], names)
        elif name == "texts":
            for column, components in part.components_.items():
                found += [Source(column, part=f"text {i + 1}") for i in range(len(components))]
    return found


def _categories(encoder: OneHotEncoder, names: list[str]) -> list[Source]:
    found = []
    for i, name in enumerate(names):
        rare = encoder.infrequent_categories_[i]
        values = [it for it in encoder.categories_[i] if rare is None or it not in rare]
        if rare is not None:
            values.append("(rare)" if len(rare) > 1 else rare[0])
        dropped = encoder.drop_idx_
        if dropped is not None and dropped[i] is not None:
            values = values[1:]
        found += [Source(name, str(value)) for value in values]
    return found

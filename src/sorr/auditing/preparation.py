"""From raw columns to numbers: a scikit-learn pipeline, so that a model predicts from raw rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted, validate_data

from sorr.auditing.rows import kind_of
from sorr.auditing.table import TableError, quote
from sorr.share import centre_and_spread

if TYPE_CHECKING:
    from pandas import DataFrame, Series

MISSING = "(missing)"
_SAMPLE = 20_000  # rows that medians are computed from
_MIN_ROWS = 5  # of a category; a model would learn the labels of fewer by heart
_MAX_CATEGORIES = 100  # of a column; the rarest of more are joined
_MAX_SPREADS = 100.0  # from the centre: far enough to be seen, and not to spoil a fit


class RawColumns(TransformerMixin, BaseEstimator):
    """The columns of a table as the model learned from them: numbers as float64, others as text.

    Attributes
    ----------
    numeric_, categorical_ : list of str
        The names of the columns of each kind.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def fit(self, X: DataFrame, y: Any = None) -> RawColumns:
        """Record the type of each column.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        del y
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        kinds = [kind_of(X[name]) for name in X.columns]
        named = list(zip(self.feature_names_in_.tolist(), kinds, strict=True))
        self.numeric_ = [name for name, kind in named if kind == "number"]
        self.categorical_ = [name for name, kind in named if kind != "number"]
        return self

    def transform(self, X: Any) -> DataFrame:
        """Return these columns of a table, which may have others.

        Parameters
        ----------
        X : DataFrame, or array of shape (n_samples, n_features) in the order of the fit

        Returns
        -------
        DataFrame
            Missing values are NaN, and so are infinite numbers.
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
        columns = {name: _numbers(X[name]) for name in self.numeric_}
        columns |= {name: _texts(X[name]) for name in self.categorical_}
        return pd.DataFrame(columns, index=X.index, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the columns, those of numbers first.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        del input_features
        check_is_fitted(self)
        return np.array([*self.numeric_, *self.categorical_], dtype=object)

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


def _numbers(column: Series[Any]) -> npt.NDArray[np.float64]:
    import pandas as pd

    values: npt.NDArray[np.float64]
    try:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError):
        wrong = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()].iloc[0]
        raise TableError(
            f"column {quote(column.name)} holds {quote(wrong)}, which is not a number; needed "
            "numbers, as in the rows that the model learned from"
        ) from None
    if np.isinf(values).any():
        values = np.where(np.isinf(values), np.nan, values)
    return values


def _texts(column: Series[Any]) -> npt.NDArray[np.object_]:
    """Return the values as text, whole numbers without a decimal point."""
    import pandas as pd

    codes, values = pd.factorize(column)
    texts = np.array([*map(_text, values), np.nan], dtype=object)
    return np.asarray(texts[codes])


def _text(value: Any) -> str:
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


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


def prepared_by(columns: RawColumns, *, is_dense: bool = False) -> ColumnTransformer:
    """Return an unfitted transformer that turns such columns into numbers.

    Missing numbers become the median, and an extra column marks them. Missing texts are a
    category. Categories of fewer than five rows are joined. Unless asked for a dense array, many
    categories are a sparse one.
    """
    numbers = Pipeline(
        [
            ("fill", SimpleImputer(strategy="median", add_indicator=True)),
            ("scale", TypicalScaler()),
        ]
    )
    texts = Pipeline(
        [
            ("fill", SimpleImputer(strategy="constant", fill_value=MISSING)),
            (
                "encode",
                OneHotEncoder(
                    drop="if_binary",
                    min_frequency=_MIN_ROWS,
                    max_categories=_MAX_CATEGORIES,
                    handle_unknown="infrequent_if_exist",
                ),
            ),
        ]
    )
    parts = [("numbers", numbers, columns.numeric_), ("texts", texts, columns.categorical_)]
    return ColumnTransformer(
        [part for part in parts if part[2]], sparse_threshold=0.0 if is_dense else 0.3
    )


class Source(NamedTuple):
    """The raw column that a prepared column comes from."""

    column: str
    value: str | None = None
    """The category it stands for, or None for a number."""

    @property
    def label(self) -> str:
        """The name to show."""
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
        elif name == "texts":
            found += _categories(part.named_steps["encode"], names)
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

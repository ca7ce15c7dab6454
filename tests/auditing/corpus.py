"""Messy tables, each with what a person would say about its columns.

Nothing here knows how an audit reads columns: the expectations are those of somebody who looks at
the file. `TABLES` holds the function that writes each table into a folder and returns its `Case`.
"""

import hashlib
import json
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tests.auditing.drafts import FIRST, JOBS, THINGS, TOWNS, Case, Draft

TABLES: dict[str, Callable[[Path], Case]] = {}
GOOD = ["great", "quick", "friendly", "tasty", "clean", "lovely"]
BAD = ["slow", "rude", "cold", "dirty", "broken", "late"]
MINUTE = "%Y-%m-%d %H:%M"


def table(file: str, n: int = 220, target: str = "label", **how: Any) -> Any:
    """Register a function that fills a draft, and may return the labels."""

    def register(fill: Callable[[Draft], Any]) -> Callable[[Path], Case]:
        def write(folder: Path) -> Case:
            draft = Draft(fill.__name__, n)
            labels = fill(draft)
            return draft.save(folder / file, target, labels or draft.labels(), **how)

        TABLES[fill.__name__] = write
        return write

    return register


def european(number: str) -> str:
    """Return 1,234.50 as 1.234,50."""
    return number.translate(str.maketrans(",.", ".,"))


def accounting(value: float) -> str:
    return f"({-value:,.2f})" if value < 0 else f"{value:,.2f}"


def censored(low: float, high: float, form: str) -> Callable[[float], str]:
    """Return a way to write numbers that a device knows within limits."""
    return lambda v: ("<" if v <= low else ">" if v >= high else "") + form.format(v)


# -- The table of the issue ------------------------------------------------------------------------


@table("orders.csv", n=500, target="outcome")
def orders_of_the_issue(d):
    kept = d.rng.random(d.n) < 0.5

    def apart(by):  # four columns, each by 2 or 2.2 deviations: the classes overlap by 2 %
        return d.rng.normal(size=d.n) + by * (kept - 0.5)

    days = np.clip(np.round(182 + 50 * apart(2.0)), 0, 364)
    dates = [datetime(2023, 1, 1) + timedelta(days=int(k)) for k in days]
    d.add("order", [f"A{20417 + i}" for i in range(d.n)], "id")
    d.numbers("amount", np.exp(6 + 0.8 * apart(2.2)), "${:,.2f}")
    d.numbers("discount", np.clip(20 + 5 * apart(2.0), 0, 60), "{:.1f} %", digits=1)
    d.numbers("weight", np.clip(30 + 6 * apart(2.2), 1, None), "{:.1f} kg", digits=1)
    d.add("ordered", [f"{day:%d/%m/%Y}" for day in dates], "date", dates)
    d.add("remarks", [""] * d.n, "unused")
    labels = np.where(kept, "kept", "returned").tolist()
    changed, spaced = np.split(d.rng.permutation(d.n)[:45], [30])
    d.flip(labels, changed)
    d.respell(labels, spaced, lambda label: label + " ")
    return labels


# -- Numbers in costume ----------------------------------------------------------------------------


@table("money.tsv", sep="\t")
def money_of_many_countries(d):
    price = d.rng.lognormal(7, 1, (9, d.n))
    d.numbers("US", price[0], "${:,.2f}")
    d.numbers("Germany", price[1], lambda v: european(f"{v:,.2f}") + " €")
    d.numbers("Switzerland", price[2], lambda v: "CHF " + f"{v:,.2f}".replace(",", "'"))
    d.numbers("Poland", price[3], lambda v: f"{v:,.2f}".translate({44: " ", 46: ","}) + " zł")
    d.numbers("Japan", price[4] * 100, "¥{:,.0f}", digits=0)
    d.numbers("UK", price[5], "£ {:,.2f}")
    d.numbers("in words", price[6], "{:.2f} USD")
    d.numbers("books", price[7] - 1500, lambda v: f"(${-v:,.2f})" if v < 0 else f"${v:,.2f}")
    d.numbers("several", price[8], lambda v: d.rng.choice(["$", "€", "£"]) + f"{v:,.2f}")


@table("units.csv")
def percentages_and_units(d):
    draw = d.rng.normal(size=(8, d.n))
    d.numbers("share", 30 + 9 * draw[0], "{:.1f}%", digits=1)
    d.numbers("fat", 24 + 5 * draw[1], lambda v: european(f"{v:.1f}") + " %", digits=1)
    d.numbers("weight", 74 + 11 * draw[2], "{:.1f} kg", digits=1)
    d.numbers("height", 172 + 9 * draw[3], "{:.0f}cm", digits=0)
    d.numbers("speed", 95 + 20 * draw[4], "{:.0f} km/h", digits=0)
    d.numbers("temperature", 3 + 6 * draw[5], "{:.1f} °C", digits=1)
    d.numbers("age", 50 + 9 * draw[6], "{:.0f} years", digits=0)
    d.numbers("change", 4 * draw[7], "{:+.2f}%")
    d.percent.add("fat")


@table("lab.csv")
def accounting_and_science(d):
    d.numbers("profit", d.rng.normal(200, 900, d.n), accounting)
    d.numbers("concentration", d.rng.lognormal(-9, 2, d.n), "{:.3e}", digits=30)
    d.values["concentration"] = dict(enumerate(map(float, d.columns["concentration"])))
    d.numbers(
        "shift", d.rng.normal(0, 4, d.n), lambda v: f"{v:+.1f}".replace("-", "\u2212"), digits=1
    )
    d.numbers("population", d.rng.lognormal(10, 1.5, d.n), "{:,.0f}", digits=0)


@table("blood.csv")
def values_beyond_the_scale(d):
    lead, titre, protein = d.rng.lognormal([[2.5], [3], [1]], [[0.8], [1], [1]], (3, d.n))
    d.numbers("lead", lead.clip(5, 100), censored(5, 100, "{:.1f}"), digits=1)
    d.numbers("titre", titre.clip(2, 400), censored(2, 400, " {:.0f}"), digits=0)
    d.numbers("CRP", protein.clip(0.5), censored(0.5, 1e9, "{:.1f} mg/l"), digits=1)


@table("survey.csv")
def words_among_numbers(d):
    d.numbers("income", d.rng.lognormal(10, 0.6, d.n), "{:.0f}", digits=0, holes=["unknown"])
    d.numbers("debt", d.rng.lognormal(8, 1, d.n), holes=["n/a", "#DIV/0!", "#VALUE!"])
    d.numbers("rent", d.rng.normal(900, 200, d.n), "{:,.0f}", digits=0, holes=["-", "--", "?"])
    d.numbers("score", d.rng.normal(60, 15, d.n), "{:.1f}", digits=1, holes=["not measured", "tbd"])
    d.numbers("rate", d.rng.normal(5, 1, d.n), "{:.2f} %", holes=["none given", "."])


@table("big.csv", sep="|")
def thousands_in_other_ways(d):
    big = d.rng.lognormal(9, 1.2, (5, d.n))
    d.numbers("spaces", big[0], lambda v: f"{v:,.0f}".replace(",", " "), digits=0)
    d.numbers("hard spaces", big[1], lambda v: f"{v:,.0f}".replace(",", "\u00a0"), digits=0)
    d.numbers("narrow spaces", big[2], lambda v: f"{v:,.0f}".replace(",", "\u202f"), digits=0)
    d.numbers("apostrophes", big[3], lambda v: f"{v:,.2f}".replace(",", "’"))  # noqa: RUF001
    d.numbers("points", big[4] * 100, lambda v: european(f"{v:,.0f}"), digits=0)


@table("kunden.csv", target="Status", sep=";", encoding="cp1252")
def a_german_export(d):
    d.add("Kundennr.", d.rng.permutation(90000)[: d.n] + 10000, "id")
    d.choice("Straße", ["Hauptstraße", "Gänsemarkt", "Bäckerweg", "Am Bühl"])
    d.numbers("Umsatz", d.rng.lognormal(6, 1, d.n), lambda v: european(f"{v:,.2f}"))
    d.numbers("Anteil", d.rng.normal(40, 10, d.n), lambda v: european(f"{v:.1f}"), digits=1)
    d.dates("Datum", "%d.%m.%Y")
    d.choice("Stammkunde", ["ja", "nein"], "category number")
    return d.labels(["gekündigt", "treu"])


# -- Dates and times -------------------------------------------------------------------------------


@table("dates.csv")
def dates_by_numbers(d):
    d.dates("iso", "%Y-%m-%d")
    d.dates("day first", "%d/%m/%Y")
    d.dates("month first", "%m/%d/%Y")
    d.dates("short year", "%d.%m.%y")
    d.dates("no zeros", lambda m: f"{m.month}/{m.day}/{m.year}")
    d.dates("slashed", "%Y/%m/%d")
    d.dates("ambiguous", lambda m: f"{m.day % 12 + 1:02}/{m.month:02}/{m.year}")
    d.dates("unbroken", "%Y%m%d")
    d.put("iso", "", 0.1)
    d.put("day first", "unknown", 0.05)
    d.put("slashed", "0000/00/00", 0.1)
    past = [datetime(1951, 3, 9) + timedelta(days=int(k)) for k in d.rng.integers(0, 7000, d.n)]
    d.add("last century", [f"{day:%d/%m/%y}" for day in past], "date", past)
    del d.values["ambiguous"]


@table("moments.csv")
def dates_in_words_and_times(d):
    hour, second = timedelta(hours=1, minutes=7), timedelta(seconds=40961)
    d.dates("issued", "%b-%Y", known="%Y-%m")
    d.dates("written", "%d %B %Y")
    d.dates("American", lambda m: f"{m:%B} {m.day}, {m.year}")
    d.dates("with weekday", "%a, %d %b %Y")
    d.dates("minutes", MINUTE, hour, MINUTE)
    d.dates("half days", "%m/%d/%Y %I:%M %p", hour, MINUTE)
    d.dates("zulu", "%Y-%m-%dT%H:%M:%SZ", second, MINUTE + ":%S")
    d.dates("offset", "%Y-%m-%dT%H:%M:%S.000+00:00", second, MINUTE + ":%S")
    d.add("time of day", d.words("{:02}:{:02}", range(24), range(60)), "date number")
    d.add("born", d.rng.integers(1931, 2004, d.n), "number date")


@table("series.csv", n=150)
def a_series_of_years(d):
    d.add("year", range(1871, 1871 + d.n), "number date")
    d.numbers("age", range(1, d.n + 1), "{:.0f}", digits=0)
    d.dates("month", "%Y %b", known="%Y-%m")
    months = [f"{1990 + i // 12}-{i % 12 + 1:02}" for i in range(d.n)]
    d.add("unique month", months, "date", [datetime.strptime(m, "%Y-%m") for m in months])
    days = [datetime(1999, 12, 1) + timedelta(days=i) for i in range(d.n)]
    d.add("unique day", [f"{day:%d/%m/%Y}" for day in days], "date", days)
    d.numbers("population", np.sort(d.rng.permutation(10**7)[: d.n])[::-1], "{:.0f}", digits=0)
    d.numbers("salary", d.rng.permutation(60_000)[: d.n] + 20_000, "{:.0f}", digits=0)


@table("rarer.csv")
def rarer_costumes(d):
    cost = d.rng.lognormal(6, 1, (8, d.n))
    d.numbers("rupees", cost[0], "Rs. {:,.0f}", digits=0)
    d.numbers("before", cost[1], "USD {:,.2f}")
    d.numbers("after", cost[2], "{:.0f} EUR", digits=0)
    d.numbers("debit", cost[3] - 400, lambda v: f"-${-v:,.2f}" if v < 0 else f"${v:,.2f}")
    d.numbers("trailing", cost[4] - 400, lambda v: f"{-v:.2f}-" if v < 0 else f"{v:.2f}")
    d.numbers("about", cost[5], "~{:.0f}", digits=0)
    d.numbers("thousands", cost[6] * 1000, lambda v: f"{v / 1000:.1f}k", digits=-2)
    d.numbers("no answer", cost[7], "{:.0f}", digits=0)
    d.put("no answer", "-999", 0.05)  # a person may see that, or take it for a number
    d.values.pop("no answer")
    d.add("flight", d.words("{}:{:02}:{:02}", range(1, 12), range(60), range(60)), "date number")
    d.add("quarter", d.words("Q{} {}", [1, 2, 3, 4], range(2010, 2020)), "date category")
    d.choice("feet", ["5'11\"", "6'0\"", "5'4\"", "5'7\"", "6'2\""], "category number")
    d.choice("rank", ["1st", "2nd", "3rd", "4th", "5th"], "category number")


# -- Identifiers and codes -------------------------------------------------------------------------


@table("people.csv", n=260)
def identifiers(d):
    halves = d.rng.integers(0, 2**63, (d.n, 2)).tolist()
    d.add("row", range(1, d.n + 1), "id")
    d.add("record", d.rng.permutation(2 * d.n)[: d.n] + 1, "id")
    d.add("uuid", [str(uuid.UUID(int=a << 64 | b)) for a, b in halves], "id")
    d.add("checksum", [hashlib.md5(str(a).encode()).hexdigest() for a, _ in halves], "id")
    d.add("name", d.people(), "id")
    d.add("invoice", [f"INV-{i:05}" for i in d.rng.permutation(d.n) + 12], "id")
    mail = [f"{name.replace(' ', '.').lower()}@example.org" for name in d.columns["name"]]
    d.add("e-mail", mail, "id")
    d.add("customer_id", d.rng.choice(900_000, d.n, replace=False) + 100_000, "id")
    d.add("phone", d.words("+44 20 7{:03} {:04}", range(1000), range(10_000)), "id text")
    d.basics()


@table("visits.csv.gz", n=300, sep="|")
def keys_of_other_tables(d):
    shops, accounts = d.rng.permutation(9000)[:40] + 1000, d.rng.permutation(10**6)[:60]
    d.choice("shop_id", shops.tolist(), "id category text", weight=0)
    d.choice("account", [f"ACC{i:06}" for i in accounts], "id category text", weight=0)
    d.add("visit", np.sort(d.rng.permutation(5000)[: d.n]) + 70_000, "id")
    d.basics()


@table("codes.csv")
def codes_that_are_not_numbers(d):
    zips = [f"{i:05}" for i in d.rng.choice(33_000, 80, replace=False)]
    d.choice("zip", zips, "category text id")
    d.choice("diagnosis", ["J45.9", "E11.0", "I10", "M54.5", "F32.1", "K21.9"])
    d.choice("colour code", ["#ff00aa", "#00cc33", "#123456", "#000000"])
    d.choice("release", ["1.2.3", "1.10.0", "2.0.1", "2.0.2"])
    d.add("address", d.words("{}.{}.{}.{}", *[range(1, 255)] * 4), "id text")
    d.choice("gate", [f"A{i}" for i in range(1, 21)])
    d.choice("age band", ["18-24", "25-34", "35-44", "45-54", "55-64", "65+"])
    d.choice("marks", ["1/5", "2/5", "3/5", "4/5", "5/5"], "category number")
    d.choice("hours", ["9-5", "10-6", "8-4"])
    d.choice("oxygen", [">60", "<=60"])
    d.choice(
        "station", ["117", "118", "1083", "280", "c118", "c203", "5028", "c266"], "category text"
    )
    d.add("pressure", d.words("{}/{}", range(100, 160), range(60, 99)), "text category number")
    d.numbers("wage", d.rng.normal(25, 5, d.n))


# -- Few values, many values, none -----------------------------------------------------------------


@table("empty.csv", n=300)
def constant_and_empty_columns(d):
    d.basics()
    for name, cell in {"country": "UK", "one": "1", "empty": "", "NA": "NA", "dash": "-"}.items():
        d.add(name, [cell] * d.n, "unused")
    d.add("blanks", ["  ", ""] * (d.n // 2), "unused")
    d.add("country, mostly", ["UK" if i % 7 else "" for i in range(d.n)], "unused category")
    d.add("two numbers", ["7", "", "4.5", *[""] * (d.n - 3)], "number unused category")
    d.add("rare remark", ["see file", *[""] * (d.n - 1)], "unused category")
    d.numbers("half empty", d.rng.normal(50, 9, d.n), weight=0.3)
    d.put("half empty", "", 0.5)
    d.put("height", "NULL", 0.1)


@table("flags.csv")
def yes_and_no_in_many_dresses(d):
    dresses = "0 1,yes no,True False,Y N,t f,on off,TRUE FALSE,oui non,✓ ✗,1.0 0.0"
    for i, dress in enumerate(dresses.split(",")):
        d.choice(f"flag {i}", dress.split(), "category number")
        if i % 3 == 0:
            d.put(f"flag {i}", "", 0.1)
    d.choice("ticked", ["x", ""], "category unused")


@table("choices.csv", n=400)
def few_and_many_categories(d):
    d.choice("region", ["north", "south", "east", "west"], weight=1)
    d.choice("town", TOWNS, "category text")
    d.choice("rating", [5, 4, 3, 2, 1], "number category", weight=1)
    d.choice("size", ["S", "M", "L", "XL", "XXL"])
    d.choice("month", [f"{datetime(2020, i, 1):%b}" for i in range(1, 13)])
    d.choice("weekday", [f"{datetime(2020, 1, i):%A}" for i in range(1, 8)])
    d.choice("opinion", ["agree", "strongly agree", "neutral", "disagree", "strongly disagree"])
    d.choice("grade", ["A", "B+", "B", "C-", "A+", "D"])
    d.choice("stars", ["★★★★★", "★★★★", "★★★", "★★", "★"], "category number")
    d.choice("answer", ["none", "None", "some", "a lot"])


# -- Text, lists, mixed types ----------------------------------------------------------------------


@table("reviews.csv", n=320, target="mood")
def free_text(d):
    said = {
        mood: d.words(
            "The {} was {}, and the {} {}.\n{} said so, too.", THINGS, a, THINGS, a, FIRST
        )
        for mood, a in {"good": GOOD, "bad": BAD}.items()
    }
    mood = d.rng.choice(["good", "bad"], d.n).tolist()
    d.add("comment", [said[m][i] for i, m in enumerate(mood)], "text")
    d.choice("job", JOBS, "text category", weight=0)
    d.add("product", d.words("{} {} {} ml", TOWNS, THINGS, range(50, 500, 50)), "text")
    d.numbers("stay", d.rng.integers(1, 15, d.n), "{:.0f}", digits=0)
    return mood


@table("nested.csv")
def lists_and_objects_in_cells(d):
    d.basics()
    tags = [d.rng.choice(THINGS, d.rng.integers(1, 4), replace=False).tolist() for _ in range(d.n)]
    d.add("tags", map(str, tags), "text category")
    d.add("json", [json.dumps({"n": len(t), "first": t[0]}) for t in tags], "text category")
    d.add("listed", map("; ".join, tags), "text category")
    d.add("point", [f"({x:.2f}, {y:.2f})" for x, y in d.rng.normal(50, 3, (d.n, 2))], "text id")


@table("events.jsonl")
def lines_of_json(d):
    d.add("_id", [hashlib.sha1(bytes([i])).hexdigest() for i in range(d.n)], "id")
    d.basics()
    d.native("age", "height")
    d.put("height", None, 0.1)
    d.put("colour", "", 0.1)
    d.dates("seen", "%Y-%m-%dT%H:%M:%SZ", timedelta(hours=5), MINUTE)
    d.add("tags", [d.rng.choice(THINGS, 2).tolist() for _ in range(d.n)], "text category")
    places = [{"town": str(town), "floor": i % 3} for i, town in enumerate(d.words("{}", TOWNS))]
    d.add("place", places, "text category id")
    d.choice("active", [True, False], "category number")
    return d.labels(["ham", "spam"])


@table("bookings.xlsx", above=[["Bookings 2018, all teams"], []])
def a_sheet_of_excel(d):
    d.add("Pos.", range(1, d.n + 1), "id")
    d.dates("Booked", "%Y-%m-%d")
    d.numbers("Net", d.rng.normal(800, 160, d.n))
    d.numbers("Hours", d.rng.normal(38, 6, d.n))
    d.native("Booked", "Net", "Hours")
    d.put("Hours", "n/a", 0.05)
    d.put("Net", None, 0.05)
    d.numbers("Typed", d.rng.normal(60, 9, d.n), "{:,.2f} €")
    d.columns["Typed"][::4] = [d.values["Typed"][i] for i in range(0, d.n, 4)]
    d.choice("Paid", [True, False], "category number")
    d.choice("Room", [101, "101a", 204, "Hall", 305], "category text")
    d.choice("Team", ["Sales", "IT", "Legal"])
    return d.labels(["late", "on time"])


@table("members.ods", n=160)
def a_sheet_of_opendocument(d):
    d.add("Member", d.people(), "id")
    d.dates("Joined", "%d/%m/%Y")
    d.numbers("Fee", d.rng.gamma(4, 30, d.n), "£{:.2f}")
    d.choice("Branch", TOWNS[:12])
    d.numbers("Age", d.rng.normal(45, 12, d.n), digits=0)
    d.native("Age")


@table("typed.parquet")
def a_parquet_file(d):
    import pandas as pd

    d.add("key", np.arange(d.n) + 5_000_000, "id")
    d.basics()
    d.native("age", "height")
    d.put("height", None, 0.1)
    d.columns["age"] = pd.array(d.columns["age"], dtype="Int64")
    d.columns["colour"] = pd.Categorical(d.columns["colour"])
    d.dates("moment", str, timedelta(hours=7), MINUTE)
    d.columns["moment"] = pd.to_datetime(list(d.values["moment"].values())).tz_localize("UTC")
    d.choice("flag", [True, False], "category number")
    d.numbers("price", d.rng.lognormal(4, 1, d.n), "{:.2f} €")
    d.add("tags", [d.rng.choice(THINGS, 2).tolist() for _ in range(d.n)], "text category")
    d.add("nothing", [None] * d.n, "unused")
    d.add("took", pd.to_timedelta(d.rng.gamma(3, 40, d.n).round(), unit="s"), "number date")


@table("typed.feather")
def a_feather_file(d):
    d.add("name", d.people(), "id")
    d.basics()
    d.native("age", "height")
    d.dates("day", str)
    d.columns["day"] = [day.date() for day in d.values["day"].values()]
    d.choice("flag", [True, False, None], "category number")
    d.choice("count", [0, 1, 2, 3, 4, 7, 11], "number category")


# -- Languages, encodings, shapes of files ---------------------------------------------------------


@table("标签.tsv", target="标签", sep="\t", encoding="utf-16")
def chinese_and_arabic(d):
    d.choice("城市", ["北京", "上海", "广州", "深圳"])
    d.numbers("价格", d.rng.lognormal(5, 1, d.n), "¥{:,.2f}")
    d.numbers("الوزن", d.rng.normal(70, 10, d.n), "{:.1f}", digits=1)
    d.choice("المدينة", ["القاهرة", "دبي", "تونس"])
    d.dates("日期", "%Y年%m月%d日")
    return d.labels(["是", "否"])


@table("loyers.csv", target="État", sep=";", encoding="latin-1")
def french_in_latin_1(d):
    d.choice("Prénom", ["Zoé", "Hélène", "Jérôme", "François", "Noël"])
    d.numbers("Surface", d.rng.normal(70, 20, d.n), lambda v: european(f"{v:.1f} m²"), digits=1)
    d.numbers("Loyer", d.rng.normal(900, 200, d.n), lambda v: european(f"{v:.2f}"))
    d.dates("Entrée", "%d/%m/%Y")
    return d.labels(["payé", "impayé"])


@table(
    "report.csv",
    n=420,
    above="Quarterly report of the northern branch\nCreated 12 March 2018\n\n",
    ragged=(380, 391, 400),
)
def titles_above_and_ragged_rows(d):
    d.basics()
    d.numbers("costs", d.rng.lognormal(5, 1, d.n), "{:,.2f}")


@table("names.csv")
def repeated_and_missing_names(d):
    d.add("nameless", range(d.n), "id")
    d.basics()
    for i in range(3):
        d.numbers(f"value {i}", d.rng.normal(i, 1, d.n))
        d.written[f"value {i}"] = "value"
    d.choice("nameless, too", ["a", "b", "c"])
    d.written |= {"nameless": "", "nameless, too": ""}


@table("attack.csv", target="label\u2028</td>")
def names_and_cells_that_attack(d):
    script = "<script>alert(1)</script>"
    d.basics()
    d.numbers("W" * 400, d.rng.normal(0, 1, d.n))
    d.numbers("two\nlines", d.rng.normal(0, 1, d.n))
    d.numbers("=SUM(A1:A9)", d.rng.normal(0, 1, d.n))
    d.choice(script, [script, "{{ 7*7 }}", "plain"])
    d.choice("formula", ["=1+1", "@SUM(A1)", "+cmd|'/C calc'!A0", "\u202eelif"])
    d.add("notes", [f"{script}{name}" for name in d.people()], "id text")
    return d.labels(["<b>yes</b>", "=no"])


@table("wide.csv", n=150)
def three_hundred_columns(d):
    for i in range(300):
        form = "{:.2f} V" if i % 3 else "{:.2f}"
        d.numbers(f"sensor {i}", d.rng.normal(i, 2, d.n), form, weight=float(i < 5))


@table("trial.csv", n=40, target="outcome")
def forty_rows(d):
    d.add("name", d.people(), "id")
    d.numbers("dose", d.rng.choice([5, 10, 20], d.n), "{:.0f} mg", digits=0)
    d.numbers("weight", d.rng.normal(70, 9, d.n), "{:.1f}", digits=1)
    d.dates("visit", "%d-%b-%Y")
    d.choice("sex", ["f", "m"], "category number")
    return d.labels(["well", "ill"])


# -- Targets ---------------------------------------------------------------------------------------


@table("spellings.csv", n=320, target="answer")
def labels_in_many_spellings(d):
    d.basics()
    labels = d.labels()
    d.respell(labels, range(10, 300, 9), str.upper, lambda s: f"{s.title()} ", lambda s: f" {s}")
    labels[300:312] = ["", "NA"] * 6
    labels[312:315] = ["maybe"] * 3
    return labels


@table("homes.csv", n=300, target="price")
def prices_as_the_target(d):
    rooms, size = d.rng.integers(1, 7, d.n), d.rng.normal(90, 25, d.n).clip(20)
    d.numbers("rooms", rooms, "{:.0f}", digits=0)
    d.numbers("size", size, "{:.1f} sqm", digits=1)
    d.choice("town", TOWNS[:6])
    d.dates("sold", "%b %Y", known="%Y-%m")
    price = 40_000 + 2500 * size + 9000 * rooms + d.rng.normal(0, 9000, d.n)
    d.wrong.update(d.some(0.04))
    price[list(d.wrong)] *= 3
    return [f"$ {p:,.0f}" for p in price]


@table("ratings.csv", n=300, target="stars")
def ratings_as_the_target(d):
    d.basics()
    return d.labels([1, 2, 3, 4, 5])


@table("survived.csv", target="survived")
def zeros_and_ones_as_the_target(d):
    d.basics()
    return d.labels([0, 1])


@table("leaks.csv", n=300)
def columns_that_give_the_target_away(d):
    d.basics()
    labels = d.labels(["good", "bad"])
    for name, codes in {"status code": (7, 3), "in German": ("gut", "schlecht")}.items():
        d.add(name, [codes[label == "bad"] for label in labels], "unused")
    d.add("copy", map(str.upper, labels), "unused")
    return labels


@table("copies.csv", n=360)
def every_row_three_times(d):
    d.basics()
    labels = d.labels()
    for name, cells in d.columns.items():
        d.columns[name] = cells[:120] * 3
        d.values.pop(name, None)
    return labels[:120] * 3


@table("types.csv", n=500, target="type")
def twenty_classes(d):
    d.numbers("length", d.rng.uniform(0, 100, d.n), "{:.1f} mm", digits=1)
    labels = d.labels([f"type {i}" for i in range(20)], noise=0.02)
    d.numbers("width", d.rng.uniform(0, 9, d.n))
    return labels


# -- Everything at once ----------------------------------------------------------------------------


@table("crm.csv.gz", n=400, target="Churn", sep=";")
def a_customer_export(d):
    d.add("Customer ID", [f"C-{i:06}" for i in d.rng.permutation(10**6)[: d.n]], "id")
    d.add("Name", d.people(), "id")
    d.choice("Job title", JOBS, "text category", weight=0)
    d.choice("Town", TOWNS, "text category", weight=0)
    d.numbers("Revenue", d.rng.lognormal(8, 1, d.n), "${:,.0f}", digits=0, holes=["-", "n/a"])
    d.numbers("Balance", d.rng.normal(0, 800, d.n), accounting, holes=["#REF!"])
    d.numbers("Margin", d.rng.normal(18, 6, d.n), "{:.1f}%", digits=1, holes=[""])
    d.dates("Customer since", "%d/%m/%Y")
    d.dates("Last contact", MINUTE, timedelta(hours=3), MINUTE)
    d.choice("Newsletter", ["Y", "N", ""], "category number")
    d.choice("Satisfaction", ["4", "5", "3", "2", "1"], "number category")
    d.add("Fax", [""] * d.n, "unused")
    d.add("Currency", ["USD"] * d.n, "unused")
    labels = d.labels(["stays", "leaves"], noise=0.1)
    d.flip(labels, d.some(0.05))
    d.respell(labels, d.some(0.05), str.upper)
    return labels


@table("register.csv", n=360, target="discharge", sep=";")
def a_hospital_register(d):
    d.add("patient", [f"{i:08x}" for i in d.rng.choice(2**32, d.n, replace=False)], "id")
    d.dates("admitted", "%m/%d/%Y %I:%M %p", timedelta(hours=5), MINUTE)
    d.numbers("age", d.rng.normal(60, 15, d.n).clip(18, 95), "{:.0f} y", digits=0)
    d.numbers("weight", d.rng.normal(78, 14, d.n), "{:.1f} kg", digits=1, holes=["refused", ""])
    d.numbers("fever", d.rng.normal(37.4, 0.8, d.n), lambda v: european(f"{v:.1f}"), digits=1)
    protein = d.rng.lognormal(2, 1.2, d.n).clip(5, 200)
    d.numbers("CRP", protein, censored(5, 200, "{:.0f}"), digits=0)
    d.choice("ward", ["A1", "A2", "B1", "ICU"])
    d.choice("diagnosis", ["J18.9", "I50.0", "N39.0", "A41.9", "S72.0", "K35.8"])
    d.choice("smoker", ["no", "yes", "unknown"])
    d.add("remarks", d.words("{} complains of a {} {}", FIRST, BAD, THINGS), "text")
    d.put("remarks", "", 0.4)
    return d.labels(["home", "transfer", "died"])

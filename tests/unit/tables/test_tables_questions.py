"""Questions and what they come to, each worked out from the rows below by hand."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from localrag.tables.rules import asks_for_table, plan
from localrag.tables.workbook import TableError, Workbook
from localrag.types import Page

ORDERS = """Order,Customer,Country,Status,Order date,Amount,Items
A1,Acme Ltd,Germany,Open,2024-03-01,"1,200.50",3
A2,Globex,France,Shipped,2024-03-15,99.50,1
A3,Acme Ltd,Germany,Shipped,2024-04-02,300.00,7
A4,Initech,United States,Cancelled,2023-12-31,50.00,2
A5,Globex,Germany,Open,2024-01-10,"2,000.00",12
A6,Initech,Spain,Shipped,2024-03-31,,4
"""
# (question, result of its query). Amounts: 1,200.50 + 99.50 + 300 + 50 + 2,000 = 3,650, of five rows: 730 on average.
PAIRS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("How many rows are in orders.csv?", [(6,)]),
    ("how many orders are there", [(6,)]),
    ("How many orders are from Germany?", [(3,)]),
    ("How many orders were shipped?", [(3,)]),
    ("number of open orders from Germany", [(2,)]),
    ("How many orders are not shipped?", [(3,)]),
    ("How many orders from Germany or France are open?", [(2,)]),
    ("Count the rows where country is Germany and amount is over 1000", [(2,)]),
    ("How many orders have an amount of at least 300?", [(3,)]),
    ("How many orders have an amount between 50 and 300?", [(3,)]),
    ("How many rows have no more than 2 items?", [(2,)]),
    ("How many orders with more than 5 items from Germany?", [(2,)]),
    ("How many orders were there in March 2024?", [(3,)]),
    ("How many orders were there in 2023?", [(1,)]),
    ("How many orders after 15 March 2024?", [(2,)]),
    ("How many orders before 2024-01-10?", [(1,)]),
    ("How many orders between 1 March 2024 and 31 March 2024?", [(3,)]),
    ("How many orders where amount is empty?", [(1,)]),
    ("How many different customers are in orders.csv?", [(3,)]),
    ("What is the total amount in orders.csv?", [(Decimal("3650.00"),)]),
    ("sum of Amount in orders.csv where country is Germany", [(Decimal("3500.50"),)]),
    ("What is the average amount of the orders?", [(730.0,)]),
    ("What's the highest amount in the table?", [(Decimal("2000.00"),)]),
    ("lowest amount for Acme Ltd", [(Decimal("300.00"),)]),
    ("median amount of orders", [(300.0,)]),
    (
        "What is the total amount per country?",
        [
            ("Germany", Decimal("3500.50")),
            ("France", Decimal("99.50")),
            ("United States", Decimal("50.00")),
            ("Spain", None),
        ],
    ),
    ("number of orders by customer", [("Acme Ltd", 2), ("Globex", 2), ("Initech", 2)]),
    ("Which customer has the highest total amount?", [("Globex", Decimal("2099.50"))]),
    ("Which customer has the highest amount?", [("Globex", Decimal("2000.00"))]),
    ("Which country has the lowest average amount?", [("United States", 50.0)]),
    ("Which customer has the most orders?", [("Acme Ltd", 2), ("Globex", 2), ("Initech", 2)]),
    ("Which country has the most orders?", [("Germany", 3)]),
    ("Top 2 customers by total amount", [("Globex", Decimal("2099.50")), ("Acme Ltd", Decimal("1500.50"))]),
    ("Which customers are from Germany?", [("Acme Ltd",), ("Globex",)]),
    ("Wie viele Zeilen hat orders.csv?", [(6,)]),
    ("Wie hoch ist die Summe von Amount für Globex?", [(Decimal("2099.50"),)]),
]

NOT_UNDERSTOOD = [
    "How many orders did we ship to Mars?",
    "Who founded Acme Ltd?",
    "What is the highest mountain in Germany?",
    "How many people live in Germany?",
    "What is the average amount of rain in Germany?",
    "How many orders from Germany or open?",
    "How many orders are neither open nor shipped?",
    "What is the total?",
    "What is the sum of customer in orders.csv?",
    "Which customer has the highest country?",
    "How many customers are there?",
    "Why was the order from Globex cancelled?",
    "List the terms of the contract with Globex",
    "How many orders over Germany?",
]


def _answers(book: Workbook, question: str) -> list[Any]:
    named = book.tables[0].document.name
    plans = [plan(question, table, named=named if named in question else "") for table in book.tables]
    return [made.table.query(made.sql)[1] for made in plans if made is not None]


@pytest.mark.parametrize(("question", "expected"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_an_answer_is_exact(csv_book: Callable[..., Workbook], question: str, expected: list[tuple[Any, ...]]) -> None:
    book = csv_book(ORDERS)
    assert asks_for_table(question)
    assert [sorted(rows, key=str) for rows in _answers(book, question)] == [sorted(expected, key=str)]


@pytest.mark.parametrize("question", NOT_UNDERSTOOD)
def test_what_is_not_understood_in_full_is_left_alone(csv_book: Callable[..., Workbook], question: str) -> None:
    assert _answers(csv_book(ORDERS), question) == []


def test_a_hundred_thousand_rows_are_all_counted(csv_book: Callable[..., Workbook]) -> None:
    rng = random.Random(6)
    rows = [(rng.choice(["north", "south", "west"]), rng.randrange(1, 100_000)) for _ in range(100_000)]
    lines = [f"{region},{cents // 100}.{cents % 100:02d}" for region, cents in rows]
    book = csv_book("Region,Price\n" + "\n".join(lines) + "\n", "sales.csv")
    south = [cents for region, cents in rows if region == "south"]
    dear = sum(cents > 50_000 for cents in south)
    assert book.tables[0].rows == 100_000
    assert (book.tables[0].first_row, book.tables[0].last_row) == (1, 100_001)
    assert _answers(book, "How many rows in sales.csv where region is south and price over 500?") == [[(dear,)]]
    total = Decimal(sum(south)) / 100
    assert _answers(book, "sum of price in sales.csv for region south") == [[(total,)]]


def test_a_row_of_totals_is_not_added_twice(xlsx_book: Callable[..., Workbook]) -> None:
    rows = [["Region", "Sales"], ["North", 10], ["South", 20.5], ["Total", 30.5]]
    table = xlsx_book({"Q3": rows}).tables[0]
    assert (table.rows, table.excluded) == (2, ("Total",))
    assert _answers(table.book, "What is the total of sales in book.xlsx?") == [[(Decimal("30.5"),)]]


def test_a_row_of_sums_without_a_label_is_not_added_twice(csv_book: Callable[..., Workbook]) -> None:
    table = csv_book("Region,Sales\nNorth,10\nSouth,20\nWest,5\n,35\n").tables[0]
    assert (table.rows, table.excluded) == (3, ("",))
    kept = csv_book("Region,Sales\nNorth,10\nSouth,20\nWest,5\n,36\n").tables[0]
    assert (kept.rows, kept.excluded) == (4, ())


def test_a_customer_called_total_is_kept(csv_book: Callable[..., Workbook]) -> None:
    table = csv_book("Customer,Sales\nTotal Energies,10\nAcme,20\n").tables[0]
    assert (table.rows, table.excluded) == (2, ())


def test_subtotals_inside_are_left_out(csv_book: Callable[..., Workbook]) -> None:
    table = csv_book("Region,Sales\nNorth,10\nSubtotal,10\nSouth,20\nSubtotal,20\nSumme,30\n").tables[0]
    assert (table.rows, table.excluded) == (2, ("Subtotal", "Subtotal", "Summe"))


def test_german_decimals(csv_book: Callable[..., Workbook]) -> None:
    text = "Artikel;Preis;Menge\nStuhl;1.234,50;2\nTisch;99,90;10\nBett;1.000;1.500\n"
    # 1,234.50 + 99.90 + 1,000 = 2,334.40; amounts: 2 + 10 + 1,500 = 1,512
    assert _answers(csv_book(text), "Summe von Preis in orders.csv") == [[(Decimal("2334.40"),)]]
    assert _answers(csv_book(text), "Summe von Menge in orders.csv") == [[(Decimal("1512"),)]]


def test_a_point_that_may_be_either_is_not_guessed(csv_book: Callable[..., Workbook]) -> None:
    book = csv_book("City,People\nA,1.234\nB,2.345\n")
    assert _answers(book, "sum of people in orders.csv") == []


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        (["$1,000.25", "($200.25)", "-$0.50"], "799.50"),
        (["12 %", "3 %", "0.5 %"], "15.5"),
        (["1 234,5 €", "10,25 €", "— "], "1244.75"),
        (["'1200", "300-", "n/a"], None),
        (["1e3", "2", "3"], "1005.0"),
        (["10 kg", "2.5 kg", "1 kg"], "13.5"),
        (["10 kg", "2500 g", "1 kg"], None),
        (["$10", "€10", "$5"], None),
        (["007", "008", "009"], None),
        (["10", "ten", "30"], None),
    ],
)
def test_figures_as_text(csv_book: Callable[..., Workbook], cells: list[str], total: str | None) -> None:
    lines = "\n".join(f'x{number};"{cell}"' for number, cell in enumerate(cells))
    got = _answers(csv_book(f"Name;Cost\n{lines}\n"), "sum of cost in orders.csv")
    assert got == (
        [] if total is None else [[(pytest.approx(float(total)),)]] if "e" in cells[0] else [[(Decimal(total),)]]
    )


def test_columns_of_one_name_are_not_guessed(csv_book: Callable[..., Workbook]) -> None:
    book = csv_book("Name,Amount,Amount,Note\na,1,10,x\nb,2,20,y\n")
    assert [column.name for column in book.tables[0].columns] == ["Name", "Amount", "Amount (2)", "Note"]
    assert _answers(book, "sum of amount in orders.csv") == []
    assert _answers(book, "how many rows in orders.csv where note is x") == [[(1,)]]


def test_a_column_without_a_name_can_still_be_searched(xlsx_book: Callable[..., Workbook]) -> None:
    book = xlsx_book({"Q3": [[None, "Sales", "Costs"], ["North", 10, 4], ["South", 20, 5], ["East", 1, 1]]})
    assert _answers(book, "sum of sales in book.xlsx for South") == [[(Decimal(20),)]]


def test_hidden_sheets_and_merged_cells_count(xlsx_book: Callable[..., Workbook]) -> None:
    rows = [["Region", "City", "Sales"], ["North", "Oslo", 10], [None, "Bergen", 5], ["South", "Rome", 1]]
    book = xlsx_book({"Plan": [["x", "y"], [1, 2], [3, 4]], "_Old": rows})
    assert [table.group for table in book.tables] == ["sheet Plan", "sheet Old (hidden)"]
    merged = xlsx_book({"Sales": rows}, merge="A2:A3")
    assert _answers(merged, "sum of sales in book.xlsx for North") == [[(Decimal(15),)]]


def test_wide_rows_written_as_lists_are_one_table(csv_book: Callable[..., Workbook]) -> None:
    names = [f"Question number {number} of the long survey form" for number in range(40)]
    rows = [["Country", "Score", *names]] + [
        [country, str(score), *["yes" if number % 2 else "" for number in range(40)]]
        for country, score in (("Chile", 1), ("Peru", 2), ("Chile", 4))
    ]
    book = csv_book("\n".join(",".join(row) for row in rows))
    assert len(book.tables) == 1
    assert _answers(book, "sum of score in orders.csv where country is Chile") == [[(Decimal(5),)]]


def test_two_tables_of_one_page_stay_two(pages_book: Callable[..., Workbook]) -> None:
    table = "| City | Sales |\n| --- | --- |\n| Oslo | 1 |"
    book = pages_book("a.pdf", [Page(ordinal=1, number=1, markdown=f"{table}\n\nNext year:\n\n{table}")])
    assert [table.rows for table in book.tables] == [1, 1]


def test_a_table_goes_on_over_pages_only_when_nothing_lies_between(pages_book: Callable[..., Workbook]) -> None:
    table = "| City | Sales |\n| --- | --- |\n| Oslo | 1 |"
    one, note = Page(ordinal=1, number=1, markdown=table), Page(ordinal=2, number=2, markdown=f"Notes.\n\n{table}")
    other = Page(ordinal=2, number=2, markdown=table)
    assert [table.rows for table in pages_book("a.pdf", [one, other]).tables] == [2]
    assert [table.rows for table in pages_book("a.pdf", [one, note]).tables] == [1, 1]


def test_a_row_knows_where_it_stands(csv_book: Callable[..., Workbook]) -> None:
    table = csv_book(ORDERS).tables[0]
    assert table.matching("\"Country\" = 'Spain'") == [5]
    assert table.places[5].page == 1
    assert table.places[5].end - table.places[5].start == len("| A6 | Initech | Spain | Shipped | 2024-03-31 |  | 4 |")


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE orders",
        "SELECT 1; SELECT 2",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM duckdb_settings()",
        "COPY orders TO '/tmp/x.csv'",
        "ATTACH '/tmp/x.db'",
        "INSTALL httpfs",
        "SET threads = 4",
        "SELECT nothing FROM orders",
        "PRAGMA database_list",
        "SELECT 1",
    ],
)
def test_sql_that_is_not_one_select_over_the_tables_is_refused(csv_book: Callable[..., Workbook], sql: str) -> None:
    with pytest.raises(TableError):
        csv_book(ORDERS).query(sql)


def test_a_query_that_takes_too_long_is_ended(
    csv_book: Callable[..., Workbook], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localrag.tables.workbook._TIMEOUT_S", 0.2)
    with pytest.raises(TableError):
        csv_book(ORDERS).query(
            "SELECT count(*) FROM orders, range(1000000000) a, range(1000000000) b WHERE a.range > b.range"
        )


def test_names_with_quotes_are_only_names(csv_book: Callable[..., Workbook]) -> None:
    book = csv_book('Name,"Pay ""x"" pay"\n"O\'Neil",3\nb,4\n', 'it\'s "x".csv')
    assert _answers(book, 'how many rows where name is "O\'Neil"') == [[(1,)]]
    assert _answers(book, "sum of pay x pay in the table") == [[(Decimal(7),)]]

"""Continuation: every row once and in order, whatever ends a page, and tokens that outlive what they name."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.data.tables import TableClient

from conftest import CREDENTIAL, ENDPOINT, OPTIONS, random_name, rejected

COUNT = 1150
KEYS = [(f"p{i // 500}", f"r{i % 500:03}") for i in range(COUNT)]


@pytest.fixture(scope="module")
def big(service):
    """1,150 rows in three partitions."""
    table = service.create_table(random_name())

    def insert(i):
        table.create_entity({"PartitionKey": KEYS[i][0], "RowKey": KEYS[i][1], "n": i, "even": i % 2 == 0})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(insert, range(COUNT)))
    yield table
    table.delete_table()


def keys(entities):
    return [(entity["PartitionKey"], entity["RowKey"]) for entity in entities]


def test_list_everything(big):
    """PG-09, QY-11"""
    assert keys(big.list_entities()) == KEYS


def test_a_page_ends_at_a_thousand(big):
    """PG-02"""
    pages = [keys(page) for page in big.list_entities().by_page()]
    assert sum(pages, []) == KEYS
    assert max(len(page) for page in pages) <= 1000
    assert len(pages) > 1


@pytest.mark.parametrize("size", [1000, 333, 100, 7])
def test_page_sizes(big, size):
    """PG-01, QY-04"""
    pages = [keys(page) for page in big.list_entities(results_per_page=size).by_page()]
    assert sum(pages, []) == KEYS
    assert max(len(page) for page in pages) <= size


def test_pages_of_one(big):
    entities = big.query_entities("PartitionKey eq 'p0' and RowKey lt 'r025'", results_per_page=1)
    assert keys(entities) == KEYS[:25]


def test_pages_of_a_filter(big):
    expected = [key for i, key in enumerate(KEYS) if i % 2 == 0]
    pages = [keys(page) for page in big.query_entities("even eq true", results_per_page=100).by_page()]
    assert sum(pages, []) == expected
    assert max(len(page) for page in pages) <= 100


def test_pages_with_select(big):
    """The keys need not be selected for the token to work."""
    entities = big.list_entities(select="n", results_per_page=400)
    assert [dict(entity) for entity in entities] == [{"n": i} for i in range(COUNT)]


def test_token_resumes_in_another_client(big):
    """PG-06, PG-07, PG-16"""
    pages = big.list_entities(results_per_page=100).by_page()
    first = keys(next(pages))
    token = pages.continuation_token
    assert set(token) == {"PartitionKey", "RowKey"}
    with TableClient(ENDPOINT, big.table_name, credential=CREDENTIAL, **OPTIONS) as other:
        rest = [keys(page) for page in other.list_entities(results_per_page=100).by_page(continuation_token=token)]
    assert first + sum(rest, []) == KEYS


def test_the_last_page_has_no_token(big):
    pages = big.query_entities("PartitionKey eq 'p2'", results_per_page=1000).by_page()
    assert len(keys(next(pages))) == 150
    assert pages.continuation_token is None


def test_pages_are_fetched_when_needed(big):
    """PG-18"""
    responses = []
    entities = iter(big.list_entities(results_per_page=500, raw_response_hook=responses.append))
    for _ in range(500):
        next(entities)
    assert len(responses) == 1
    next(entities)
    assert len(responses) == 2


def test_token_survives_the_row_that_it_names(table):
    """PG-10, PG-11, PG-12"""
    for i in range(10):
        table.create_entity({"PartitionKey": "p", "RowKey": f"{i:02}"})
    pages = table.list_entities(results_per_page=5).by_page()
    assert [row for _, row in keys(next(pages))] == ["00", "01", "02", "03", "04"]
    token = pages.continuation_token
    table.delete_entity("p", "05")
    table.create_entity({"PartitionKey": "p", "RowKey": "00 behind the token"})
    table.create_entity({"PartitionKey": "p", "RowKey": "07 ahead of the token"})
    rest = [row for _, row in keys(sum((list(page) for page in table.list_entities().by_page(token)), []))]
    assert rest == ["06", "07", "07 ahead of the token", "08", "09"]


def test_tokens_for_unusual_keys(table):
    """Tokens travel in headers and in the query: any key must survive both."""
    odd = sorted(["", " ", "'", "%", "%2F", "+", "&=", "a b", "é", "世界", "😀", "~!*()"], key=lambda k: k.encode("utf-16-be"))
    for key in odd:
        table.create_entity({"PartitionKey": key, "RowKey": key})
    assert keys(table.list_entities(results_per_page=1)) == [(key, key) for key in odd]


def test_a_page_ends_at_four_megabytes(table):
    """PG-03"""
    chunks = {f"p{i:02}": "x" * 32700 for i in range(14)}
    for i in range(10):
        table.create_entity({"PartitionKey": "p", "RowKey": f"{i:02}", **chunks})
    pages = [keys(page) for page in table.list_entities().by_page()]
    assert sum(pages, []) == [("p", f"{i:02}") for i in range(10)]
    assert len([page for page in pages if page]) > 1


def test_top_limits(big):
    """QY-05: a page size of 0 returns nothing, and more than 1000 is rejected."""
    pages = big.list_entities(results_per_page=0).by_page()
    assert keys(next(pages)) == []
    assert pages.continuation_token is None
    assert rejected(400, "InvalidInput", big.list_entities, results_per_page=1001) == "One of the request inputs is not valid."


def test_a_malformed_token(big):
    def resume():
        next(big.list_entities().by_page({"PartitionKey": "no token of ours", "RowKey": "neither"}))

    rejected(400, "InvalidInput", resume)

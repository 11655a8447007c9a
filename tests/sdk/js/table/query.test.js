// Filters over all types, projection, order and continuation.
"use strict";

const assert = require("node:assert/strict");
const { before, test } = require("node:test");
const { odata } = require("@azure/data-tables");
const { all, client, own, randomName, rejected, service, table, watching } = require("./helper.js");

const ID = "c9da6455-213d-42c9-9a79-3e9149a57833";
const OTHER_ID = "00000000-0000-0000-0000-000000000001";
const guid = (value) => ({ type: "Guid", value });

// Row 4 has the same names with other types, row 5 has none of them.
const ROWS = [
  { partitionKey: "a", rowKey: "1", i: 10, l: 64n, d: 1.5, s: "apple", b: true, g: guid(ID), t: new Date("2020-01-01"), x: new Uint8Array([1, 2]) },
  { partitionKey: "a", rowKey: "2", i: 20, l: 2n ** 40n, d: 2.5, s: "O'Hare", b: false, g: guid(OTHER_ID), t: new Date("2021-01-01"), x: new Uint8Array([1]) },
  { partitionKey: "b", rowKey: "3", i: -5, l: -1n, d: -0.5, s: "", b: true, g: guid(OTHER_ID), t: new Date("1999-12-31"), x: new Uint8Array(0) },
  { partitionKey: "b", rowKey: "4", i: "10", l: 10, d: 2n, s: 5, b: "true", g: ID, t: "2020-01-01T00:00:00Z", x: "0102" },
  { partitionKey: "c", rowKey: "5", other: 1 },
];
let data;
before(async () => {
  data = await table();
  for (const row of ROWS) {
    await data.createEntity(row);
  }
});

const FILTERS = [
  ["i eq 10", "1"], ["i ne 10", "23"], ["i gt 10", "2"], ["i ge 10", "12"], ["i lt 10", "3"], ["i le -5", "3"],
  ["l eq 1099511627776L", "2"], ["l lt 1099511627776L", "13"], ["l eq 64", "1"], ["l eq 10", "4"], ["l eq 10L", ""],
  ["d eq 2.5", "2"], ["d gt 1.0", "12"], ["d le 1.5", "13"],
  ["s eq 'apple'", "1"], ["s eq 'O''Hare'", "2"], ["s eq ''", "3"], ["s ne 'apple'", "23"], ["s ge 'a'", "1"],
  ["b eq true", "13"], ["b eq false", "2"], ["b ne true", "2"],
  [`g eq guid'${ID}'`, "1"], [`g ne guid'${ID}'`, "23"], [`g eq guid'${ID.toUpperCase()}'`, "1"],
  ["t eq datetime'2020-01-01T00:00:00Z'", "1"], ["t gt datetime'2020-01-01T00:00:00Z'", "2"], ["t lt datetime'2020-01-01T00:00:00Z'", "3"],
  ["x eq X'0102'", "1"], ["x eq binary'0102'", "1"], ["x ne X'0102'", "23"],
  ["i eq 10.0", ""], ["i eq '10'", "4"], ["missing ne 1", ""], ["not (i eq 10)", "23"], ["5 lt i", "12"],
  ["PartitionKey eq 'a' and RowKey eq '1'", "1"], ["PartitionKey gt 'a' and PartitionKey lt 'c'", "34"],
  ["i eq 10 or i eq 20 and b eq true", "1"], ["(i eq 10 or i eq 20) and b eq false", "2"],
];
for (const [filter, expected] of FILTERS) {
  test(`filter ${filter} (QY-02, QY-08, QY-10, QY-20)`, async () => {
    const rows = await all(data.listEntities({ queryOptions: { filter } }));
    assert.equal(rows.map((row) => row.rowKey).join(""), expected);
  });
}

test("the odata tag quotes and escapes", async () => {
  const found = async (filter) => (await all(data.listEntities({ queryOptions: { filter } }))).map((row) => row.rowKey).join("");
  assert.equal(await found(odata`s eq ${"O'Hare"}`), "2");
  assert.equal(await found(odata`s eq '${"O'Hare"}'`), "2");
  assert.equal(await found(odata`i gt ${0} and b eq ${false}`), "2");
  assert.equal(await found(odata`t ge ${new Date("2021-01-01")}`), "2");
  assert.equal(await found(odata`s eq ${"x' or RowKey ne 'x"}`), "");
});

test("select (QY-06)", async () => {
  const queryOptions = { filter: "RowKey ge '4'", select: ["rowKey", "other"] };
  const rows = await all(data.listEntities({ queryOptions }));
  assert.deepEqual(rows.map(own), [{ rowKey: "4", other: null }, { rowKey: "5", other: 1 }]);
  assert.ok(rows.every((row) => row.etag));
});

test("rejected filters", async () => {
  const check = (filter, text) => rejected(data.listEntities({ queryOptions: { filter } }), 400, "InvalidInput", text);
  await check("aaa bbb ccc", "Syntax error at position 7 in 'aaa bbb ccc'.");
  await check("i eq null", "One of the request inputs is not valid.");
  await check("PartitionKey eq 5");
  await check("i eq");
  await check("(i eq 1");
});

test("a missing table", async () => {
  await rejected(client(randomName()).listEntities(), 404, "TableNotFound", "The table specified does not exist.");
});

test("entities come in key order, by UTF-16 unit (DM-25, QY-11)", async () => {
  const fresh = await table();
  const keys = ["", " ", "10000", "92", "A", "Z", "a", "aa", "b", "é", "世", "😀", "\uff5e"];
  for (const key of [...keys].reverse()) {
    await fresh.createEntity({ partitionKey: key, rowKey: key });
  }
  assert.deepEqual((await all(fresh.listEntities())).map((row) => row.partitionKey), keys);
});

const COUNT = 1150;
const KEYS = Array.from({ length: COUNT }, (_, i) => `p${Math.floor(i / 500)} r${String(i % 500).padStart(3, "0")}`);
const keysOf = (rows) => rows.map((row) => `${row.partitionKey} ${row.rowKey}`);
let big;
before(async () => {
  big = await table();
  const indices = KEYS.keys();
  const worker = async () => {
    for (const i of indices) {
      const [partitionKey, rowKey] = KEYS[i].split(" ");
      await big.createEntity({ partitionKey, rowKey, n: i, even: i % 2 === 0 });
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
});

test("listEntities goes through all pages (PG-02, PG-09)", async () => {
  const responses = [];
  assert.deepEqual(keysOf(await all(big.listEntities(watching(responses)))), KEYS);
  assert.ok(responses.length > 1);
});

for (const maxPageSize of [undefined, 1000, 333, 50]) {
  test(`byPage of ${maxPageSize} (PG-01)`, async () => {
    const pages = await all(big.listEntities().byPage({ maxPageSize }));
    assert.deepEqual(keysOf(pages.flat()), KEYS);
    assert.ok(pages.every((page) => page.length <= (maxPageSize ?? 1000)));
    assert.equal(pages.at(-1).continuationToken, undefined);
  });
}

test("pages of a filter with select", async () => {
  const queryOptions = { filter: "even eq true", select: ["n"] };
  const pages = await all(big.listEntities({ queryOptions }).byPage({ maxPageSize: 100 }));
  assert.deepEqual(pages.flat().map((row) => row.n), KEYS.map((_, i) => i).filter((i) => i % 2 === 0));
});

test("a token resumes in another client (PG-06, PG-07, PG-16)", async () => {
  const first = (await big.listEntities().byPage({ maxPageSize: 100 }).next()).value;
  const settings = { maxPageSize: 500, continuationToken: first.continuationToken };
  const rest = (await all(client(big.tableName).listEntities().byPage(settings))).flat();
  assert.deepEqual([...keysOf(first), ...keysOf(rest)], KEYS);
});

test("a token survives the row that it names (PG-10)", async () => {
  const fresh = await table();
  for (const rowKey of ["1", "2", "3", "4"]) {
    await fresh.createEntity({ partitionKey: "p", rowKey });
  }
  const first = (await fresh.listEntities().byPage({ maxPageSize: 2 }).next()).value;
  await fresh.deleteEntity("p", "3");
  const rest = (await all(fresh.listEntities().byPage({ continuationToken: first.continuationToken }))).flat();
  assert.deepEqual(rest.map((row) => row.rowKey), ["4"]);
});

test("page sizes beyond a thousand are rejected (QY-05)", async () => {
  await rejected(big.listEntities().byPage({ maxPageSize: 1001 }), 400, "InvalidInput", "One of the request inputs is not valid.");
  await rejected(service.listTables().byPage({ maxPageSize: 1001 }), 400, "InvalidInput", "One of the request inputs is not valid.");
});

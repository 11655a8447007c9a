// Unusual keys reach the entity that they name, and no other.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { odata } = require("@azure/data-tables");
const { all, failure, own, rejected, table } = require("./helper.js");
const KEYS = require("./keys.js");

for (const key of KEYS) {
  test(`every operation on the key ${JSON.stringify(key)} (OP-08, DM-12)`, async () => {
    const fresh = await table();
    await fresh.createEntity({ partitionKey: "other", rowKey: "row" });
    const entity = { partitionKey: key, rowKey: key, n: 1 };
    await fresh.createEntity(entity);
    assert.deepEqual(own(await fresh.getEntity(key, key)), entity);
    await fresh.updateEntity({ ...entity, n: 2 });
    await fresh.updateEntity({ ...entity, n: 3 }, "Replace");
    await fresh.upsertEntity({ ...entity, n: 4 });
    await fresh.upsertEntity({ ...entity, n: 5 }, "Replace");
    const filter = odata`PartitionKey eq ${key} and RowKey eq ${key}`;
    assert.deepEqual((await all(fresh.listEntities({ queryOptions: { filter } }))).map(own), [{ ...entity, n: 5 }]);
    await fresh.deleteEntity(key, key);
    assert.deepEqual((await all(fresh.listEntities())).map((row) => row.rowKey), ["row"]);
  });
}

test("the keys live side by side", async () => {
  const fresh = await table();
  for (const key of KEYS) {
    await fresh.createEntity({ partitionKey: key, rowKey: "fixed", v: key });
    await fresh.createEntity({ partitionKey: "fixed", rowKey: key, v: key });
  }
  for (const key of KEYS) {
    assert.equal((await fresh.getEntity(key, "fixed")).v, key);
    assert.equal((await fresh.getEntity("fixed", key)).v, key);
  }
});

test("pages go past every key", async () => {
  const fresh = await table();
  for (const key of KEYS) {
    await fresh.createEntity({ partitionKey: key, rowKey: key });
  }
  const rows = (await all(fresh.listEntities().byPage({ maxPageSize: 1 }))).flat();
  assert.deepEqual(rows.map((row) => row.rowKey), [...KEYS].sort());
});

test("forbidden characters (HT-06)", async () => {
  const fresh = await table();
  for (const key of ["a/b", "a\\b", "a#b", "a?b"]) {
    const text = (name) => `The '${name}' parameter of value '${key}' is out of range.`;
    await rejected(fresh.createEntity({ partitionKey: key, rowKey: "r" }), 400, "OutOfRangeInput", text("PartitionKey"));
    await rejected(fresh.createEntity({ partitionKey: "p", rowKey: key }), 400, "OutOfRangeInput", text("RowKey"));
  }
  for (const key of ["a\tb", "a\u0000b", "a\u007fb", "a\u009fb"]) {
    assert.equal((await failure(fresh.createEntity({ partitionKey: key, rowKey: "r" }))).statusCode, 400);
  }
  assert.deepEqual(await all(fresh.listEntities()), []);
});

// Entities: insert, read, update, upsert, delete, conditions and limits.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { all, own, rejected, table, watching } = require("./helper.js");

const FOREIGN_ETAG = `W/"datetime'2012-06-15T22%3A51%3A44.9662825Z'"`;
const MODES = ["Merge", "Replace"];
const NOT_FOUND = [404, "ResourceNotFound", "The specified resource does not exist."];
const MODIFIED = [412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied."];

function row(properties = {}) {
  return { partitionKey: "p", rowKey: "r", ...properties };
}

test("createEntity returns etag and address, without content (OP-09, CC-07)", async () => {
  const fresh = await table();
  const responses = [];
  const result = await fresh.createEntity(row({ a: 1 }), watching(responses));
  assert.equal(result.preferenceApplied, "return-no-content");
  assert.equal(result.etag, (await fresh.getEntity("p", "r")).etag);
  const [{ status, headers }] = responses;
  assert.equal(status, 204);
  assert.ok(headers.get("Location").endsWith(`/${fresh.tableName}(PartitionKey='p',RowKey='r')`));
  assert.equal(headers.get("DataServiceId"), headers.get("Location"));
});

test("createEntity twice (DM-11)", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1 }));
  await rejected(fresh.createEntity(row({ a: 2 })), 409, "EntityAlreadyExists", "The specified entity already exists.");
  assert.equal((await fresh.getEntity("p", "r")).a, 1);
});

test("createEntity without a key", async () => {
  const fresh = await table();
  const text = "The values are not specified for all properties in the entity.";
  await rejected(fresh.createEntity({ partitionKey: "p" }), 400, "PropertiesNeedValue", text);
  await rejected(fresh.createEntity({ rowKey: "r" }), 400, "PropertiesNeedValue", text);
});

test("getEntity: keys, etag, timestamp and properties; missing is 404 (OP-08)", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1, b: "x" }));
  const entity = await fresh.getEntity("p", "r");
  assert.deepEqual(own(entity), row({ a: 1, b: "x" }));
  assert.equal(entity.etag, `W/"datetime'${encodeURIComponent(entity.timestamp)}'"`);
  await rejected(fresh.getEntity("p", "other"), ...NOT_FOUND);
});

test("getEntity with select (QY-06); absent properties come as null", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1, b: "x" }));
  const entity = await fresh.getEntity("p", "r", { queryOptions: { select: ["a", "rowKey"] } });
  assert.deepEqual(own(entity), { rowKey: "r", a: 1 });
  assert.ok(entity.etag);
  assert.deepEqual(own(await fresh.getEntity("p", "r", { queryOptions: { select: ["a", "missing"] } })), { a: 1, missing: null });
});

test("updateEntity merges by default and replaces on request (OP-10, OP-11)", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1, b: 2 }));
  const merged = await fresh.updateEntity(row({ b: 3, c: 4 }));
  assert.deepEqual(own(await fresh.getEntity("p", "r")), row({ a: 1, b: 3, c: 4 }));
  const replaced = await fresh.updateEntity(row({ d: 5 }), "Replace");
  const entity = await fresh.getEntity("p", "r");
  assert.deepEqual(own(entity), row({ d: 5 }));
  assert.equal(entity.etag, replaced.etag);
  assert.notEqual(merged.etag, replaced.etag);
});

test("null and undefined change nothing in a merge, and are not stored by an insert (7.6)", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1, gone: null }));
  await fresh.updateEntity(row({ a: null, b: undefined }));
  assert.deepEqual(own(await fresh.getEntity("p", "r")), row({ a: 1 }));
  await fresh.updateEntity(row({ a: null, b: 2 }), "Replace");
  assert.deepEqual(own(await fresh.getEntity("p", "r")), row({ b: 2 }));
});

for (const mode of MODES) {
  test(`updateEntity ${mode} of a missing entity (OP-12)`, async () => {
    const fresh = await table();
    await rejected(fresh.updateEntity(row(), mode), ...NOT_FOUND);
    await rejected(fresh.updateEntity(row(), mode, { etag: FOREIGN_ETAG }), ...NOT_FOUND);
  });

  test(`updateEntity ${mode} with etags (CC-03, CC-04, CC-05, CC-06)`, async () => {
    const fresh = await table();
    const { etag } = await fresh.createEntity(row({ a: 1 }));
    const newer = await fresh.updateEntity(row({ a: 2 }), mode, { etag });
    await rejected(fresh.updateEntity(row({ a: 3 }), mode, { etag }), ...MODIFIED);
    await rejected(fresh.updateEntity(row({ a: 3 }), mode, { etag: 'W/"x"' }), ...MODIFIED);
    assert.equal((await fresh.getEntity("p", "r")).a, 2);
    await fresh.updateEntity(row({ a: 4 }), mode, { etag: newer.etag });
    await fresh.updateEntity(row({ a: 5 }), mode, { etag: "*" });
    assert.equal((await fresh.getEntity("p", "r")).a, 5);
  });

  test(`upsertEntity ${mode} creates and changes (OP-13, OP-14)`, async () => {
    const fresh = await table();
    const first = await fresh.upsertEntity(row({ a: 1 }), mode);
    assert.equal(first.etag, (await fresh.getEntity("p", "r")).etag);
    await fresh.upsertEntity(row({ b: 2 }), mode);
    assert.deepEqual(own(await fresh.getEntity("p", "r")), mode === "Merge" ? row({ a: 1, b: 2 }) : row({ b: 2 }));
  });
}

test("upsertEntity merges by default", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1 }));
  await fresh.upsertEntity(row({ b: 2 }));
  assert.deepEqual(own(await fresh.getEntity("p", "r")), row({ a: 1, b: 2 }));
});

test("deleteEntity, with and without etag (OP-15, CC-04)", async () => {
  const fresh = await table();
  const { etag } = await fresh.createEntity(row({ a: 1 }));
  const newer = await fresh.updateEntity(row({ a: 2 }));
  await rejected(fresh.deleteEntity("p", "r", { etag }), ...MODIFIED);
  await fresh.deleteEntity("p", "r", { etag: newer.etag });
  await rejected(fresh.deleteEntity("p", "r"), ...NOT_FOUND);
  await rejected(fresh.deleteEntity("p", "r", { etag }), ...NOT_FOUND);
  await fresh.createEntity(row());
  const responses = [];
  await fresh.deleteEntity("p", "r", watching(responses));
  assert.equal(responses[0].status, 204);
  assert.equal(responses[0].headers.get("etag"), undefined);
  assert.deepEqual(await all(fresh.listEntities()), []);
});

test("an entity that was read may be written as it is", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ a: 1, big: 2n ** 40n, when: new Date(0), bytes: new Uint8Array([1, 2]) }));
  for (const mode of MODES) {
    const before = await fresh.getEntity("p", "r");
    await fresh.updateEntity(before, mode, { etag: before.etag });
    assert.deepEqual(own(await fresh.getEntity("p", "r")), own(before));
  }
});

test("timestamp belongs to the service (DM-13)", async () => {
  const fresh = await table();
  await fresh.createEntity(row({ timestamp: "2001-01-01T00:00:00Z" }));
  assert.ok(new Date((await fresh.getEntity("p", "r")).timestamp) > new Date("2020-01-01"));
});

test("every write renews the etag (CC-01, WR-12)", async () => {
  const fresh = await table();
  const seen = [(await fresh.createEntity(row())).etag];
  for (let i = 0; i < 20; i += 1) {
    seen.push((await fresh.updateEntity(row())).etag, (await fresh.upsertEntity(row(), "Replace")).etag);
  }
  assert.equal(new Set(seen).size, seen.length);
});

test("limits (DM-12, DM-18, DM-19, DM-20)", async () => {
  const fresh = await table();
  const many = (count, value) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, value]));
  await fresh.upsertEntity(row({ v: "x".repeat(32768), w: new Uint8Array(65536) }), "Replace");
  await fresh.upsertEntity(row(many(252, 1)), "Replace");
  await rejected(fresh.upsertEntity(row(many(253, 1)), "Replace"), 400, "TooManyProperties");
  await rejected(fresh.upsertEntity(row({ extra: 1 })), 400, "TooManyProperties");
  await rejected(fresh.upsertEntity(row({ v: "x".repeat(32769) }), "Replace"), 400, "PropertyValueTooLarge");
  await rejected(fresh.upsertEntity(row({ v: new Uint8Array(65537) }), "Replace"), 400, "PropertyValueTooLarge");
  await rejected(fresh.upsertEntity(row(many(17, "x".repeat(32700))), "Replace"), 400, "EntityTooLarge");
  await rejected(fresh.upsertEntity(row({ ["n".repeat(256)]: 1 })), 400, "PropertyNameTooLong");
  await rejected(fresh.createEntity({ partitionKey: "k".repeat(1025), rowKey: "r" }), 400, "KeyValueTooLarge");
  await fresh.createEntity({ partitionKey: "k".repeat(1024), rowKey: "k".repeat(1024) });
  assert.equal((await fresh.getEntity("k".repeat(1024), "k".repeat(1024))).rowKey.length, 1024);
});

// Entity group transactions: all or nothing, and failures that name the operation at fault.
"use strict";

const assert = require("node:assert/strict");
const { TableTransaction } = require("@azure/data-tables");
const { all, client, failure, grouped, own, randomName, table } = require("./helper.js");
const KEYS = require("./keys.js");

const batch = (name, body) => grouped(["batch"], name, body);
const FOREIGN_ETAG = `W/"datetime'2012-06-15T22%3A51%3A44.9662825Z'"`;
const row = (rowKey, properties) => ({ partitionKey: "p", rowKey, ...properties });

async function content(fresh) {
  return Object.fromEntries((await all(fresh.listEntities())).map((entity) => [entity.rowKey, entity.v]));
}

/** The actions are rejected with this status, code and text, and change nothing. */
async function fails(fresh, actions, status, code, text) {
  const before = await content(fresh);
  const error = await failure(fresh.submitTransaction(actions));
  assert.deepEqual([error.statusCode, error.code], [status, code], error.message);
  assert.equal(error.message.split("\n")[0], text);
  assert.deepEqual(await content(fresh), before);
}

batch("every kind of action in one transaction (TX-14, TX-19)", async () => {
  const fresh = await table();
  for (const key of ["merge", "replace", "upsert merge", "upsert replace", "delete"]) {
    await fresh.createEntity(row(key, { v: 1, kept: true }));
  }
  const result = await fresh.submitTransaction([
    ["create", row("created", { v: 2 })],
    ["update", row("merge", { v: 2 })],
    ["update", row("replace", { v: 2 }), "Replace"],
    ["upsert", row("upsert merge", { v: 2 }), "Merge"],
    ["upsert", row("upsert replace", { v: 2 }), "Replace"],
    ["upsert", row("upsert new", { v: 2 })],
    ["delete", row("delete")],
  ]);
  assert.equal(result.status, 202);
  assert.deepEqual(result.subResponses.map((part) => part.status), [204, 204, 204, 204, 204, 204, 204]);
  const entities = await all(fresh.listEntities());
  assert.deepEqual(Object.fromEntries(entities.map((entity) => [entity.rowKey, [entity.v, entity.kept]])), {
    created: [2, undefined], merge: [2, true], replace: [2, undefined],
    "upsert merge": [2, true], "upsert new": [2, undefined], "upsert replace": [2, undefined],
  });
  assert.equal(result.subResponses[6].etag, undefined);
  assert.equal(result.getResponseForEntity("created").etag, entities.find((entity) => entity.rowKey === "created").etag);
  assert.equal(result.subResponses[1].etag, entities.find((entity) => entity.rowKey === "merge").etag);
});

batch("TableTransaction collects the same actions", async () => {
  const fresh = await table();
  await fresh.submitTransaction([["create", row("1", { v: 1, kept: 1 })], ["create", row("2", { v: 1, kept: 1 })], ["create", row("3")]]);
  const { etag } = await fresh.getEntity("p", "2");
  const transaction = new TableTransaction();
  transaction.createEntity(row("new", { v: 2 }));
  transaction.updateEntity(row("1", { v: 2 }), "Replace");
  transaction.updateEntity(row("2", { v: 2 }), "Merge", { etag });
  transaction.upsertEntity(row("4", { v: 2 }));
  transaction.upsertEntity(row("5", { v: 2 }), "Replace");
  transaction.deleteEntity("p", "3");
  assert.equal(transaction.actions.length, 6);
  await fresh.submitTransaction(transaction.actions);
  assert.deepEqual(await content(fresh), { 1: 2, 2: 2, 4: 2, 5: 2, new: 2 });
  assert.deepEqual(own(await fresh.getEntity("p", "1")), row("1", { v: 2 }));
  assert.equal((await fresh.getEntity("p", "2")).kept, 1);
  const another = new TableTransaction([["delete", row("4")]]);
  another.updateEntity(row("2", { v: 3 }), { etag });
  await fails(fresh, another.actions, 412, "UpdateConditionNotSatisfied", "1:The update condition specified in the request was not satisfied.");
});

batch("one transaction has one timestamp", async () => {
  const fresh = await table();
  const { subResponses } = await fresh.submitTransaction([["create", row("1")], ["create", row("2")], ["upsert", row("3")]]);
  assert.equal(new Set(subResponses.map((part) => part.etag)).size, 1);
  assert.deepEqual((await all(fresh.listEntities())).map((entity) => entity.etag), subResponses.map((part) => part.etag));
});

batch("a hundred actions, and one more (TX-01)", async () => {
  const fresh = await table();
  const actions = Array.from({ length: 101 }, (_, i) => ["create", row(String(i).padStart(19, "0"), { v: i })]);
  await fails(fresh, actions, 400, "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.");
  const result = await fresh.submitTransaction(actions.slice(0, 100));
  assert.equal(result.subResponses.length, 100);
  assert.equal((await all(fresh.listEntities())).length, 100);
});

batch("all types", async () => {
  const fresh = await table();
  const entity = row("1", {
    s: "Grüße 😀 {braces}\r\n--changesetresponse_x", i: -5, l: 2n ** 62n, d: 2.5, b: true,
    g: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" }, t: new Date(0),
  });
  for (const kind of ["create", "update", "upsert"]) {
    await fresh.submitTransaction([[kind, entity]]);
    assert.deepEqual(own(await fresh.getEntity("p", "1")), entity);
  }
});

for (const key of KEYS) {
  batch(`the key ${JSON.stringify(key)} reaches its entity`, async () => {
    const fresh = await table();
    await fresh.createEntity({ partitionKey: "other", rowKey: "row" });
    const mine = { partitionKey: key, rowKey: key };
    await fresh.submitTransaction([["create", { ...mine, v: 1 }], ["create", { ...mine, rowKey: `${key}2` }]]);
    await fresh.submitTransaction([["update", { ...mine, v: 2 }], ["delete", { ...mine, rowKey: `${key}2` }]]);
    await fresh.submitTransaction([["upsert", { ...mine, v: 3 }, "Replace"]]);
    assert.equal((await fresh.getEntity(key, key)).v, 3);
    await fresh.submitTransaction([["delete", mine]]);
    assert.deepEqual((await all(fresh.listEntities())).map((entity) => entity.rowKey), ["row"]);
  });
}

for (const index of [0, 2]) {
  batch(`failures at ${index} (TX-09, TX-12, TX-15)`, async () => {
    const fresh = await table();
    await fresh.createEntity(row("exists", { v: 0 }));
    const check = (bad, status, code, text) => {
      const actions = ["1", "2", "3"].map((key) => ["upsert", row(key, { v: 1 })]);
      actions[index] = bad;
      return fails(fresh, actions, status, code, `${index}:${text}`);
    };
    await check(["create", row("exists")], 409, "EntityAlreadyExists", "The specified entity already exists.");
    await check(["update", row("missing")], 404, "ResourceNotFound", "The specified resource does not exist.");
    await check(["delete", row("missing")], 404, "ResourceNotFound", "The specified resource does not exist.");
    await check(
      ["update", row("exists"), "Merge", { etag: FOREIGN_ETAG }],
      412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.",
    );
    await check(
      ["upsert", row("big", { v: "x".repeat(32769) })],
      400, "PropertyValueTooLarge",
      "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.",
    );
  });
}

batch("an entity twice (TX-05)", async () => {
  const fresh = await table();
  await fails(
    fresh, [["create", row("1")], ["create", row("2")], ["upsert", row("1")]], 400, "InvalidDuplicateRow",
    "2:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
  );
});

batch("two partitions are rejected by the SDK", async () => {
  const fresh = await table();
  const actions = [["create", row("1")], ["create", { partitionKey: "q", rowKey: "2" }]];
  assert.match((await failure(fresh.submitTransaction(actions))).message, /must target the same partitionKey/);
});

batch("a missing table", async () => {
  const error = await failure(client(randomName()).submitTransaction([["create", row("1")]]));
  assert.deepEqual([error.statusCode, error.code], [404, "TableNotFound"]);
  assert.match(error.message, /^0:The table specified does not exist\./);
});

batch("more than four megabytes (TX-02)", async () => {
  const fresh = await table();
  const chunks = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`p${i}`, "x".repeat(32000)]));
  const actions = Array.from({ length: 10 }, (_, i) => ["create", row(String(i), chunks)]);
  assert.equal((await failure(fresh.submitTransaction(actions))).statusCode, 413);
  assert.deepEqual(await content(fresh), {});
});

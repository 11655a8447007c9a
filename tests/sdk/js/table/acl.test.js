// Stored access policies of a table.
"use strict";

const assert = require("node:assert/strict");
const { client, failure, grouped, plain, randomName, table } = require("./helper.js");

const acl = (name, body) => grouped(["acl"], name, body);
const START = new Date("2030-01-02T03:04:05Z");
const EXPIRY = new Date("2030-01-02T04:04:05Z");

async function policies(fresh) {
  return plain([...(await fresh.getAccessPolicy())]);
}

acl("a new table has no policies", async () => {
  assert.deepEqual(await policies(await table()), []);
});

acl("policies come back, whole and in part (OP-22)", async () => {
  const fresh = await table();
  const wanted = [
    { id: "all", accessPolicy: { expiry: EXPIRY, start: START, permission: "raud" } },
    { id: "no start", accessPolicy: { expiry: EXPIRY, permission: "r" } },
    { id: "times", accessPolicy: { expiry: EXPIRY, start: START } },
  ];
  await fresh.setAccessPolicy(wanted);
  assert.deepEqual(await policies(fresh), plain(wanted));
  await fresh.setAccessPolicy(wanted.slice(1, 2));
  assert.deepEqual(await policies(fresh), plain(wanted.slice(1, 2)));
  await fresh.setAccessPolicy([]);
  assert.deepEqual(await policies(fresh), []);
});

acl("five policies and no more", async () => {
  const fresh = await table();
  const many = (count) => Array.from({ length: count }, (_, i) => ({ id: `id${i}`, accessPolicy: { expiry: EXPIRY, permission: "r" } }));
  await fresh.setAccessPolicy(many(5));
  assert.equal((await policies(fresh)).length, 5);
  assert.equal((await failure(fresh.setAccessPolicy(many(6)))).statusCode, 400);
});

acl("a missing table", async () => {
  const missing = client(randomName());
  assert.equal((await failure(missing.getAccessPolicy())).statusCode, 404);
  assert.equal((await failure(missing.setAccessPolicy([]))).statusCode, 404);
});

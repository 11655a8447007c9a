// Rejections that do not depend on the data: tables that are missing, keys that are wrong.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { AzureNamedKeyCredential, RestError, TableServiceClient } = require("@azure/data-tables");
const { ACCOUNT, CREDENTIAL, ENDPOINT, KEY, OPTIONS, client, failure, randomName, rejected, service, table, watching } = require("./helper.js");

const ROW = { partitionKey: "p", rowKey: "r" };
const WRONG = new AzureNamedKeyCredential(ACCOUNT, "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc=");
const FAILED = "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
const CALLS = {
  createEntity: (other) => other.createEntity(ROW),
  "updateEntity Merge": (other) => other.updateEntity(ROW, "Merge"),
  "updateEntity Replace": (other) => other.updateEntity(ROW, "Replace"),
  "upsertEntity Merge": (other) => other.upsertEntity(ROW, "Merge"),
  "upsertEntity Replace": (other) => other.upsertEntity(ROW, "Replace"),
  deleteEntity: (other) => other.deleteEntity("p", "r"),
  getEntity: (other) => other.getEntity("p", "r"),
  listEntities: (other) => other.listEntities(),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} on a missing table (OP-17)`, async () => {
    const error = await rejected(call(client(randomName())), 404, "TableNotFound", "The table specified does not exist.");
    assert.ok(error instanceof RestError);
  });

  test(`${name} with the wrong key (AU-06)`, async () => {
    const fresh = await table();
    await rejected(call(client(fresh.tableName, WRONG)), 403, "AuthenticationFailed", FAILED);
  });
}

test("tables with the wrong key", async () => {
  const other = new TableServiceClient(ENDPOINT, WRONG, OPTIONS);
  await rejected(other.createTable(randomName()), 403, "AuthenticationFailed", FAILED);
  await rejected(other.deleteTable(randomName()), 403, "AuthenticationFailed", FAILED);
  await rejected(other.listTables(), 403, "AuthenticationFailed", FAILED);
});

test("a renewed key takes effect", async () => {
  const fresh = await table();
  const credential = new AzureNamedKeyCredential(ACCOUNT, WRONG.key);
  const other = client(fresh.tableName, credential);
  await rejected(other.getEntity("p", "r"), 403, "AuthenticationFailed");
  credential.update(ACCOUNT, KEY);
  await rejected(other.getEntity("p", "r"), 404, "ResourceNotFound");
});

test("an unknown account", async () => {
  const other = new TableServiceClient(ENDPOINT.replace(ACCOUNT, "nosuchaccount"), new AzureNamedKeyCredential("nosuchaccount", KEY), OPTIONS);
  assert.ok([403, 404].includes((await failure(other.listTables())).statusCode));
});

test("http needs allowInsecureConnection", { skip: ENDPOINT.startsWith("https") }, async () => {
  const error = await failure(new TableServiceClient(ENDPOINT, CREDENTIAL).createTable(randomName()));
  assert.match(error.message, /allowInsecureConnection/);
});

test("headers of responses (2.2)", async () => {
  const fresh = await table();
  const responses = [];
  await fresh.upsertEntity(ROW, "Merge", watching(responses));
  await fresh.getEntity("p", "r", watching(responses));
  await service.createTable(randomName(), watching(responses));
  for (const { headers, request } of responses) {
    assert.equal(headers.get("cache-control"), "no-cache");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.match(headers.get("x-ms-request-id"), /^[0-9a-f-]{36}$/);
    assert.equal(headers.get("x-ms-client-request-id"), request.headers.get("x-ms-client-request-id"));
  }
});

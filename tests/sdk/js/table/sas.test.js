// Shared access signatures of table and account.
"use strict";

const assert = require("node:assert/strict");
const { AzureSASCredential, generateAccountSas, generateTableSas, TableClient, TableServiceClient } = require("@azure/data-tables");
const { CREDENTIAL, ENDPOINT, OPTIONS, all, client, failure, grouped, randomName, rejected, table } = require("./helper.js");

const sas = (name, body, groups = []) => grouped(["sas", ...groups], name, body);
const ALL = { query: true, add: true, update: true, delete: true };
const HOUR = 3600 * 1000;
const row = (rowKey, properties) => ({ partitionKey: "p", rowKey, ...properties });

function holder(fresh, options) {
  return client(fresh.tableName, new AzureSASCredential(generateTableSas(fresh.tableName, CREDENTIAL, options)));
}

sas("a table SAS with all permissions", async () => {
  const fresh = await table();
  const other = holder(fresh, { permissions: ALL });
  await other.createEntity(row("1", { n: 1 }));
  await other.updateEntity(row("1", { n: 2 }));
  await other.upsertEntity(row("1", { n: 3 }), "Replace");
  assert.equal((await other.getEntity("p", "1")).n, 3);
  assert.equal((await all(other.listEntities())).length, 1);
  await other.deleteEntity("p", "1");
});

sas("the default permits queries only", async () => {
  const fresh = await table();
  const other = holder(fresh);
  assert.deepEqual(await all(other.listEntities()), []);
  await rejected(other.createEntity(row("1")), 403, "AuthorizationPermissionMismatch");
  await rejected(other.deleteEntity("p", "1"), 403, "AuthorizationPermissionMismatch");
});

sas("each permission by itself (6.6)", async () => {
  const fresh = await table();
  await fresh.createEntity(row("1"));
  const mismatch = [403, "AuthorizationPermissionMismatch"];
  await holder(fresh, { permissions: { add: true } }).createEntity(row("2"));
  await rejected(holder(fresh, { permissions: { add: true } }).upsertEntity(row("1")), ...mismatch);
  await rejected(holder(fresh, { permissions: { add: true } }).getEntity("p", "1"), ...mismatch);
  await holder(fresh, { permissions: { update: true } }).updateEntity(row("1"));
  await rejected(holder(fresh, { permissions: { update: true } }).upsertEntity(row("1")), ...mismatch);
  await holder(fresh, { permissions: { add: true, update: true } }).upsertEntity(row("3"));
  await holder(fresh, { permissions: { delete: true } }).deleteEntity("p", "2");
});

sas("key ranges", async () => {
  const fresh = await table();
  for (const partitionKey of ["a", "b", "c"]) {
    for (const rowKey of ["1", "2"]) {
      await fresh.createEntity({ partitionKey, rowKey });
    }
  }
  const keys = async (options) => (await all(holder(fresh, options).listEntities())).map((row) => row.partitionKey + row.rowKey);
  assert.deepEqual(await keys({ startPartitionKey: "b", endPartitionKey: "b" }), ["b1", "b2"]);
  assert.deepEqual(await keys({ startPartitionKey: "a", startRowKey: "2", endPartitionKey: "b", endRowKey: "1" }), ["a2", "b1"]);
  const narrow = holder(fresh, { permissions: ALL, startPartitionKey: "b", endPartitionKey: "b" });
  await rejected(narrow.getEntity("a", "1"), 404, "ResourceNotFound");
  await rejected(narrow.createEntity({ partitionKey: "a", rowKey: "3" }), 403, "AuthorizationFailure");
});

sas("times, addresses and protocol", async () => {
  const fresh = await table();
  const now = Date.now();
  await all(holder(fresh, { startsOn: new Date(now - HOUR), expiresOn: new Date(now + HOUR) }).listEntities());
  await all(holder(fresh, { ipRange: { start: "0.0.0.0", end: "255.255.255.255" }, protocol: "https,http" }).listEntities());
  await rejected(holder(fresh, { expiresOn: new Date(now - 60000) }).listEntities(), 403, "AuthenticationFailed");
  await rejected(holder(fresh, { startsOn: new Date(now + HOUR / 2) }).listEntities(), 403, "AuthenticationFailed");
  await rejected(holder(fresh, { ipRange: { start: "203.0.113.7" } }).listEntities(), 403, "AuthorizationSourceIPMismatch");
  if (ENDPOINT.startsWith("http:")) {
    await rejected(holder(fresh, { protocol: "https" }).listEntities(), 403, "AuthorizationProtocolMismatch");
  }
});

sas("a stored policy supplies and revokes", async () => {
  const fresh = await table();
  await fresh.setAccessPolicy([{ id: "one", accessPolicy: { expiry: new Date(Date.now() + HOUR), permission: "r" } }]);
  const other = holder(fresh, { identifier: "one" });
  assert.deepEqual(await all(other.listEntities()), []);
  await rejected(other.createEntity(row("1")), 403, "AuthorizationPermissionMismatch");
  await fresh.setAccessPolicy([]);
  await rejected(other.listEntities(), 403, "AuthenticationFailed");
}, ["acl"]);

sas("a SAS in the address and in a connection string", async () => {
  const fresh = await table();
  await fresh.createEntity(row("1", { n: 1 }));
  const token = generateTableSas(fresh.tableName, CREDENTIAL);
  const inAddress = new TableClient(`${ENDPOINT}?${token}`, fresh.tableName, OPTIONS);
  assert.equal((await inAddress.getEntity("p", "1")).n, 1);
  const connection = `TableEndpoint=${ENDPOINT};SharedAccessSignature=${token}`;
  assert.equal((await TableClient.fromConnectionString(connection, fresh.tableName, OPTIONS).getEntity("p", "1")).n, 1);
});

function account(options) {
  return new TableServiceClient(ENDPOINT, new AzureSASCredential(generateAccountSas(CREDENTIAL, options)), OPTIONS);
}

sas("an account SAS (6.5)", async () => {
  const permissions = { query: true, write: true, delete: true, list: true, add: true, create: true, update: true };
  const other = account({ permissions, expiresOn: new Date(Date.now() + HOUR) });
  const name = randomName();
  await other.createTable(name);
  assert.ok((await all(other.listTables())).some((item) => item.name === name));
  await other.deleteTable(name);
  assert.ok((await all(account({ permissions: { list: true } }).listTables())).length >= 0);
  await rejected(account({ permissions: { query: true } }).listTables(), 403, "AuthorizationPermissionMismatch");
  await rejected(account({ permissions, resourceTypes: "o" }).listTables(), 403, "AuthorizationResourceTypeMismatch");
  const blobs = account({ permissions, services: { blob: true, table: false } });
  await rejected(blobs.listTables(), 403, "AuthorizationServiceMismatch");
});

sas("transactions: each action is authorised by itself", async () => {
  const fresh = await table();
  await holder(fresh, { permissions: { add: true } }).submitTransaction([["create", row("1")], ["create", row("2")]]);
  const error = await failure(holder(fresh, { permissions: { add: true } }).submitTransaction([["create", row("3")], ["delete", row("1")]]));
  assert.equal(error.statusCode, 403);
  assert.equal((await all(fresh.listEntities())).length, 2);
}, ["batch"]);

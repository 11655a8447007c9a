// Tables: create, list, delete, and every way to get a client.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { odata, TableClient, TableServiceClient } = require("@azure/data-tables");
const {
  ACCOUNT, CONNECTION_STRING, CREDENTIAL, ENDPOINT, OPTIONS, PATH_STYLE,
  all, client, failure, randomName, rejected, service, table, watching,
} = require("./helper.js");

async function listed(options) {
  return (await all(service.listTables(options))).map((item) => item.name);
}

test("createTable by the service and by the table (OP-03)", async () => {
  const [one, two] = [randomName("Mixed"), randomName()];
  await service.createTable(one);
  await client(two).createTable();
  const names = await listed();
  assert.ok(names.includes(one) && names.includes(two));
});

test("createTable that exists is no error to the SDK, and 409 on the wire (OP-04, DM-08)", async () => {
  const name = (await table()).tableName;
  for (const spelling of [name, name.toUpperCase()]) {
    const responses = [];
    await service.createTable(spelling, watching(responses));
    await client(spelling).createTable(watching(responses));
    for (const response of responses) {
      assert.equal(response.status, 409);
      assert.equal(response.parsedBody.odataError.code, "TableAlreadyExists");
    }
  }
});

test("deleteTable by the service and by the table; missing is no error (OP-05, OP-17)", async () => {
  for (const remove of [(name) => service.deleteTable(name), (name) => client(name).deleteTable()]) {
    const fresh = await table();
    await fresh.createEntity({ partitionKey: "p", rowKey: "r" });
    await remove(fresh.tableName);
    assert.ok(!(await listed()).includes(fresh.tableName));
    await rejected(fresh.getEntity("p", "r"), 404, "TableNotFound", "The table specified does not exist.");
    await remove(fresh.tableName);
    await fresh.createTable();
    assert.deepEqual(await all(fresh.listEntities()), []);
  }
});

test("listTables with a filter, as text and by the odata tag (OP-01)", async () => {
  const prefix = randomName("jsq").slice(0, 20);
  const names = ["a", "b", "c"].map((letter) => randomName(prefix + letter));
  for (const name of names) {
    await service.createTable(name);
  }
  const check = async (filter, expected) => assert.deepEqual(await listed({ queryOptions: { filter } }), expected);
  await check(`TableName eq '${names[1]}'`, [names[1]]);
  await check(odata`TableName eq ${names[1]}`, [names[1]]);
  await check(odata`TableName ge ${prefix} and TableName lt ${prefix + "{"}`, names);
  await check(odata`TableName eq ${"nothing"}`, []);
  const responses = [];
  const error = await failure(service.listTables({ queryOptions: { filter: "aaa bbb ccc" }, ...watching(responses) }));
  assert.equal(error.statusCode, 400);
});

test("listTables by pages; the token resumes in another client (PG-13)", async () => {
  const prefix = randomName("jsq").slice(0, 20);
  const names = ["a", "b", "c", "d", "e"].map((letter) => randomName(prefix + letter));
  for (const name of names) {
    await service.createTable(name);
  }
  const queryOptions = { filter: odata`TableName ge ${prefix} and TableName lt ${prefix + "{"}` };
  const first = (await service.listTables({ queryOptions }).byPage({ maxPageSize: 2 }).next()).value;
  assert.deepEqual(first.map((item) => item.name), names.slice(0, 2));
  assert.ok(first.continuationToken);
  const other = TableServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS);
  const settings = { maxPageSize: 2, continuationToken: first.continuationToken };
  const rest = (await all(other.listTables({ queryOptions }).byPage(settings))).flat();
  assert.deepEqual(rest.map((item) => item.name), names.slice(2));
});

test("clients from connection string, credential and version reach the same row", async () => {
  const fresh = await table();
  await fresh.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
  const clients = [
    TableClient.fromConnectionString(CONNECTION_STRING, fresh.tableName, OPTIONS),
    ...["2019-02-02", "2020-12-06", "2026-02-06"].map((version) => client(fresh.tableName, CREDENTIAL, { ...OPTIONS, version })),
  ];
  for (const other of clients) {
    assert.equal(other.url, ENDPOINT);
    assert.equal(other.tableName, fresh.tableName);
    assert.equal((await other.getEntity("p", "r")).n, 1);
  }
});

test("the version is sent and echoed (VR-07)", async () => {
  for (const version of ["2019-02-02", "2020-12-06", "2026-02-06"]) {
    const responses = [];
    const other = new TableServiceClient(ENDPOINT, CREDENTIAL, { ...OPTIONS, version });
    await other.createTable(randomName(), watching(responses));
    assert.equal(responses[0].headers.get("x-ms-version"), version);
  }
});

if (PATH_STYLE) {
  test("host style: the account as the first label (DM-03)", async () => {
    const url = new URL(ENDPOINT);
    const endpoint = `${url.protocol}//${ACCOUNT}.table.localhost:${url.port}`;
    const name = randomName();
    const fresh = new TableClient(endpoint, name, CREDENTIAL, OPTIONS);
    await fresh.createTable();
    const responses = [];
    await fresh.createEntity({ partitionKey: "p q", rowKey: "r'r" }, watching(responses));
    const address = `${endpoint}/${name}(PartitionKey='p%20q',RowKey='r''r')`;
    assert.equal(responses[0].headers.get("Location"), address);
    assert.equal(responses[0].headers.get("DataServiceId"), address);
    assert.equal((await client(name).getEntity("p q", "r'r")).rowKey, "r'r");
  });
}

const LENGTH = ["OutOfRangeInput", "The specified resource name length is not within the permissible limits."];
const CHARACTERS = ["InvalidResourceName", "The specifed resource name contains invalid characters."];
const INVALID_NAMES = { a: LENGTH, ab: LENGTH, ["a".repeat(64)]: LENGTH, "my-table": CHARACTERS, my_table: CHARACTERS, "1table": CHARACTERS };
const ROW = { partitionKey: "p", rowKey: "r" };
const CALLS = {
  createTable: (other) => other.createTable(),
  deleteTable: (other) => other.deleteTable(),
  createEntity: (other) => other.createEntity(ROW),
  "updateEntity Merge": (other) => other.updateEntity(ROW, "Merge"),
  "updateEntity Replace": (other) => other.updateEntity(ROW, "Replace"),
  "upsertEntity Merge": (other) => other.upsertEntity(ROW, "Merge"),
  "upsertEntity Replace": (other) => other.upsertEntity(ROW, "Replace"),
  deleteEntity: (other) => other.deleteEntity("p", "r"),
  getEntity: (other) => other.getEntity("p", "r"),
  listEntities: (other) => other.listEntities(),
};
for (const [name, [code, text]] of Object.entries(INVALID_NAMES)) {
  test(`the name ${name} is rejected by every operation (DM-05, DM-06, DM-07)`, async () => {
    for (const call of Object.values(CALLS)) {
      await rejected(call(client(name)), 400, code, text);
    }
  });
}

// npm azure 0.8.1: Atom with version 2011-08-18, host style, SharedKey.
//
// Booleans travel as 1 and 0, empty strings as m:null, batches with LF line ends and a charset before the boundary.
"use strict";

const assert = require("node:assert/strict");
const { before, test } = require("node:test");
const azure = require("azure");
const { ACCOUNT, FOREIGN_ETAG, GUID, HOST_ENDPOINT, KEY, PATH_STYLE, ENDPOINT, call, cleanUp, connectionString, grouped, randomName, rejected } = require("../common.js");

const { TableQuery } = azure;
const service = azure.createTableService(connectionString(HOST_ENDPOINT));
cleanUp(service);

const row = (key, properties) => ({ PartitionKey: "p", RowKey: key, ...properties });

async function table() {
  const name = randomName();
  await call(service, "createTable", name);
  return name;
}

/** The entity's own properties. */
function own({ PartitionKey, RowKey, Timestamp, _, ...rest }) {
  return rest;
}

const get = async (name, key) => (await call(service, "queryEntity", name, "p", key))[0];
const query = async (tableQuery) => (await call(service, "queryEntities", tableQuery))[0];
const content = async (name) => Object.fromEntries((await query(TableQuery.select().from(name))).map((entity) => [entity.RowKey, own(entity)]));

test("the version is 2011-08-18", () => assert.equal(service.apiVersion, "2011-08-18"));

test("createTable, getTable, queryTables, deleteTable (OP-01 to OP-05)", async () => {
  const name = randomName();
  const [created, response] = await call(service, "createTable", name);
  assert.equal(created.TableName, name);
  assert.equal(response.statusCode, 201);
  await rejected(call(service, "createTable", name), 409, "TableAlreadyExists");
  assert.equal((await call(service, "createTableIfNotExists", name))[0], false);
  assert.equal((await call(service, "getTable", name))[0].TableName, name);
  await rejected(call(service, "getTable", randomName()), 404, "ResourceNotFound");
  const [all] = await call(service, "queryTables");
  assert.ok(all.some((item) => item.TableName === name));
  const [mine] = await call(service, "queryTables", { prefix: name.slice(0, 20) });
  assert.deepEqual(mine.map((item) => item.TableName), [name]);
  assert.equal((await call(service, "deleteTable", name))[0], true);
  await rejected(call(service, "deleteTable", name), 404, "ResourceNotFound");
  assert.equal((await call(service, "createTableIfNotExists", name))[0], true);
});

test("insertEntity returns the entity and its etag (OP-09)", async () => {
  const name = await table();
  const [created, response] = await call(service, "insertEntity", name, row("r", { s: "x", i: 5 }));
  assert.equal(response.statusCode, 201);
  assert.deepEqual(own(created), { s: "x", i: 5 });
  assert.match(created._.etag, /^W\/"datetime'.*'"$/);
  assert.equal(created._.etag, response.headers.etag);
  assert.ok(created._.id.endsWith(`/${name}(PartitionKey='p',RowKey='r')`));
  assert.equal((await get(name, "r"))._.etag, created._.etag);
  await rejected(call(service, "insertEntity", name, row("r")), 409, "EntityAlreadyExists");
  await rejected(call(service, "insertEntity", randomName(), row("r")), 404, "TableNotFound");
});

const SAME = {
  string: "hello",
  markup: `<a href="x">'&amp;'</a>`,
  "beyond ascii": "Grüße, 世界, 😀",
  int32: 39,
  "smallest int32": -2147483647,
  int64: 2 ** 40,
  double: 3.25,
  "huge double": 1.5e300,
  true: true,
  false: false,
  date: new Date("1973-10-04T01:02:03.456Z"),
};
for (const [what, value] of Object.entries(SAME)) {
  test(`${what} comes back as it was (DM-20, WR-05)`, async () => {
    const name = await table();
    const [created] = await call(service, "insertEntity", name, row("r", { v: value }));
    assert.deepEqual(created.v, value);
    assert.deepEqual((await get(name, "r")).v, value);
  });
}

test("types given explicitly", async () => {
  const name = await table();
  const typed = (type, value) => ({ $: { type }, _: value });
  const entity = row("r", {
    guid: typed("Edm.Guid", GUID), big: typed("Edm.Int64", "7"), whole: typed("Edm.Double", 5), bytes: typed("Edm.Binary", "plain"),
    text: typed("Edm.String", "5"), when: typed("Edm.DateTime", "2001-02-03T04:05:06Z"),
  });
  await call(service, "insertEntity", name, entity);
  assert.deepEqual(own(await get(name, "r")), { guid: GUID, big: 7, whole: 5, bytes: "plain", text: "5", when: new Date("2001-02-03T04:05:06Z") });
  for (const filter of ["big eq 7L", "whole eq 5.0", `guid eq guid'${GUID}'`, "text eq '5'", "bytes eq X'706c61696e'"]) {
    assert.equal((await query(TableQuery.select().from(name).where(filter))).length, 1, filter);
  }
});

test("null and empty are sent as m:null and not stored (WR-06)", async () => {
  const name = await table();
  await call(service, "insertEntity", name, row("r", { a: null, b: "", c: 1 }));
  assert.deepEqual(own(await get(name, "r")), { c: 1 });
});

test("updateEntity and mergeEntity, with and without etag (OP-10 to OP-12, CC-03 to CC-05)", async () => {
  const name = await table();
  for (const method of ["updateEntity", "mergeEntity"]) {
    await rejected(call(service, method, name, row("missing")), 404, "ResourceNotFound");
  }
  const [created] = await call(service, "insertEntity", name, row("r", { a: 1, b: 1 }));
  const [merged] = await call(service, "mergeEntity", name, { ...created, b: 2 }, { checkEtag: true });
  assert.deepEqual(own(await get(name, "r")), { a: 1, b: 2 });
  assert.notEqual(merged._.etag, created._.etag);
  for (const method of ["updateEntity", "mergeEntity", "deleteEntity"]) {
    await rejected(call(service, method, name, created, { checkEtag: true }), 412, "UpdateConditionNotSatisfied");
  }
  const [updated] = await call(service, "updateEntity", name, { ...row("r", { c: 3 }), _: merged._ }, { checkEtag: true });
  const found = await get(name, "r");
  assert.deepEqual(own(found), { c: 3 });
  assert.equal(found._.etag, updated._.etag);
  await call(service, "updateEntity", name, row("r", { d: 4 }));
  assert.equal((await call(service, "deleteEntity", name, row("r")))[0], true);
  await rejected(call(service, "deleteEntity", name, row("r")), 404, "ResourceNotFound");
});

test("insertOrReplaceEntity and insertOrMergeEntity (OP-13, OP-14)", async () => {
  const name = await table();
  await call(service, "insertOrMergeEntity", name, row("r", { a: 1 }));
  await call(service, "insertOrMergeEntity", name, row("r", { b: 2 }));
  assert.deepEqual(own(await get(name, "r")), { a: 1, b: 2 });
  const [replaced] = await call(service, "insertOrReplaceEntity", name, row("r", { c: 3 }));
  const found = await get(name, "r");
  assert.deepEqual(own(found), { c: 3 });
  assert.equal(found._.etag, replaced._.etag);
  await call(service, "insertOrReplaceEntity", name, row("new", { d: 4 }));
  assert.deepEqual(own(await get(name, "new")), { d: 4 });
});

for (const key of ["a b", "100%", "a%20b", "a+b", "é世😀", "a=b&c;d", "(x)", "@:!$*~"]) {
  test(`the key ${key} (OP-08)`, async () => {
    const name = await table();
    const entity = { PartitionKey: key, RowKey: key, n: 1 };
    await call(service, "insertEntity", name, entity);
    assert.equal((await call(service, "queryEntity", name, key, key))[0].n, 1);
    await call(service, "mergeEntity", name, { ...entity, n: 2 });
    assert.deepEqual((await query(TableQuery.select().from(name))).map((found) => found.n), [2]);
    await call(service, "deleteEntity", name, entity);
  });
}

let data;
before(async () => {
  data = await table();
  for (let i = 0; i < 10; i += 1) {
    await call(service, "insertEntity", data, {
      PartitionKey: `p${i < 5 ? 0 : 1}`, RowKey: `r${i}`, n: i, half: i + 0.5, name: `O'Hare ${i}`, even: i % 2 === 0, when: new Date(Date.UTC(2000 + i, 0)),
    });
  }
});

const numbers = async (tableQuery) => (await query(tableQuery)).map((entity) => entity.n).join("");

test("queries (QY-02, QY-20)", async () => {
  const from = () => TableQuery.select().from(data);
  assert.equal(await numbers(from()), "0123456789");
  assert.equal(await numbers(from().where("PartitionKey eq ?", "p1")), "56789");
  assert.equal(await numbers(from().where("n >= ?", 2).and("n < ?", 4)), "23");
  assert.equal(await numbers(from().where("n == ?", 1).or("n == ?", 8)), "18");
  assert.equal(await numbers(from().where("n > 7 && n != 9")), "8");
  assert.equal(await numbers(from().where("name eq ?", "O'Hare 4")), "4");
  assert.equal(await numbers(from().where("even eq ?", true).and("n le ?", 4)), "024");
  assert.equal(await numbers(from().where("half eq ?", 3.5)), "3");
  assert.equal(await numbers(from().where("when eq ?", new Date(Date.UTC(2005, 0)))), "5");
  assert.equal(await numbers(from().where("when lt ?", new Date(Date.UTC(2002, 0)))), "01");
  assert.equal(await numbers(from().whereKeys("p0", "r3")), "3");
  assert.equal(await numbers(from().whereKeys("p0")), "01234");
  await rejected(query(from().where("n eq")), 400, "InvalidInput");
});

test("select asks with DataServiceVersion 2.0 (QY-06)", async () => {
  const [entity] = await query(TableQuery.select("n", "name").from(data).where("n == ?", 3));
  assert.deepEqual(own(entity), { n: 3, name: "O'Hare 3" });
});

test("top and continuation (PG-01, PG-06, PG-07)", async () => {
  let [page, next] = await call(service, "queryEntities", TableQuery.select().from(data).top(4));
  const found = page.map((entity) => entity.n);
  assert.equal(page.length, 4);
  while (next.hasNextPage()) {
    [page, next] = await call(next, "getNextPage");
    assert.ok(page.length <= 4);
    found.push(...page.map((entity) => entity.n));
  }
  assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test("withFilter sees each request", async () => {
  const seen = [];
  const watched = service.withFilter({
    handle(options, next) {
      seen.push([options.method, options.headers["x-ms-version"]]);
      next(options, (result, final, callback) => (callback ? callback(result, final) : final(result)));
    },
  });
  await call(watched, "queryEntity", data, "p0", "r0");
  assert.deepEqual(seen, [["GET", "2011-08-18"]]);
});

test("the wrong key (AU-06)", async () => {
  const other = azure.createTableService(ACCOUNT, "d3Jvbmcga2V5", HOST_ENDPOINT);
  // The service prefixes the elements of this error, and this client then finds no code.
  await assert.rejects(call(other, "queryTables"), { statusCode: 403 });
});

if (PATH_STYLE) {
  test("path style, as with the emulator (DM-04)", async () => {
    const local = new azure.TableService(ACCOUNT, KEY, ENDPOINT.replace(`/${ACCOUNT}`, ""));
    local.usePathStyleUri = true;
    local.authenticationProvider = new azure.SharedKeyTable(ACCOUNT, KEY, true);
    assert.equal((await call(local, "queryEntity", data, "p0", "r0"))[0].n, 0);
    assert.equal((await call(local, "queryEntities", TableQuery.select().from(data).where("n > ?", 7)))[0].length, 2);
  });
}

const batch = (name, body) => grouped(["batch"], name, body);

/** Fills a batch and commits it. In this client the callback reports the first part only. */
async function commit(fill) {
  service.beginBatch();
  fill();
  return call(service, "commitBatch");
}

batch("a batch with every operation (TX-14, TX-19)", async () => {
  const name = await table();
  for (const key of ["update", "merge", "replace or insert", "merge or insert", "delete"]) {
    await call(service, "insertEntity", name, row(key, { a: 1 }));
  }
  await commit(() => {
    service.insertEntity(name, row("insert", { b: true }));
    service.updateEntity(name, row("update", { b: true }));
    service.mergeEntity(name, row("merge", { b: true }));
    service.insertOrReplaceEntity(name, row("replace or insert", { b: true }));
    service.insertOrMergeEntity(name, row("merge or insert", { b: true }));
    service.insertOrMergeEntity(name, row("new", { b: true }));
    service.deleteEntity(name, row("delete"));
  });
  assert.deepEqual(await content(name), {
    insert: { b: true }, update: { b: true }, merge: { a: 1, b: true }, "replace or insert": { b: true }, "merge or insert": { a: 1, b: true }, new: { b: true },
  });
});

batch("a thousand rows and more (TX-01, PG-02)", async () => {
  const name = await table();
  for (let start = 0; start < 1050; start += 50) {
    await commit(() => {
      for (let i = start; i < start + 50; i += 1) {
        service.insertEntity(name, row(String(i).padStart(4, "0"), { n: i }));
      }
    });
  }
  let [page, next] = await call(service, "queryEntities", TableQuery.select().from(name));
  const found = page.map((entity) => entity.n);
  assert.ok(page.length <= 1000 && next.hasNextPage());
  while (next.hasNextPage()) {
    [page, next] = await call(next, "getNextPage");
    found.push(...page.map((entity) => entity.n));
  }
  assert.deepEqual(found, Array.from({ length: 1050 }, (_, i) => i));
});

batch("failures leave nothing behind (TX-09, TX-12, TX-15)", async () => {
  const name = await table();
  await call(service, "insertEntity", name, row("exists", { a: 1 }));
  const before = await content(name);
  const check = async (bad, status, code) => {
    const error = await rejected(commit(() => {
      service.insertOrReplaceEntity(name, row("1", { a: 1 }));
      bad();
    }), status, code);
    assert.ok(error);
    assert.deepEqual(await content(name), before);
  };
  await check(() => service.insertEntity(name, row("exists")), 409, "EntityAlreadyExists");
  await check(() => service.updateEntity(name, row("missing", { a: 1 })), 404, "ResourceNotFound");
  await check(() => service.deleteEntity(name, { ...row("exists"), _: { etag: FOREIGN_ETAG } }, { checkEtag: true }), 412, "UpdateConditionNotSatisfied");
});

batch("rollback forgets the batch", async () => {
  const name = await table();
  service.beginBatch();
  service.insertEntity(name, row("1"));
  assert.ok(service.isInBatch() && service.hasOperations());
  service.rollback();
  assert.deepEqual(await content(name), {});
});

grouped(["properties"], "service properties in the form of 2011 (12.2)", async () => {
  const [before] = await call(service, "getServiceProperties");
  assert.ok(before.Logging && before.Metrics);
  const wanted = {
    Logging: { Version: "1.0", Delete: true, Read: false, Write: true, RetentionPolicy: { Enabled: true, Days: 7 } },
    Metrics: { Version: "1.0", Enabled: true, IncludeAPIs: true, RetentionPolicy: { Enabled: true, Days: 7 } },
  };
  try {
    await call(service, "setServiceProperties", wanted);
    assert.deepEqual((await call(service, "getServiceProperties"))[0], wanted);
  } finally {
    await call(service, "setServiceProperties", before);
  }
});

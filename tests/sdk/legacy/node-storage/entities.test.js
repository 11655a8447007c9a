// Entities: every operation, every type, conditions, queries.
"use strict";

const assert = require("node:assert/strict");
const { before, test } = require("node:test");
const { FOREIGN_ETAG, GUID, randomName, rejected } = require("../common.js");
const { azure, call, everything, generator, hostStyle, modern, own, replace, row, services, table } = require("./client.js");

const { TableQuery, TableUtilities } = azure;
const { PayloadFormat, QueryComparisons, TableOperators } = TableUtilities;
const get = async (service, name, key, options = {}) => (await call(service, "retrieveEntity", name, "p", key, options))[0];

for (const [style, service] of Object.entries(services)) {
  test(`${style}: insertEntity, without and with echo (OP-09)`, async () => {
    const name = await table();
    const [plain] = await call(service, "insertEntity", name, row("1", { s: "x", i: 5 }));
    assert.equal(plain[".metadata"].etag, (await get(service, name, "1"))[".metadata"].etag);
    const [echoed] = await call(service, "insertEntity", name, row("2", { s: "x", i: 5 }), { echoContent: true });
    assert.deepEqual(own(echoed), { s: "x", i: 5 });
    await rejected(call(service, "insertEntity", name, row("1")), 409, "EntityAlreadyExists");
    await rejected(call(service, "insertEntity", randomName(), row("1")), 404, "TableNotFound");
    await rejected(call(service, "retrieveEntity", name, "p", "missing"), 404, "ResourceNotFound");
  });

  test(`${style}: update, merge, upserts, delete, with etags (OP-10 to OP-15, CC-03 to CC-05)`, async () => {
    const name = await table();
    for (const method of [replace, "mergeEntity", "deleteEntity"]) {
      await rejected(call(service, method, name, row("r")), 404, "ResourceNotFound");
    }
    await call(service, "insertOrMergeEntity", name, row("r", { a: 1 }));
    const [first] = await call(service, "insertOrMergeEntity", name, row("r", { b: 2 }));
    const found = await get(service, name, "r");
    assert.deepEqual(own(found), { a: 1, b: 2 });
    assert.equal(found[".metadata"].etag, first[".metadata"].etag);
    // An entity that was read carries its etag, and the client then sends it.
    await call(service, "mergeEntity", name, { ...found, b: { _: 3 } });
    for (const method of [replace, "mergeEntity", "deleteEntity"]) {
      await rejected(call(service, method, name, found), 412, "UpdateConditionNotSatisfied");
    }
    await call(service, replace, name, row("r", { c: 4 }));
    assert.deepEqual(own(await get(service, name, "r")), { c: 4 });
    await call(service, "insertOrReplaceEntity", name, row("r", { d: 5 }));
    assert.deepEqual(own(await get(service, name, "r")), { d: 5 });
    await call(service, "deleteEntity", name, await get(service, name, "r"));
    await rejected(call(service, "deleteEntity", name, { ...row("r"), ".metadata": { etag: FOREIGN_ETAG } }), 404, "ResourceNotFound");
  });

  test(`${style}: all types (DM-20)`, async () => {
    const name = await table();
    const when = new Date("2001-02-03T04:05:06.789Z");
    const entity = row("r", {
      string: "Grüße, 世界, 😀 \r\n\t\"\\/", empty: "", int: -5, int32: generator.Int32(7), int64: generator.Int64("9007199254740993"), double: 1.5,
      nan: generator.Double(NaN), infinite: generator.Double(Infinity), minus: generator.Double(-Infinity),
      flag: true, off: generator.Boolean(false), when: generator.DateTime(when), guid: generator.Guid(GUID), bytes: generator.Binary(Buffer.from([0, 1, 255])),
    });
    await call(service, "insertEntity", name, entity);
    const found = await get(service, name, "r");
    assert.deepEqual(own(found), {
      string: "Grüße, 世界, 😀 \r\n\t\"\\/", empty: "", int: -5, int32: 7, int64: "9007199254740993", double: 1.5, nan: NaN, infinite: Infinity,
      minus: -Infinity, flag: true, off: false, when, guid: GUID, bytes: Buffer.from([0, 1, 255]),
    });
    assert.deepEqual([found.int64.$, found.when.$, found.guid.$, found.bytes.$], ["Edm.Int64", "Edm.DateTime", "Edm.Guid", "Edm.Binary"]);
    await call(service, replace, name, found);
    assert.deepEqual(own(await get(service, name, "r")), own(found));
  });

  if (modern) {
    // The older release sends a whole double as text without a type.
    test(`${style}: a whole double stays a double`, async () => {
      const name = await table();
      await call(service, "insertEntity", name, row("r", { v: generator.Double(5) }));
      assert.equal((await get(service, name, "r")).v._, 5);
      assert.equal((await everything(service, name, new TableQuery().where("v eq 5.0"))).length, 1);
    });
  }

  test(`${style}: payload formats`, async () => {
    const name = await table();
    await call(service, "insertEntity", name, row("r", { s: "x", l: generator.Int64("7") }));
    const { etag } = (await get(service, name, "r"))[".metadata"];
    for (const payloadFormat of [PayloadFormat.NO_METADATA, PayloadFormat.MINIMAL_METADATA, PayloadFormat.FULL_METADATA]) {
      const found = await get(service, name, "r", { payloadFormat });
      assert.equal(found.l._, "7");
      assert.equal(found[".metadata"].etag.replaceAll("%3A", ":"), etag.replaceAll("%3A", ":"));
      assert.equal("editLink" in found[".metadata"], payloadFormat === PayloadFormat.FULL_METADATA);
    }
    const resolved = await get(service, name, "r", { payloadFormat: PayloadFormat.NO_METADATA, propertyResolver: (p, r, property) => (property === "l" ? "Edm.Int64" : undefined) });
    assert.equal(resolved.l.$, "Edm.Int64");
  });

  for (const key of ["a b", "100%", "a%20b", "a+b", "O'Hare", "a','b", "é世😀", "a=b&c;d", "(x)", "@:!$*~", ""]) {
    test(`${style}: the key ${JSON.stringify(key)} (OP-08)`, async () => {
      const name = await table();
      const entity = { PartitionKey: { _: key }, RowKey: { _: key }, n: { _: 1 } };
      await call(service, "insertEntity", name, entity);
      assert.equal((await call(service, "retrieveEntity", name, key, key))[0].n._, 1);
      await call(service, "mergeEntity", name, { ...entity, n: { _: 2 } });
      await call(service, "insertOrReplaceEntity", name, { ...entity, n: { _: 3 } });
      assert.deepEqual((await everything(service, name)).map((found) => found.n._), [3]);
      await call(service, "deleteEntity", name, entity);
      assert.deepEqual(await everything(service, name), []);
    });
  }
}

let data;
before(async () => {
  data = await table();
  for (let i = 0; i < 10; i += 1) {
    await call(hostStyle, "insertEntity", data, {
      PartitionKey: { _: `p${i < 5 ? 0 : 1}` }, RowKey: { _: `r${i}` }, n: { _: i }, big: generator.Int64(String(2 ** 40 + i)), half: { _: i + 0.5 },
      name: { _: `O'Hare ${i}` }, even: { _: i % 2 === 0 }, when: generator.DateTime(new Date(Date.UTC(2000 + i, 0))),
      id: generator.Guid(`00000000-0000-0000-0000-00000000000${i}`), bytes: generator.Binary(Buffer.from([i])),
    });
  }
});

for (const [style, service] of Object.entries(services)) {
  const numbers = async (query) => (await everything(service, data, query)).map((entity) => entity.n._).join("");

  test(`${style}: conditions of a query (QY-02, QY-20)`, async () => {
    assert.equal(await numbers(null), "0123456789");
    assert.equal(await numbers(new TableQuery().where("PartitionKey eq ?", "p1")), "56789");
    assert.equal(await numbers(new TableQuery().where("n >= ?", 2).and("n < ?", 4)), "23");
    assert.equal(await numbers(new TableQuery().where("n == ?", 1).or("n == ?", 8)), "18");
    assert.equal(await numbers(new TableQuery().where("not (n lt ?)", 8)), "89");
    assert.equal(await numbers(new TableQuery().where("name eq ?", "O'Hare 4")), "4");
    assert.equal(await numbers(new TableQuery().where("even eq ?", true).and("n le ?", 4)), "024");
    assert.equal(await numbers(new TableQuery().where("half eq ?", 3.5)), "3");
    assert.equal(await numbers(new TableQuery().where("when eq ?date?", new Date(Date.UTC(2005, 0)))), "5");
    assert.equal(await numbers(new TableQuery().where("big eq ?int64?", String(2 ** 40 + 7))), "7");
    assert.equal(await numbers(new TableQuery().where("id eq ?guid?", "00000000-0000-0000-0000-000000000006")), "6");
    assert.equal(await numbers(new TableQuery().where("bytes eq ?binary?", Buffer.from([9]))), "9");
    await rejected(everything(service, data, new TableQuery().where("n eq")), 400, "InvalidInput");
  });

  test(`${style}: filters built by type`, async () => {
    const { EQUAL, GREATER_THAN, LESS_THAN_OR_EQUAL, NOT_EQUAL } = QueryComparisons;
    const check = async (filter, expected) => assert.equal(await numbers(new TableQuery().where(filter)), expected);
    await check(TableQuery.int32Filter("n", GREATER_THAN, 7), "89");
    await check(TableQuery.int64Filter("big", EQUAL, String(2 ** 40 + 1)), "1");
    await check(TableQuery.doubleFilter("half", LESS_THAN_OR_EQUAL, 1.5), "01");
    await check(TableQuery.booleanFilter("even", NOT_EQUAL, true), "13579");
    await check(TableQuery.dateFilter("when", GREATER_THAN, new Date(Date.UTC(2007, 0))), "89");
    await check(TableQuery.guidFilter("id", EQUAL, "00000000-0000-0000-0000-000000000002"), "2");
    await check(TableQuery.binaryFilter("bytes", EQUAL, Buffer.from([3])), "3");
    const name = TableQuery.stringFilter("name", EQUAL, "O'Hare 5");
    await check(TableQuery.combineFilters(name, TableOperators.OR, TableQuery.int32Filter("n", EQUAL, 6)), "56");
  });

  test(`${style}: select and top with continuation (QY-06, PG-01, PG-06, PG-07)`, async () => {
    const query = new TableQuery().select("n", "name").top(4);
    let [page] = await call(service, "queryEntities", data, query, null);
    assert.deepEqual(own(page.entries[3]), { n: 3, name: "O'Hare 3" });
    const found = [];
    for (;;) {
      assert.ok(page.entries.length <= 4);
      found.push(...page.entries.map((entity) => entity.n._));
      if (!page.continuationToken) {
        break;
      }
      [page] = await call(service, "queryEntities", data, query, page.continuationToken);
    }
    assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
}

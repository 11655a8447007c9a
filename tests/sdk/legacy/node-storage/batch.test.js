// Batches: LF line ends, a charset before the boundary, Content-ID from the second operation on.
"use strict";

const assert = require("node:assert/strict");
const { FOREIGN_ETAG, grouped, rejected } = require("../common.js");
const { azure, call, content, everything, modern, own, replace, row, services, table } = require("./client.js");

const { TableBatch } = azure;
const batch = (name, body) => grouped(["batch"], name, body);

for (const [style, service] of Object.entries(services)) {
  batch(`${style}: every operation (TX-14, TX-19)`, async () => {
    const name = await table();
    for (const key of ["update", "merge", "replace or insert", "merge or insert", "delete"]) {
      await call(service, "insertEntity", name, row(key, { a: 1 }));
    }
    const operations = new TableBatch();
    operations.insertEntity(row("insert", { b: 2 }), {});
    operations.insertEntity(row("echo", { b: 2 }), { echoContent: true });
    operations[replace](row("update", { b: 2 }));
    operations.mergeEntity(row("merge", { b: 2 }));
    operations.insertOrReplaceEntity(row("replace or insert", { b: 2 }));
    operations.insertOrMergeEntity(row("merge or insert", { b: 2 }));
    operations.insertOrMergeEntity(row("new", { b: 2 }));
    operations.deleteEntity(row("delete"));
    assert.equal(operations.size(), 8);
    const [results] = await call(service, "executeBatch", name, operations);
    assert.equal(results.length, 8);
    assert.ok(results.every((result) => !result.error));
    assert.deepEqual(own(results[1].entity), { b: 2 });
    assert.deepEqual(await content(service, name), {
      insert: { b: 2 }, echo: { b: 2 }, update: { b: 2 }, merge: { a: 1, b: 2 }, "replace or insert": { b: 2 }, "merge or insert": { a: 1, b: 2 }, new: { b: 2 },
    });
    const etags = new Set((await everything(service, name)).map((entity) => entity[".metadata"].etag));
    assert.equal(etags.size, 1, "one transaction has one timestamp");
  });

  batch(`${style}: a thousand rows and more (TX-01, PG-02)`, async () => {
    const name = await table();
    for (let start = 0; start < 1050; start += 50) {
      const operations = new TableBatch();
      for (let i = start; i < start + 50; i += 1) {
        operations.insertEntity(row(String(i).padStart(4, "0"), { n: i }), {});
      }
      await call(service, "executeBatch", name, operations);
    }
    assert.deepEqual((await everything(service, name)).map((entity) => entity.n._), Array.from({ length: 1050 }, (_, i) => i));
  });

  batch(`${style}: one query by itself (TX-08)`, async () => {
    const name = await table();
    await call(service, "insertEntity", name, row("r", { a: 1 }));
    const operations = new TableBatch();
    operations.retrieveEntity("p", "r");
    const [results] = await call(service, "executeBatch", name, operations);
    assert.equal(results.length, 1);
    assert.deepEqual(own(results[0].entity), { a: 1 });
  });

  batch(`${style}: unusual keys`, async () => {
    const name = await table();
    for (const key of ["a b", "100%", "O'Hare", "a','b", "é世😀"]) {
      const entity = { PartitionKey: { _: key }, RowKey: { _: key }, a: { _: 1 } };
      const insert = new TableBatch();
      insert.insertEntity(entity, {});
      await call(service, "executeBatch", name, insert);
      const merge = new TableBatch();
      merge.mergeEntity({ ...entity, b: { _: 2 } });
      await call(service, "executeBatch", name, merge);
      assert.deepEqual(own((await call(service, "retrieveEntity", name, key, key))[0]), { a: 1, b: 2 });
      const remove = new TableBatch();
      remove.deleteEntity(entity);
      await call(service, "executeBatch", name, remove);
    }
    assert.deepEqual(await content(service, name), {});
  });

  batch(`${style}: failures leave nothing behind (TX-09, TX-12, TX-15)`, async () => {
    const name = await table();
    await call(service, "insertEntity", name, row("exists", { a: 1 }));
    const before = await content(service, name);
    const check = async (method, entity, status, code) => {
      const operations = new TableBatch();
      operations.insertOrReplaceEntity(row("1", { a: 1 }));
      operations[method](entity, {});
      const error = await rejected(call(service, "executeBatch", name, operations), status, code);
      if (modern) {
        assert.match(error.message, /^1:/);
      }
      assert.deepEqual(await content(service, name), before);
    };
    await check("insertEntity", row("exists"), 409, "EntityAlreadyExists");
    await check(replace, row("missing", { a: 1 }), 404, "ResourceNotFound");
    await check("deleteEntity", { ...row("exists"), ".metadata": { etag: FOREIGN_ETAG } }, 412, "UpdateConditionNotSatisfied");
  });

  batch(`${style}: the batch object's own methods`, async () => {
    const name = await table();
    const operations = new TableBatch();
    assert.equal(operations.hasOperations(), false);
    operations.addOperation("INSERT", row("1"), {});
    operations.insertEntity(row("2"), {});
    assert.ok(operations.hasOperations());
    assert.equal(operations.getOperation(1).entity.RowKey._, "2");
    operations.removeOperation(1);
    await call(service, "executeBatch", name, operations);
    assert.deepEqual(Object.keys(await content(service, name)), ["1"]);
    operations.clear();
    assert.equal(operations.size(), 0);
  });
}

// All eight EDM types there and back, with and without the SDK's conversion.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { all, own, rejected, table } = require("./helper.js");

const ID = "c9da6455-213d-42c9-9a79-3e9149a57833";

async function stored(value, options) {
  const fresh = await table();
  await fresh.createEntity({ partitionKey: "p", rowKey: "r", v: value });
  return (await fresh.getEntity("p", "r", options)).v;
}

const SAME = {
  string: "hello",
  "empty string": "",
  "string of blanks": "  two  blanks  ",
  "string with lines": "a\r\nb\tc\n",
  "string beyond ascii": "Grüße, 世界, 😀, \u2028",
  "string that looks like a date": "2020-01-02T03:04:05Z",
  int32: 1,
  "largest int32": 2147483647,
  "smallest int32": -2147483648,
  double: 3.25,
  "tiny double": 5e-324,
  "huge double": 1.7976931348623157e308,
  "exact double": 0.1 + 0.2,
  true: true,
  false: false,
  int64: 2n ** 40n,
  "largest int64": 2n ** 63n - 1n,
  "smallest int64": -(2n ** 63n),
  date: new Date("2020-01-02T03:04:05.678Z"),
  "smallest date": new Date("1601-01-01T00:00:00Z"),
  binary: Uint8Array.from({ length: 256 }, (_, i) => i),
  "empty binary": new Uint8Array(0),
  guid: { type: "Guid", value: ID },
};
for (const [name, value] of Object.entries(SAME)) {
  test(`${name} comes back as it was (DM-20)`, async () => {
    const found = await stored(value);
    assert.deepEqual(value instanceof Uint8Array ? new Uint8Array(found) : found, value);
  });
}

// What is sent explicitly, what the SDK makes of it, and what it makes of it without conversion.
const EXPLICIT = [
  [{ type: "String", value: "x" }, "x", { type: "String", value: "x" }],
  [{ type: "Int32", value: 7 }, 7, { type: "Int32", value: "7" }],
  [{ type: "Int64", value: "7" }, 7n, { type: "Int64", value: "7" }],
  [{ type: "Double", value: 1.5 }, 1.5, { type: "Double", value: "1.5" }],
  [{ type: "Double", value: "NaN" }, "NaN", { type: "Double", value: "NaN" }],
  [{ type: "Double", value: "Infinity" }, "Infinity", { type: "Double", value: "Infinity" }],
  [{ type: "Double", value: "-Infinity" }, "-Infinity", { type: "Double", value: "-Infinity" }],
  [{ type: "Boolean", value: true }, true, { type: "Boolean", value: "true" }],
  [{ type: "Boolean", value: "false" }, false, { type: "Boolean", value: "false" }],
  [{ type: "Guid", value: ID.toUpperCase() }, { type: "Guid", value: ID }, { type: "Guid", value: ID }],
  [{ type: "Binary", value: "AQI=" }, new Uint8Array([1, 2]), { type: "Binary", value: "AQI=" }],
  [{ type: "DateTime", value: "2020-01-02T03:04:05.1234567Z" }, new Date("2020-01-02T03:04:05.123Z"), { type: "DateTime", value: "2020-01-02T03:04:05.1234567Z" }],
  [{ type: "DateTime", value: "2020-01-02T03:04:05.1200000Z" }, new Date("2020-01-02T03:04:05.120Z"), { type: "DateTime", value: "2020-01-02T03:04:05.12Z" }],
  [{ type: "DateTime", value: "2020-01-02T03:04:05+02:00" }, new Date("2020-01-02T01:04:05Z"), { type: "DateTime", value: "2020-01-02T01:04:05Z" }],
];
for (const [sent, converted, raw] of EXPLICIT) {
  test(`${sent.type} given as ${sent.value}`, async () => {
    const fresh = await table();
    await fresh.createEntity({ partitionKey: "p", rowKey: "r", v: sent });
    const found = (await fresh.getEntity("p", "r")).v;
    assert.deepEqual(found instanceof Uint8Array ? new Uint8Array(found) : found, converted);
    assert.deepEqual((await fresh.getEntity("p", "r", { disableTypeConversion: true })).v, raw);
    const [listed] = await all(fresh.listEntities({ disableTypeConversion: true }));
    assert.deepEqual(listed.v, raw);
  });
}

test("a whole double stays a double", async () => {
  const fresh = await table();
  await fresh.createEntity({ partitionKey: "p", rowKey: "r", v: { type: "Double", value: 5 } });
  assert.equal((await fresh.getEntity("p", "r")).v, 5);
  assert.equal((await all(fresh.listEntities({ queryOptions: { filter: "v eq 5.0" } }))).length, 1);
});

test("what is read without conversion can be written back", async () => {
  // The SDK then sends numbers and booleans as annotated text.
  const fresh = await table();
  await fresh.createEntity({
    partitionKey: "p", rowKey: "r", s: "x", i: 7, d: 1.5, b: true, l: 7n, g: { type: "Guid", value: ID },
    t: { type: "DateTime", value: "2020-01-02T03:04:05.1234567Z" }, x: new Uint8Array([1, 2]),
  });
  const before = await fresh.getEntity("p", "r", { disableTypeConversion: true });
  await fresh.updateEntity(before, "Replace");
  assert.deepEqual(own(await fresh.getEntity("p", "r", { disableTypeConversion: true })), own(before));
});

test("text that is not of its type is rejected", async () => {
  const fresh = await table();
  for (const type of ["DateTime", "Guid", "Double", "Int64"]) {
    const entity = { partitionKey: "p", rowKey: "r", v: { type, value: "neither" } };
    await rejected(fresh.createEntity(entity), 400, "InvalidInput", "An error occurred while processing this request.");
  }
});

test("dates before 1601 are rejected (DM-21)", async () => {
  const fresh = await table();
  const entity = { partitionKey: "p", rowKey: "r", v: { type: "DateTime", value: "1600-12-31T23:59:59Z" } };
  await rejected(fresh.createEntity(entity), 400, "OutOfRangeInput");
});

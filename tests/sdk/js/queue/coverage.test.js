// Checks that the suite calls every public method of the SDK's clients.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { test } = require("node:test");
const { QueueClient, QueueServiceClient } = require("@azure/storage-queue");
const { publicMethods } = require("../common.js");

const source = fs.readdirSync(__dirname)
  .filter((name) => name.endsWith(".test.js") && name !== "coverage.test.js")
  .map((name) => fs.readFileSync(`${__dirname}/${name}`, "utf8"))
  .join("");
// Private in the type declarations.
const HIDDEN = /^(constructor|name|listQueuesSegment|listSegments|listItems|getQueueNameFromUrl)$/;

for (const type of [QueueServiceClient, QueueClient]) {
  test(`every public method of ${type.name} is called`, () => {
    const methods = publicMethods(type, HIDDEN);
    assert.ok(methods.length >= 8);
    assert.deepEqual(methods.filter((name) => !source.includes(`.${name}(`)), []);
  });
}

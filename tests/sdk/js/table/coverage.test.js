// Checks that the suite calls every public method of the SDK's clients.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { test } = require("node:test");
const { TableClient, TableServiceClient, TableTransaction } = require("@azure/data-tables");

const source = fs.readdirSync(__dirname)
  .filter((name) => name.endsWith(".js") && name !== "coverage.test.js")
  .map((name) => fs.readFileSync(`${__dirname}/${name}`, "utf8"))
  .join("");
// Private in the type declarations, though visible at run time.
const PRIVATE = /^(constructor|_.*|list(Entities|Tables)(All|Page))$/;

for (const type of [TableServiceClient, TableClient, TableTransaction]) {
  test(`every public method of ${type.name} is called`, () => {
    const methods = [...Object.getOwnPropertyNames(type.prototype), ...Object.getOwnPropertyNames(type).filter((name) => typeof type[name] === "function")]
      .filter((name) => !PRIVATE.test(name));
    assert.ok(methods.length >= 4);
    assert.deepEqual(methods.filter((name) => !source.includes(`.${name}(`)), []);
  });
}

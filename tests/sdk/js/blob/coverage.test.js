// Checks that the suite calls every public method of the SDK's clients.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { test } = require("node:test");
const {
  AppendBlobClient, BlobBatch, BlobBatchClient, BlobClient, BlobLeaseClient, BlobServiceClient, BlockBlobClient, ContainerClient, PageBlobClient,
} = require("@azure/storage-blob");
const { publicMethods } = require("../common.js");

const source = fs.readdirSync(__dirname)
  .filter((name) => name.endsWith(".js") && name !== "coverage.test.js")
  .map((name) => fs.readFileSync(`${__dirname}/${name}`, "utf8"))
  .join("");
// Private in the type declarations, or for browsers only.
const HIDDEN = new RegExp(`^(${[
  "constructor", "name", "containerName", "url", "leaseId", ".*Segments?", ".*ApacheArrow", "listItems", ".*(Items|ItemsByHierarchy)", "get.*FromUrl",
  "startCopyFromURL", "uploadBrowserData", "uploadSeekableInternal", "getMultiPartContentType", "getHttpRequestBody", "getSubRequests", "addSubRequestInternal", "setBatchType",
].join("|")})$`);

for (const type of [BlobServiceClient, ContainerClient, BlobClient, BlockBlobClient, AppendBlobClient, PageBlobClient, BlobLeaseClient, BlobBatchClient, BlobBatch]) {
  test(`every public method of ${type.name} is called`, () => {
    const methods = publicMethods(type, HIDDEN);
    assert.ok(methods.length >= 2);
    assert.deepEqual(methods.filter((name) => !source.includes(`.${name}(`)), []);
  });
}

// List Blobs: flat and by hierarchy, prefixes, pages, and what is included.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { all, container, rejected, source } = require("./helper.js");

const TREE = ["a", "a/1", "a/2", "a/b/3", "ab", "b/1", "Z", "é"];
const ORDER = ["Z", "a", "a/1", "a/2", "a/b/3", "ab", "b/1", "é"];
const names = (items) => items.map((item) => item.name);

async function tree() {
  const fresh = await container();
  await Promise.all(TREE.map((name) => fresh.uploadBlockBlob(name, "x", 1, { metadata: { name: encodeURI(name) } })));
  return fresh;
}

test("flat, in the order of names, by prefix, in pages (BL-09)", async () => {
  const fresh = await tree();
  assert.deepEqual(names(await all(fresh.listBlobsFlat())), ORDER);
  assert.deepEqual(names(await all(fresh.listBlobsFlat({ prefix: "a/" }))), ["a/1", "a/2", "a/b/3"]);
  for (const maxPageSize of [1, 3, 5000]) {
    const pages = await all(fresh.listBlobsFlat().byPage({ maxPageSize }));
    assert.deepEqual(pages.flatMap((page) => names(page.segment.blobItems)), ORDER);
    assert.ok(pages.every((page) => page.segment.blobItems.length <= maxPageSize));
  }
  const first = (await fresh.listBlobsFlat().byPage({ maxPageSize: 3 }).next()).value;
  const rest = await all(fresh.listBlobsFlat().byPage({ continuationToken: first.continuationToken }));
  assert.deepEqual(rest.flatMap((page) => names(page.segment.blobItems)), ORDER.slice(3));
  await rejected(fresh.listBlobsFlat().byPage({ maxPageSize: 0 }).next(), 400, "OutOfRangeQueryParameterValue");
});

test("by hierarchy: a prefix is never repeated", async () => {
  const fresh = await tree();
  for (const maxPageSize of [1, 2, 5000]) {
    const pages = await all(fresh.listBlobsByHierarchy("/").byPage({ maxPageSize }));
    assert.deepEqual(pages.flatMap((page) => (page.segment.blobPrefixes ?? []).map((item) => item.name)), ["a/", "b/"]);
    assert.deepEqual(pages.flatMap((page) => names(page.segment.blobItems)), ["Z", "a", "ab", "é"]);
  }
  const below = await all(fresh.listBlobsByHierarchy("/", { prefix: "a/" }));
  assert.deepEqual(below.map((item) => [item.kind, item.name]), [["prefix", "a/b/"], ["blob", "a/1"], ["blob", "a/2"]]);
});

test("metadata, snapshots, uncommitted blobs and copies", async () => {
  const fresh = await container();
  const { blockBlobClient } = await fresh.uploadBlockBlob("a", "x", 1, { metadata: { color: "blue" } });
  await blockBlobClient.createSnapshot();
  await fresh.getBlockBlobClient("new").stageBlock("AAAA", "y", 1);
  await fresh.getBlobClient("copy").syncCopyFromURL(await source(blockBlobClient));
  const found = await all(fresh.listBlobsFlat({ includeMetadata: true, includeSnapshots: true, includeUncommitedBlobs: true, includeCopy: true }));
  assert.deepEqual(found.map((item) => [item.name, Boolean(item.snapshot)]), [["a", true], ["a", false], ["copy", false], ["new", false]]);
  assert.deepEqual(found[1].metadata, { color: "blue" });
  assert.equal(found[1].properties.etag, (await blockBlobClient.getProperties()).etag.replaceAll('"', ""));
  assert.equal(found[2].properties.copyStatus, "success");
  assert.equal(found[3].properties.contentLength, 0);
});

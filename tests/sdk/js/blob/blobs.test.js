// Block blobs: upload, download, blocks, properties, conditions, leases, snapshots, copies.
"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const fs = require("node:fs/promises");
const os = require("node:os");
const path = require("node:path");
const { Readable } = require("node:stream");
const { test } = require("node:test");
const { FOREIGN_ETAG, all, blob, container, content, eventually, grouped, outcome, rejected, source } = require("./helper.js");

const DATA = crypto.randomBytes(300_000);
const id = (number) => Buffer.from(String(number).padStart(6, "0")).toString("base64");

test("upload and download, whole and in part (BL-01)", async () => {
  const client = (await container()).getBlockBlobClient("dir/a b");
  const { etag } = await client.upload("hello", 5, { blobHTTPHeaders: { blobContentType: "text/plain" }, metadata: { color: "blue" } });
  assert.deepEqual([client.name, await client.exists()], ["dir/a b", true]);
  const found = await client.getProperties();
  assert.deepEqual([found.etag, found.contentLength, found.contentType, found.metadata, found.blobType], [etag, 5, "text/plain", { color: "blue" }, "BlockBlob"]);
  assert.deepEqual(Buffer.from(found.contentMD5), crypto.createHash("md5").update("hello").digest());
  const response = await client.download(1, 3);
  assert.equal((await all(response.readableStreamBody)).map(String).join(""), "ell");
  assert.equal(response.contentRange, "bytes 1-3/5");
  assert.equal(await content(client, 2), "llo");
});

test("uploadData, uploadStream, uploadFile and downloadToFile, in blocks", async () => {
  const fresh = await container();
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "lazuli-js-"));
  const settings = { blockSize: 65_536, maxSingleShotSize: 65_536, concurrency: 3 };
  await fs.writeFile(`${folder}/in`, DATA);
  const ways = {
    data: (client) => client.uploadData(DATA, settings), stream: (client) => client.uploadStream(Readable.from([DATA.subarray(0, 1000), DATA.subarray(1000)]), 65_536, 3),
    file: (client) => client.uploadFile(`${folder}/in`, settings),
  };
  for (const [name, way] of Object.entries(ways)) {
    const client = fresh.getBlockBlobClient(name);
    await way(client);
    assert.ok((await client.downloadToBuffer(0, undefined, { blockSize: 65_536, concurrency: 3 })).equals(DATA), name);
    await client.downloadToFile(`${folder}/out`);
    assert.ok((await fs.readFile(`${folder}/out`)).equals(DATA), name);
  }
  await fs.rm(folder, { recursive: true });
});

test("an empty blob has no ranges", async () => {
  const client = (await container()).getBlockBlobClient("empty");
  await client.upload("", 0);
  assert.equal((await client.getProperties()).contentLength, 0);
  assert.equal((await client.download()).contentLength, 0);
  await rejected(client.download(0, 5), 416, "InvalidRange");
});

test("delete, and delete if it exists", async () => {
  const { container: fresh, blob: client } = await blob();
  assert.equal((await client.deleteIfExists()).succeeded, true);
  assert.equal((await client.deleteIfExists()).succeeded, false);
  await rejected(client.delete(), 404, "BlobNotFound");
  await client.upload("x", 1);
  await fresh.deleteBlob("blob");
  assert.equal(await client.exists(), false);
});

test("blocks: any order, any of both lists", async () => {
  const client = (await container()).getBlockBlobClient("a");
  for (const [number, text] of ["aa", "bb", "cc"].entries()) {
    await client.stageBlock(id(number), text, 2);
  }
  assert.equal(await client.exists(), false);
  assert.deepEqual((await client.getBlockList("uncommitted")).uncommittedBlocks.map((block) => block.name), [id(0), id(1), id(2)]);
  await client.commitBlockList([id(2), id(0), id(2)]);
  assert.equal(await content(client), "ccaacc");
  assert.deepEqual((await client.getBlockList("all")).committedBlocks.map((block) => block.name), [id(2), id(0), id(2)]);
  await rejected(client.commitBlockList([id(7)]), 400, "InvalidBlockList", "The specified block list is invalid.");
});

test("setHTTPHeaders and setMetadata replace (BL-01)", async () => {
  const { blob: client } = await blob();
  const before = (await client.getProperties()).etag;
  await client.setHTTPHeaders({ blobContentType: "text/html", blobCacheControl: "no-store", blobContentLanguage: "de" });
  await client.setMetadata({ first: "1" });
  const found = await client.getProperties();
  assert.deepEqual([found.contentType, found.cacheControl, found.contentLanguage, found.metadata], ["text/html", "no-store", "de", { first: "1" }]);
  assert.notEqual(found.etag, before);
});

test("conditions (BL-02, BL-04, BL-06, BL-10)", async () => {
  const { blob: client } = await blob();
  const { etag, lastModified } = await client.getProperties();
  const early = new Date(lastModified - 3_600_000);
  const late = new Date(+lastModified + 3_600_000);
  const fails = [{ ifMatch: FOREIGN_ETAG }, { ifNoneMatch: etag }, { ifModifiedSince: late }, { ifUnmodifiedSince: early }];
  for (const conditions of fails) {
    for (const call of [
      () => client.upload("x", 1, { conditions }), () => client.setMetadata({}, { conditions }), () => client.setHTTPHeaders({}, { conditions }),
      () => client.createSnapshot({ conditions }), () => client.delete({ conditions }), () => client.getBlobLeaseClient().acquireLease(15, { conditions }),
    ]) {
      assert.equal(await outcome(call()), "412 ConditionNotMet");
    }
    const status = "ifNoneMatch" in conditions || "ifModifiedSince" in conditions ? 304 : 412;
    assert.equal(await outcome(client.download(0, undefined, { conditions })), `${status} ConditionNotMet`);
    assert.equal(await outcome(client.getProperties({ conditions })), `${status} ConditionNotMet`);
  }
  assert.equal(await outcome(client.upload("x", 1, { conditions: { ifNoneMatch: "*" } })), "409 BlobAlreadyExists");
  assert.equal(await outcome(client.upload("x", 1, { conditions: { ifMatch: etag } })), "ok");
  assert.equal(await outcome(client.upload("y", 1, { conditions: { ifMatch: etag } })), "412 ConditionNotMet");
});

test("leases: acquire, renew, change, release, break (LS-01 to LS-03, LS-05, LS-07)", async () => {
  const { blob: client } = await blob();
  const lease = client.getBlobLeaseClient();
  await lease.acquireLease(15);
  assert.equal(await outcome(client.getBlobLeaseClient().acquireLease(15)), "409 LeaseAlreadyPresent");
  assert.equal(await outcome(client.upload("x", 1)), "412 LeaseIdMissing");
  await lease.renewLease();
  await lease.changeLease(crypto.randomUUID());
  const conditions = { leaseId: lease.leaseId };
  await client.upload("x", 1, { conditions });
  assert.equal(await outcome(client.setMetadata({}, { conditions: { leaseId: crypto.randomUUID() } })), "412 LeaseIdMismatchWithBlobOperation");
  assert.equal(await content(client), "x");
  await lease.releaseLease();
  await client.upload("y", 1);
  await lease.acquireLease(60);
  assert.ok((await lease.breakLease(1)).leaseTime <= 1);
  await eventually(async () => (await client.getProperties()).leaseState === "broken");
  await client.upload("z", 1);
});

test("snapshots", async () => {
  const { container: fresh, blob: client } = await blob();
  const { snapshot } = await client.createSnapshot();
  await client.upload("changed", 7);
  assert.equal(await content(client.withSnapshot(snapshot)), "0123456789");
  await rejected(client.delete(), 409, "SnapshotsPresent");
  await client.delete({ deleteSnapshots: "only" });
  assert.deepEqual((await all(fresh.listBlobsFlat({ includeSnapshots: true }))).map((item) => item.name), ["blob"]);
});

test("copies: asynchronous, synchronous, by URL", async () => {
  const { container: fresh, blob: client } = await blob();
  const copy = fresh.getBlobClient("copy");
  const poller = await copy.beginCopyFromURL(client.url);
  assert.equal((await poller.pollUntilDone()).copyStatus, "success");
  assert.deepEqual([await content(copy), (await copy.getProperties()).metadata], ["0123456789", { color: "blue" }]);
  const sync = fresh.getBlobClient("sync");
  const response = await sync.syncCopyFromURL(await source(client));
  assert.equal(response.copyStatus, "success");
  assert.equal(await content(sync), "0123456789");
  await rejected(sync.abortCopyFromURL(response.copyId), 409, "NoPendingCopyOperation");
  const put = fresh.getBlockBlobClient("put");
  await put.syncUploadFromURL(await source(client));
  await put.stageBlockFromURL(id(1), await source(client), 2, 3);
  await put.commitBlockList([id(1)]);
  assert.equal(await content(put), "234");
});

grouped(["batch"], "several deletes in one request", async () => {
  const { container: fresh, blob: client } = await blob();
  await fresh.uploadBlockBlob("other", "x", 1);
  const batches = fresh.getBlobBatchClient();
  const response = await batches.deleteBlobs([client, fresh.getBlobClient("missing"), fresh.getBlobClient("other")]);
  assert.deepEqual(response.subResponses.map((part) => part.status).sort(), [202, 202, 404]);
  assert.equal(response.subResponsesSucceededCount, 2);
  await fresh.uploadBlockBlob("again", "x", 1);
  const batch = batches.createBatch();
  await batch.deleteBlob(fresh.getBlobClient("again"));
  assert.equal((await batches.submitBatch(batch)).subResponses[0].status, 202);
});

const NAMES = ["a+b", "a%20b", "100%", "a?b#c", "a//b", "Grüße", "世界😀", "'\"<>&", "x".repeat(1024)];
for (const name of NAMES) {
  test(`the name ${JSON.stringify(name.slice(0, 20))}`, async () => {
    const fresh = await container();
    await fresh.getBlockBlobClient(name).upload("x", 1);
    assert.equal(await content(fresh.getBlobClient(name)), "x");
    assert.deepEqual((await all(fresh.listBlobsFlat())).map((item) => item.name), [name]);
  });
}

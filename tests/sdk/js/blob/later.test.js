// Append and page blobs (left out by LAZULI_SKIP=part2), tags, tiers, soft delete, immutability.
"use strict";

const assert = require("node:assert/strict");
const { all, blob, container, content, eventually, grouped, outcome, randomName, rejected, service, source } = require("./helper.js");

const PAGE = 512;

grouped([], "append blobs", async () => {
  const { container: fresh, blob: client } = await blob();
  const log = fresh.getAppendBlobClient("log");
  assert.equal((await log.createIfNotExists()).succeeded, true);
  assert.equal((await log.createIfNotExists()).succeeded, false);
  assert.equal((await log.appendBlock("one,", 4)).blobAppendOffset, "0");
  assert.equal((await log.appendBlock("two", 3)).blobAppendOffset, "4");
  assert.equal(await content(log), "one,two");
  await rejected(log.appendBlock("x", 1, { conditions: { appendPosition: 1 } }), 412, "AppendPositionConditionNotMet");
  await log.appendBlockFromURL(await source(client), 2, 3);
  await log.seal();
  await rejected(log.appendBlock("x", 1), 409, "BlobIsSealed");
  await log.create();
  assert.equal(await content(client.getAppendBlobClient()), "0123456789");
});

grouped([], "page blobs", async () => {
  const fresh = await container();
  const disk = fresh.getPageBlobClient("disk");
  await disk.create(8 * PAGE);
  assert.equal((await disk.createIfNotExists(PAGE)).succeeded, false);
  await disk.uploadPages("a".repeat(2 * PAGE), PAGE, 2 * PAGE);
  const { snapshot } = await disk.createSnapshot();
  await disk.clearPages(PAGE, PAGE);
  assert.deepEqual((await disk.getPageRanges()).pageRange, [{ offset: 2 * PAGE, count: PAGE - 1 }]);
  assert.equal((await all(disk.listPageRanges())).length, 1);
  assert.equal((await disk.getPageRangesDiff(0, 8 * PAGE, snapshot)).clearRange.length, 1);
  assert.equal((await all(disk.listPageRangesDiff(0, 8 * PAGE, snapshot))).length, 1);
  await disk.resize(4 * PAGE);
  await disk.updateSequenceNumber("update", 7);
  assert.equal((await disk.getProperties()).blobSequenceNumber, 7);
  await disk.uploadPagesFromURL(await source(disk), 2 * PAGE, 0, PAGE);
  assert.equal(await content(disk, 0, 4), "aaaa");
  assert.ok((await outcome(disk.getPageRangesDiffForManagedDisks(0, PAGE, disk.withSnapshot(snapshot).url))) !== undefined);
  assert.ok((await outcome(disk.startCopyIncremental(disk.withSnapshot(snapshot).url))).match(/^(ok|4|5)/));
});

grouped([], "tags", async () => {
  const { container: fresh, blob: client } = await blob();
  const mark = randomName();
  await client.setTags({ mark, stage: "a b" });
  assert.deepEqual((await client.getTags()).tags, { mark, stage: "a b" });
  assert.deepEqual((await eventually(async () => (await all(fresh.findBlobsByTags(`mark='${mark}'`))))).map((item) => item.name), ["blob"]);
  assert.deepEqual((await all(service.findBlobsByTags(`mark='${mark}'`))).map((item) => item.name), ["blob"]);
});

grouped([], "tiers", async () => {
  const { container: fresh, blob: client } = await blob();
  await client.setAccessTier("Cool");
  assert.equal((await client.getProperties()).accessTier, "Cool");
  const batches = service.getBlobBatchClient();
  assert.equal((await batches.setBlobsAccessTier([client], "Hot")).subResponses[0].status, 200);
  const batch = batches.createBatch();
  await batch.setBlobAccessTier(fresh.getBlobClient("blob"), "Cool");
  assert.equal((await batches.submitBatch(batch)).subResponsesSucceededCount, 1);
});

grouped([], "soft delete, versions, immutability and queries", async () => {
  const { blob: client } = await blob();
  await service.setProperties({ deleteRetentionPolicy: { enabled: true, days: 2 } });
  await client.delete();
  await client.undelete();
  assert.equal(await content(client), "0123456789");
  await service.setProperties({ deleteRetentionPolicy: { enabled: false } });
  for (const call of [
    () => client.withVersion("2020-01-01T00:00:00.0000000Z").download(), () => client.setImmutabilityPolicy({ expiriesOn: new Date(), policyMode: "Unlocked" }),
    () => client.deleteImmutabilityPolicy(), () => client.setLegalHold(true), () => client.query("select * from BlobStorage"),
    () => service.undeleteContainer(randomName(), "01D6"),
  ]) {
    assert.match(await outcome(call()), /^(ok|4\d\d|501)/);
  }
  await client.setLegalHold(false).catch(() => undefined);
});

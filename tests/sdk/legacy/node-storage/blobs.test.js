// Blobs: containers, content, blocks, properties, leases, snapshots, copies, listings, signatures.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs/promises");
const os = require("node:os");
const path = require("node:path");
const { after, test } = require("node:test");
const azure = require("azure-storage");
const { call, grouped, hostEndpoint, serviceString, uniqueName } = require("../common.js");

const ENDPOINT = hostEndpoint("blob");
if (ENDPOINT) {
  const service = azure.createBlobService(serviceString("Blob", ENDPOINT));
  const created = [];
  after(() => Promise.all(created.map((name) => call(service, "deleteContainerIfExists", name))));
  const fresh = async () => {
    const name = uniqueName("old-");
    created.push(name);
    await call(service, "createContainer", name);
    return name;
  };
  const text = async (...where) => (await call(service, "getBlobToText", ...where))[0];
  const status = (code) => (error) => error.statusCode === code;

  test("containers", async () => {
    const name = await fresh();
    await assert.rejects(call(service, "createContainer", name), status(409));
    await call(service, "createContainerIfNotExists", name);
    await call(service, "setContainerMetadata", name, { color: "blue" });
    assert.equal((await call(service, "getContainerProperties", name))[0].metadata.color, "blue");
    assert.deepEqual((await call(service, "listContainersSegmentedWithPrefix", name, null))[0].entries.map((entry) => entry.name), [name]);
    await call(service, "deleteContainer", name);
    await assert.rejects(call(service, "getContainerProperties", name), status(404));
  });

  test("content: text, file and stream", async () => {
    const name = await fresh();
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), "lazuli-old-"));
    await fs.writeFile(`${folder}/in`, Buffer.alloc(300_000, "0123456789"));
    await call(service, "createBlockBlobFromText", name, "a b", "Grüße");
    assert.equal(await text(name, "a b"), "Grüße");
    await call(service, "createBlockBlobFromLocalFile", name, "file", `${folder}/in`);
    await call(service, "getBlobToLocalFile", name, "file", `${folder}/out`);
    assert.ok((await fs.readFile(`${folder}/out`)).equals(await fs.readFile(`${folder}/in`)));
    await fs.rm(folder, { recursive: true });
    const [found] = await call(service, "getBlobProperties", name, "file");
    assert.equal(Number(found.contentLength), 300_000);
    assert.deepEqual((await call(service, "listBlobsSegmented", name, null))[0].entries.map((entry) => entry.name), ["a b", "file"]);
    await call(service, "deleteBlob", name, "file");
    await assert.rejects(call(service, "getBlobProperties", name, "file"), status(404));
  });

  test("blocks, in an order of their own", async () => {
    const name = await fresh();
    for (const [id, piece] of [["AAAA", "one,"], ["AAAB", "two,"]]) {
      await call(service, "createBlockFromText", id, name, "a", piece);
    }
    await call(service, "commitBlocks", name, "a", { LatestBlocks: ["AAAB", "AAAA"] });
    assert.equal(await text(name, "a"), "two,one,");
    assert.equal((await call(service, "listBlocks", name, "a", "all"))[0].CommittedBlocks.length, 2);
  });

  test("metadata, conditions and leases (BL-02, LS-02, LS-05)", async () => {
    const name = await fresh();
    await call(service, "createBlockBlobFromText", name, "a", "x");
    await call(service, "setBlobMetadata", name, "a", { first: "1" });
    assert.equal((await call(service, "getBlobMetadata", name, "a"))[0].metadata.first, "1");
    const [lease] = await call(service, "acquireLease", name, "a", { leaseDuration: 15 });
    await assert.rejects(call(service, "acquireLease", name, "a", { leaseDuration: 15 }), status(409));
    await assert.rejects(call(service, "setBlobMetadata", name, "a", {}), status(412));
    await call(service, "renewLease", name, "a", lease.id);
    await call(service, "setBlobMetadata", name, "a", {}, { leaseId: lease.id });
    await call(service, "releaseLease", name, "a", lease.id);
  });

  test("snapshots and copies", async () => {
    const name = await fresh();
    await call(service, "createBlockBlobFromText", name, "a", "old");
    const [snapshot] = await call(service, "createBlobSnapshot", name, "a");
    await call(service, "createBlockBlobFromText", name, "a", "new");
    assert.equal(await text(name, "a", { snapshotId: snapshot.snapshot ?? snapshot }), "old");
    await call(service, "startCopyBlob", service.getUrl(name, "a"), name, "copy");
    assert.equal(await text(name, "copy"), "new");
    await call(service, "deleteBlob", name, "a", { deleteSnapshots: azure.BlobUtilities.SnapshotDeleteOptions.BLOB_AND_SNAPSHOTS });
  });

  grouped(["sas"], "a signature", async () => {
    const name = await fresh();
    await call(service, "createBlockBlobFromText", name, "a", "x");
    const token = service.generateSharedAccessSignature(name, "a", { AccessPolicy: { Permissions: "r", Expiry: new Date(Date.now() + 3_600_000) } });
    const reader = azure.createBlobServiceWithSas(ENDPOINT, token);
    assert.equal((await call(reader, "getBlobToText", name, "a"))[0], "x");
    // With versions of 2014, an operation that the signature does not allow gets 404.
    await assert.rejects(call(reader, "deleteBlob", name, "a"), (error) => [403, 404].includes(error.statusCode));
  });

  grouped(["part2"], "page blobs", async () => {
    const name = await fresh();
    await call(service, "createPageBlob", name, "disk", 1024);
    assert.equal(Number((await call(service, "getBlobProperties", name, "disk"))[0].contentLength), 1024);
  });
}

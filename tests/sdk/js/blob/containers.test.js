// Containers: create, list, metadata, policies, leases, delete, service properties, and every way to get a client.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { BlobServiceClient, ContainerClient } = require("@azure/storage-blob");
const {
  ACCOUNT, CONNECTION_STRING, CREDENTIAL, ENDPOINT, OPTIONS,
  all, blob, container, content, grouped, hostStyle, outcome, randomName, rejected, service,
} = require("./helper.js");

test("create, exists, delete, by the container and by the service (BL-05)", async () => {
  const fresh = service.getContainerClient(randomName());
  assert.equal(await fresh.exists(), false);
  const { etag } = await fresh.create({ metadata: { color: "blue" } });
  const found = await fresh.getProperties();
  assert.deepEqual([found.etag, found.metadata, found.leaseState, found.leaseStatus], [etag, { color: "blue" }, "available", "unlocked"]);
  await rejected(fresh.create(), 409, "ContainerAlreadyExists", "The specified container already exists.");
  assert.equal((await fresh.createIfNotExists()).succeeded, false);
  await fresh.delete();
  assert.equal(await fresh.exists(), false);
  await rejected(fresh.delete(), 404, "ContainerNotFound");
  assert.equal((await fresh.deleteIfExists()).succeeded, false);
  assert.equal((await fresh.createIfNotExists()).succeeded, true);
  assert.equal((await fresh.deleteIfExists()).succeeded, true);
  const { containerClient } = await service.createContainer(fresh.containerName);
  assert.equal(containerClient.containerName, fresh.containerName);
  await service.deleteContainer(fresh.containerName);
});

test("listContainers by prefix, with metadata, in pages", async () => {
  const prefix = randomName().slice(0, 20);
  const names = ["a", "b", "c"].map((letter) => randomName(prefix + letter));
  for (const name of names) {
    await service.createContainer(name, { metadata: { name } });
  }
  const items = await all(service.listContainers({ prefix, includeMetadata: true }));
  assert.deepEqual(items.map((item) => [item.name, item.metadata]), names.map((name) => [name, { name }]));
  const pages = await all(service.listContainers({ prefix }).byPage({ maxPageSize: 2 }));
  assert.deepEqual(pages.map((page) => page.containerItems.map((item) => item.name)), [names.slice(0, 2), names.slice(2)]);
});

test("setMetadata replaces and changes the ETag (BL-01)", async () => {
  const fresh = await container();
  const before = (await fresh.getProperties()).etag;
  assert.notEqual((await fresh.setMetadata({ first: "1" })).etag, before);
  await fresh.setMetadata({ second: "2" });
  assert.deepEqual((await fresh.getProperties()).metadata, { second: "2" });
});

grouped(["acl"], "access policies and public access", async () => {
  const fresh = await container();
  const policy = { id: "full", accessPolicy: { startsOn: new Date("2030-01-02T00:00:00Z"), expiresOn: new Date("2030-03-04T05:06:07Z"), permissions: "rwdl" } };
  await fresh.setAccessPolicy("blob", [policy]);
  const found = await fresh.getAccessPolicy();
  assert.deepEqual([found.blobPublicAccess, found.signedIdentifiers], ["blob", [policy]]);
  await fresh.uploadBlockBlob("a", "open", 4);
  const anonymous = new ContainerClient(`${ENDPOINT}/${fresh.containerName}`, undefined, OPTIONS);
  assert.equal(await content(anonymous.getBlobClient("a")), "open");
  assert.notEqual(await outcome(all(anonymous.listBlobsFlat())), "ok");
  await fresh.setAccessPolicy();
  assert.notEqual(await outcome(content(anonymous.getBlobClient("a"))), "ok");
});

test("a leased container needs the id to be deleted, and for nothing else (LS-10)", async () => {
  const fresh = await container();
  const lease = fresh.getBlobLeaseClient();
  await lease.acquireLease(-1);
  await fresh.setMetadata({ a: "b" });
  await fresh.uploadBlockBlob("a", "x", 1);
  await rejected(fresh.delete(), 412, "LeaseIdMissing");
  await fresh.delete({ conditions: { leaseId: lease.leaseId } });
});

test("account information on three levels", async () => {
  const { container: fresh, blob: client } = await blob();
  for (const one of [service, fresh, client]) {
    const found = await one.getAccountInfo();
    assert.ok(found.skuName && found.accountKind);
    assert.equal(found.isHierarchicalNamespaceEnabled, false);
  }
});

grouped(["properties"], "service properties and statistics", async () => {
  const cors = [{ allowedOrigins: "example.com", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds: 8888 }];
  const on = { version: "1.0", read: true, write: true, deleteProperty: true, retentionPolicy: { enabled: true, days: 5 } };
  await service.setProperties({ blobAnalyticsLogging: on, cors });
  const found = await service.getProperties();
  assert.deepEqual([found.blobAnalyticsLogging, found.cors], [on, cors]);
  await service.setProperties({ blobAnalyticsLogging: { version: "1.0", read: false, write: false, deleteProperty: false, retentionPolicy: { enabled: false } }, cors: [] });
  assert.deepEqual((await service.getProperties()).cors ?? [], []);
  const secondary = new BlobServiceClient(ENDPOINT.replace(ACCOUNT, `${ACCOUNT}-secondary`), CREDENTIAL, OPTIONS);
  assert.ok(["live", "bootstrap", "unavailable"].includes((await secondary.getStatistics()).geoReplication.status));
});

test("clients from connection string, URL and credential reach the same blob", async () => {
  const { container: fresh } = await blob();
  const name = fresh.containerName;
  const clients = [
    new ContainerClient(CONNECTION_STRING, name, OPTIONS), new ContainerClient(`${ENDPOINT}/${name}`, CREDENTIAL, OPTIONS),
    BlobServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS).getContainerClient(name),
  ];
  for (const client of clients) {
    assert.equal(client.url, `${ENDPOINT}/${name}`);
    assert.equal(await content(client.getBlobClient("blob")), "0123456789");
  }
});

if (hostStyle(ENDPOINT, "blob")) {
  test("host style: the account as the first label", async () => {
    const other = new BlobServiceClient(hostStyle(ENDPOINT, "blob"), CREDENTIAL, OPTIONS);
    const name = randomName();
    await other.createContainer(name);
    await other.getContainerClient(name).uploadBlockBlob("a b", "x", 1);
    assert.equal(await content(service.getContainerClient(name).getBlobClient("a b")), "x");
  });
}

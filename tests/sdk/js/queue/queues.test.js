// Queues: create, list, metadata, delete, policies, properties, and every way to get a client.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { QueueClient, QueueServiceClient } = require("@azure/storage-queue");
const {
  ACCOUNT, CONNECTION_STRING, CREDENTIAL, ENDPOINT, OPTIONS,
  all, failure, grouped, hostStyle, queue, randomName, rejected, service,
} = require("./helper.js");

async function listed(options) {
  return (await all(service.listQueues(options))).map((item) => item.name);
}

test("create: 201, then 204 with the same metadata, 409 with other metadata", async () => {
  const fresh = service.getQueueClient(randomName());
  assert.equal((await fresh.create({ metadata: { color: "blue" } }))._response.status, 201);
  assert.equal((await fresh.create({ metadata: { color: "blue" } }))._response.status, 204);
  await rejected(fresh.create({ metadata: { color: "red" } }), 409, "QueueAlreadyExists");
  assert.equal((await fresh.createIfNotExists({ metadata: { color: "red" } })).succeeded, false);
  assert.deepEqual((await fresh.getProperties()).metadata, { color: "blue" });
});

test("create and delete by the service; delete if it exists; exists", async () => {
  const name = randomName();
  const fresh = service.getQueueClient(name);
  assert.equal(fresh.name, name);
  assert.equal(await fresh.exists(), false);
  assert.equal((await fresh.createIfNotExists()).succeeded, true);
  assert.equal(await fresh.exists(), true);
  await service.deleteQueue(name);
  assert.equal(await fresh.exists(), false);
  await rejected(fresh.delete(), 404, "QueueNotFound");
  assert.equal((await fresh.deleteIfExists()).succeeded, false);
  await service.createQueue(name);
  assert.equal((await fresh.deleteIfExists()).succeeded, true);
});

test("every operation on a queue that does not exist is 404", async () => {
  const missing = service.getQueueClient(randomName());
  for (const call of [
    () => missing.getProperties(), () => missing.setMetadata({}), () => missing.getAccessPolicy(), () => missing.setAccessPolicy([]),
    () => missing.sendMessage("x"), () => missing.receiveMessages(), () => missing.peekMessages(), () => missing.clearMessages(),
  ]) {
    const error = await failure(call());
    assert.deepEqual([error.statusCode, error.details?.errorCode ?? error.code], [404, "QueueNotFound"]);
  }
});

test("listQueues by prefix, with metadata, in pages that another client resumes", async () => {
  const prefix = randomName().slice(0, 20);
  const names = ["a", "b", "c", "d", "e"].map((letter) => randomName(prefix + letter));
  for (const name of [...names].reverse()) {
    await service.createQueue(name, { metadata: { name } });
  }
  assert.deepEqual(await listed({ prefix }), names);
  const items = await all(service.listQueues({ prefix, includeMetadata: true }));
  assert.deepEqual(items.map((item) => item.metadata), names.map((name) => ({ name })));
  const first = (await service.listQueues({ prefix }).byPage({ maxPageSize: 2 }).next()).value;
  assert.deepEqual(first.queueItems.map((item) => item.name), names.slice(0, 2));
  const other = QueueServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS);
  const rest = await all(other.listQueues({ prefix }).byPage({ maxPageSize: 2, continuationToken: first.continuationToken }));
  assert.deepEqual(rest.map((page) => page.queueItems.map((item) => item.name)), [names.slice(2, 4), names.slice(4)]);
});

test("setMetadata replaces (QU-06)", async () => {
  const fresh = await queue();
  await fresh.setMetadata({ first: "1", Second: "two words" });
  assert.deepEqual((await fresh.getProperties()).metadata, { first: "1", second: "two words" });
  await fresh.setMetadata({ third: "3" });
  assert.deepEqual((await fresh.getProperties()).metadata, { third: "3" });
  await fresh.setMetadata();
  assert.deepEqual((await fresh.getProperties()).metadata ?? {}, {});
});

test("getProperties counts all messages", async () => {
  const fresh = await queue();
  await fresh.sendMessage("a");
  await fresh.sendMessage("b");
  await fresh.receiveMessages();
  assert.equal((await fresh.getProperties()).approximateMessagesCount, 2);
});

grouped(["acl"], "access policies", async () => {
  const fresh = await queue();
  const policy = { id: "full", accessPolicy: { startsOn: new Date("2030-01-02T00:00:00Z"), expiresOn: new Date("2030-03-04T05:06:07Z"), permissions: "raup" } };
  await fresh.setAccessPolicy([policy]);
  assert.deepEqual((await fresh.getAccessPolicy()).signedIdentifiers, [policy]);
  await fresh.setAccessPolicy([]);
  assert.deepEqual((await fresh.getAccessPolicy()).signedIdentifiers, []);
});

grouped(["properties"], "service properties and statistics", async () => {
  const off = { version: "1.0", read: false, write: false, deleteProperty: false, retentionPolicy: { enabled: false } };
  const on = { version: "1.0", read: true, write: true, deleteProperty: true, retentionPolicy: { enabled: true, days: 5 } };
  const cors = [{ allowedOrigins: "example.com", allowedMethods: "GET", allowedHeaders: "*", exposedHeaders: "*", maxAgeInSeconds: 8888 }];
  await service.setProperties({ queueAnalyticsLogging: on, cors });
  const found = await service.getProperties();
  assert.deepEqual(found.queueAnalyticsLogging, on);
  assert.deepEqual(found.cors, cors);
  await service.setProperties({ queueAnalyticsLogging: off, cors: [] });
  assert.deepEqual((await service.getProperties()).cors ?? [], []);
  const secondary = new QueueServiceClient(ENDPOINT.replace(ACCOUNT, `${ACCOUNT}-secondary`), CREDENTIAL, OPTIONS);
  // This version of the client looks for another root element than the service has ever sent, and so finds nothing.
  assert.match((await secondary.getStatistics())._response.bodyAsText, /<GeoReplication><Status>(live|bootstrap|unavailable)<\/Status>/);
});

test("clients from connection string, URL and credential reach the same queue", async () => {
  const fresh = await queue();
  await fresh.sendMessage("here");
  const clients = [
    new QueueClient(CONNECTION_STRING, fresh.name, OPTIONS), new QueueClient(`${ENDPOINT}/${fresh.name}`, CREDENTIAL, OPTIONS),
    QueueServiceClient.fromConnectionString(CONNECTION_STRING, OPTIONS).getQueueClient(fresh.name),
  ];
  for (const client of clients) {
    assert.equal(client.url, `${ENDPOINT}/${fresh.name}`);
    assert.equal((await client.peekMessages()).peekedMessageItems[0].messageText, "here");
  }
});

if (hostStyle(ENDPOINT, "queue")) {
  test("host style: the account as the first label", async () => {
    const other = new QueueServiceClient(hostStyle(ENDPOINT, "queue"), CREDENTIAL, OPTIONS);
    const name = randomName();
    await other.createQueue(name);
    await other.getQueueClient(name).sendMessage("by host name");
    assert.equal((await service.getQueueClient(name).receiveMessages()).receivedMessageItems[0].messageText, "by host name");
  });
}

for (const [name, code] of [["ab", "OutOfRangeInput"], ["a".repeat(64), "OutOfRangeInput"], ["Upper", "InvalidResourceName"], ["a--b", "InvalidResourceName"]]) {
  test(`the name ${name} is invalid`, async () => {
    await rejected(service.createQueue(name), 400, code);
  });
}

// Clients for the server under test, and queues that clean up after themselves.
"use strict";

const { after } = require("node:test");
const { QueueServiceClient, StorageSharedKeyCredential } = require("@azure/storage-queue");
const common = require("../common.js");

const { ACCOUNT, KEY, OPTIONS } = common;
const ENDPOINT = common.endpoint("QUEUE", 10001);
const CREDENTIAL = new StorageSharedKeyCredential(ACCOUNT, KEY);
const SCHEME = new URL(ENDPOINT).protocol.replace(":", "");
const CONNECTION_STRING = `DefaultEndpointsProtocol=${SCHEME};AccountName=${ACCOUNT};AccountKey=${KEY};QueueEndpoint=${ENDPOINT};`;
const service = new QueueServiceClient(ENDPOINT, CREDENTIAL, OPTIONS);

const created = new Set();
after(() => Promise.all([...created].map((name) => service.getQueueClient(name).deleteIfExists())));

/** A queue name that no other run uses; a queue of that name is deleted at the end. */
function randomName(prefix) {
  const name = common.randomName(prefix);
  created.add(name);
  return name;
}

/** A fresh queue. */
async function queue() {
  const fresh = service.getQueueClient(randomName());
  await fresh.create();
  return fresh;
}

module.exports = { ...common, CONNECTION_STRING, CREDENTIAL, ENDPOINT, queue, randomName, service };

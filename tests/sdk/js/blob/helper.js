// Clients for the server under test, and containers that clean up after themselves.
"use strict";

const assert = require("node:assert/strict");
const { after } = require("node:test");
const { BlobServiceClient, BlobSASPermissions, StorageSharedKeyCredential } = require("@azure/storage-blob");
const common = require("../common.js");

const { ACCOUNT, KEY, OPTIONS } = common;
const ENDPOINT = common.endpoint("BLOB", 10000);
const CREDENTIAL = new StorageSharedKeyCredential(ACCOUNT, KEY);
const SCHEME = new URL(ENDPOINT).protocol.replace(":", "");
const CONNECTION_STRING = `DefaultEndpointsProtocol=${SCHEME};AccountName=${ACCOUNT};AccountKey=${KEY};BlobEndpoint=${ENDPOINT};`;
const FOREIGN_ETAG = '"0x8D7A00000000000"';
const service = new BlobServiceClient(ENDPOINT, CREDENTIAL, OPTIONS);

const created = new Set();
after(async () => {
  for (const name of created) {
    const container = service.getContainerClient(name);
    await container.getBlobLeaseClient().breakLease(0).catch(() => undefined);
    await container.deleteIfExists();
  }
});

/** A container name that no other run uses; a container of that name is deleted at the end. */
function randomName(prefix) {
  const name = common.randomName(prefix);
  created.add(name);
  return name;
}

/** A fresh container. */
async function container() {
  const fresh = service.getContainerClient(randomName());
  await fresh.create();
  return fresh;
}

/** A fresh container with a blob of ten bytes. */
async function blob() {
  const fresh = await container();
  const client = fresh.getBlockBlobClient("blob");
  await client.upload("0123456789", 10, { metadata: { color: "blue" } });
  return { container: fresh, blob: client };
}

async function content(client, ...range) {
  return (await client.downloadToBuffer(...range)).toString();
}

/** An address of the blob that can be read by anybody who has it. */
function source(client) {
  return client.generateSasUrl({ permissions: BlobSASPermissions.parse("r"), expiresOn: common.soon() });
}

/** What a promise comes to: "ok", or the status and the code of the error. */
async function outcome(promise) {
  try {
    await promise;
    return "ok";
  } catch (error) {
    assert.ok(error.statusCode, error.stack);
    return `${error.statusCode} ${error.code ?? error.details?.errorCode}`;
  }
}

module.exports = { ...common, CONNECTION_STRING, CREDENTIAL, ENDPOINT, FOREIGN_ETAG, blob, container, content, outcome, randomName, service, source };

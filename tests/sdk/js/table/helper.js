// Clients for the server under test, tables that clean up after themselves, and the group switch.
//
// Groups named in LAZULI_SKIP (a comma list) are left out; nothing else is skipped.
// Retries are off, so that a 5xx fails at once instead of being hidden by a back-off.
"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const dns = require("node:dns");
const { after, test } = require("node:test");
const { AzureNamedKeyCredential, TableClient, TableServiceClient } = require("@azure/data-tables");

const DEV_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const ENDPOINT = (process.env.LAZULI_TABLE_ENDPOINT ?? "http://127.0.0.1:10002/devstoreaccount1").replace(/\/$/, "");
const ACCOUNT = process.env.LAZULI_ACCOUNT ?? "devstoreaccount1";
const KEY = process.env.LAZULI_KEY ?? DEV_KEY;
const CREDENTIAL = new AzureNamedKeyCredential(ACCOUNT, KEY);
const SCHEME = new URL(ENDPOINT).protocol.replace(":", "");
const CONNECTION_STRING = `DefaultEndpointsProtocol=${SCHEME};AccountName=${ACCOUNT};AccountKey=${KEY};TableEndpoint=${ENDPOINT};`;
const OPTIONS = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const PATH_STYLE = new URL(ENDPOINT).pathname === `/${ACCOUNT}`;
const GROUPS = ["batch", "acl", "properties", "sas", "part2"];

const skipped = new Set((process.env.LAZULI_SKIP ?? "").split(",").map((name) => name.trim()).filter(Boolean));
for (const name of skipped) {
  assert.ok(GROUPS.includes(name), `LAZULI_SKIP names an unknown group: ${name}`);
}

/** A test of one or more groups: left out if LAZULI_SKIP names any of them. */
function grouped(groups, name, body) {
  if (!groups.some((group) => skipped.has(group))) {
    test(name, body);
  }
}

// `{account}.table.localhost` resolves in browsers and curl; make it resolve here.
const lookup = dns.lookup;
dns.lookup = (host, ...rest) => lookup.call(dns, host.endsWith(".localhost") ? "127.0.0.1" : host, ...rest);

const service = new TableServiceClient(ENDPOINT, CREDENTIAL, OPTIONS);
const created = new Set();
after(() => Promise.all([...created].map((name) => service.deleteTable(name))));

/** A table name that no other run uses; a table of that name is deleted at the end. */
function randomName(prefix = "js") {
  const name = prefix + crypto.randomUUID().replaceAll("-", "");
  created.add(name);
  return name;
}

function client(name, credential = CREDENTIAL, options = OPTIONS) {
  return new TableClient(ENDPOINT, name, credential, options);
}

/** A fresh table. */
async function table() {
  const fresh = client(randomName());
  await fresh.createTable();
  return fresh;
}

/** The promise must be rejected with this status, code and, if given, text; the trailer must be there. */
async function rejected(promise, status, code, text) {
  const error = await failure(promise);
  const body = error.details?.odataError;
  assert.ok(body, `no odata.error in: ${error.stack}`);
  const [found, requestId, time] = body.message.value.split("\n");
  assert.deepEqual([error.statusCode, body.code], [status, code], found);
  assert.match(requestId, /^RequestId:[0-9a-f-]{36}$/);
  assert.match(time, /^Time:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
  if (text !== undefined) {
    assert.equal(found, text);
  }
  return error;
}

/** The error that a promise or an iterator of pages ends in. */
async function failure(promise) {
  try {
    await (promise[Symbol.asyncIterator] ? all(promise) : promise);
  } catch (error) {
    return error;
  }
  return assert.fail("the call was not rejected");
}

async function all(iterator) {
  const items = [];
  for await (const item of iterator) {
    items.push(item);
  }
  return items;
}

/** An entity without what the service adds. */
function own(entity) {
  return Object.fromEntries(Object.entries(entity).filter(([name]) => !name.startsWith("odata.") && name !== "etag" && name !== "timestamp"));
}

/** Without members that are undefined, which the SDK leaves in. */
function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

/** Options that collect raw responses into a list. */
function watching(responses) {
  return { onResponse: (raw) => responses.push(raw) };
}

module.exports = {
  ACCOUNT, CONNECTION_STRING, CREDENTIAL, ENDPOINT, KEY, OPTIONS, PATH_STYLE,
  all, client, failure, grouped, own, plain, randomName, rejected, service, table, watching,
};

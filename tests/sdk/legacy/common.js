// What the suites of old Node clients share: addresses, names, callbacks as promises, and the group switch.
"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const dns = require("node:dns");
const { after, test } = require("node:test");

const DEV_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const ENDPOINT = (process.env.LAZULI_TABLE_ENDPOINT ?? "http://127.0.0.1:10002/devstoreaccount1").replace(/\/$/, "");
const ACCOUNT = process.env.LAZULI_ACCOUNT ?? "devstoreaccount1";
const KEY = process.env.LAZULI_KEY ?? DEV_KEY;
const url = new URL(ENDPOINT);
const PATH_STYLE = url.pathname === `/${ACCOUNT}`;
/** The server in host style: `{account}.table.localhost` resolves in browsers and curl, and here. */
const HOST_ENDPOINT = PATH_STYLE ? `${url.protocol}//${ACCOUNT}.table.localhost:${url.port}` : ENDPOINT;

const lookup = dns.lookup;
dns.lookup = (host, ...rest) => lookup.call(dns, host.endsWith(".localhost") ? "127.0.0.1" : host, ...rest);

const skipped = new Set((process.env.LAZULI_SKIP ?? "").split(",").map((name) => name.trim()).filter(Boolean));

/** A test of one or more groups: left out if LAZULI_SKIP names any of them. */
function grouped(groups, name, body) {
  if (!groups.some((group) => skipped.has(group))) {
    test(name, body);
  }
}

function connectionString(endpoint) {
  return `DefaultEndpointsProtocol=${url.protocol.replace(":", "")};AccountName=${ACCOUNT};AccountKey=${KEY};TableEndpoint=${endpoint}`;
}

/** The address of another service in host style; undefined if the server does not offer it. */
function hostEndpoint(service) {
  const address = process.env[`LAZULI_${service.toUpperCase()}_ENDPOINT`];
  if (!address) {
    return undefined;
  }
  const found = new URL(address);
  return found.pathname === `/${ACCOUNT}` ? `${found.protocol}//${ACCOUNT}.${service}.localhost:${found.port}` : address;
}

function serviceString(service, endpoint) {
  return `DefaultEndpointsProtocol=${new URL(endpoint).protocol.replace(":", "")};AccountName=${ACCOUNT};AccountKey=${KEY};${service}Endpoint=${endpoint}`;
}

/** Calls a method that ends in a callback; resolves to what the callback got after the error. */
function call(target, method, ...values) {
  return new Promise((resolve, reject) => {
    target[method](...values, (error, ...results) => (error ? reject(error) : resolve(results)));
  });
}

/** The call must fail with this status and code. */
async function rejected(promise, status, code) {
  try {
    await promise;
  } catch (error) {
    assert.deepEqual([error.statusCode, error.code], [status, code], error.stack);
    return error;
  }
  return assert.fail("the call was not rejected");
}

const given = new Set();

/** A name that no other run uses, for queues and containers. */
function uniqueName(prefix) {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}

/** A table name that no other run uses. */
function randomName(prefix = "old") {
  const name = prefix + crypto.randomUUID().replaceAll("-", "");
  given.add(name);
  return name;
}

/** At the end, deletes every table that came to exist under a name that was handed out. */
function cleanUp(service) {
  after(() => Promise.all([...given].map((name) => call(service, "deleteTable", name).catch((error) => assert.equal(error.statusCode, 404)))));
}

const FOREIGN_ETAG = `W/"datetime'2012-06-15T22%3A51%3A44.9662825Z'"`;
const GUID = "c9da6455-213d-42c9-9a79-3e9149a57833";

module.exports = {
  ACCOUNT, ENDPOINT, FOREIGN_ETAG, GUID, HOST_ENDPOINT, KEY, PATH_STYLE,
  call, cleanUp, connectionString, grouped, hostEndpoint, randomName, rejected, serviceString, uniqueName,
};

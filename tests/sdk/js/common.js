// What the suites for queues and blobs share: the account, names that resolve, errors, and the group switch.
//
// Groups named in LAZULI_SKIP (a comma list) are left out; nothing else is skipped.
// Retries are off, so that a 5xx fails at once instead of being hidden by a back-off.
"use strict";

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const dns = require("node:dns");
const { test } = require("node:test");

const DEV_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const ACCOUNT = process.env.LAZULI_ACCOUNT ?? "devstoreaccount1";
const KEY = process.env.LAZULI_KEY ?? DEV_KEY;
const OPTIONS = { retryOptions: { maxTries: 1 } };
// A lease of 15 seconds is the longest wait.
const TIMEOUT = 60_000;

/** The account's address for a service, from the environment. */
function endpoint(service, port) {
  return (process.env[`LAZULI_${service}_ENDPOINT`] ?? `http://127.0.0.1:${port}/devstoreaccount1`).replace(/\/$/, "");
}

/** The same server with the account as the first label of the host name; undefined if the address is not path style. */
function hostStyle(address, service) {
  const url = new URL(address);
  return url.pathname === `/${ACCOUNT}` ? `${url.protocol}//${ACCOUNT}.${service}.localhost:${url.port}` : undefined;
}

// `{account}.queue.localhost` resolves in browsers and curl; make it resolve here.
const lookup = dns.lookup;
dns.lookup = (host, ...rest) => lookup.call(dns, host.endsWith(".localhost") ? "127.0.0.1" : host, ...rest);

const skipped = new Set((process.env.LAZULI_SKIP ?? "").split(",").map((name) => name.trim()).filter(Boolean));

/** A test of one or more groups: left out if LAZULI_SKIP names any of them. */
function grouped(groups, name, body) {
  if (!groups.some((group) => skipped.has(group))) {
    test(name, body);
  }
}

/** A name that no other run uses. */
function randomName(prefix = "js-") {
  return prefix + crypto.randomUUID().replaceAll("-", "");
}

async function all(iterator) {
  const items = [];
  for await (const item of iterator) {
    items.push(item);
    assert.ok(items.length < 10_000, "the pages do not come to an end");
  }
  return items;
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

/** The promise must be rejected with this status, code and, if given, text. */
async function rejected(promise, status, code, text) {
  const error = await failure(promise);
  assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [status, code], error.stack);
  assert.equal(error.response?.headers.get("x-ms-error-code"), code);
  if (text !== undefined) {
    assert.ok(error.message.startsWith(text), error.message);
  }
  return error;
}

/** Asks until the result is true, and returns it. */
async function eventually(condition) {
  const deadline = Date.now() + TIMEOUT;
  for (;;) {
    const found = await condition();
    if (found) {
      return found;
    }
    assert.ok(Date.now() < deadline, "it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// A bearer token, if the server accepts one.
const TOKEN = process.env.LAZULI_TOKEN ?? "";

/** Has the clients of a pipeline without credentials send the token: the SDK itself sends tokens over https only. */
function withToken(pipeline) {
  const create = (next) => ({
    sendRequest(request) {
      request.headers.set("authorization", `Bearer ${TOKEN}`);
      return next.sendRequest(request);
    },
  });
  pipeline.factories.push({ create });
  return pipeline;
}

function soon(hours = 1) {
  return new Date(Date.now() + hours * 3_600_000);
}

/** Every public method of a class, own and static, but for those that are private in the type declarations. */
function publicMethods(type, hidden) {
  return [...Object.getOwnPropertyNames(type.prototype), ...Object.getOwnPropertyNames(type).filter((name) => typeof type[name] === "function")]
    .filter((name) => !hidden.test(name));
}

module.exports = {
  ACCOUNT, KEY, OPTIONS, TOKEN, all, endpoint, eventually, failure, grouped, hostStyle, publicMethods, randomName, rejected, soon, withToken,
};

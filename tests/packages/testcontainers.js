// Starts Azurite in every way that the module of Testcontainers has, and asks each service for something.
"use strict";

const assert = require("node:assert");
const { readFileSync } = require("node:fs");
const { createServer } = require("node:net");
const { AzuriteContainer } = require("@testcontainers/azurite");

const IMAGE = "azurite";

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function check(name, configure, ask) {
  const [blob, queue, table] = [await freePort(), await freePort(), await freePort()];
  const container = new AzuriteContainer(IMAGE).withBlobPort(blob).withQueuePort(queue).withTablePort(table);
  const started = await configure(container).start();
  try {
    for (const endpoint of [started.getBlobEndpoint(), started.getQueueEndpoint(), started.getTableEndpoint()]) {
      const url = new URL(endpoint);
      assert.strictEqual((await fetch(new URL("/-/health", url))).status, 200, endpoint);
      // Without a signature: the service is there and knows the account.
      const listed = await fetch(new URL(`${url.pathname.replace(/\/$/, "")}?comp=list`, url), { headers: { "x-ms-version": "2019-02-02" } });
      assert.ok([401, 403, 404].includes(listed.status), `${endpoint}: ${listed.status}`);
    }
    await ask?.(started);
  } finally {
    await started.stop();
  }
  console.log(`ok: ${name}`);
}

async function main() {
  const [certificate, key, pfx] = ["server.pem", "server-key.pem", "server.pfx"].map((file) => readFileSync(`certs/${file}`));
  await check("defaults", (container) => container);
  await check("in memory", (container) => container.withInMemoryPersistence().withExtentMemoryLimitInMegaBytes(64).withSkipApiVersionCheck());
  await check(
    "own account",
    (container) => container.withAccountName("shop").withAccountKey(Buffer.alloc(64, 7).toString("base64")),
    (started) => assert.match(started.getConnectionString(), /AccountName=shop/),
  );
  await check("PEM", (container) => container.withSsl(certificate, key));
  await check(
    "PFX and OAuth",
    (container) => container.withSslPfx(pfx, "1234").withOAuth(),
    async (started) => {
      const url = started.getBlobEndpoint();
      const headers = { Authorization: `Bearer ${process.env.TOKEN}`, "x-ms-version": "2021-12-02" };
      assert.strictEqual((await fetch(`${url}?comp=list`, { headers })).status, 200);
    },
  );
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

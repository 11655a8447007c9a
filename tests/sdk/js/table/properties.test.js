// Service properties and the stats of the secondary.
"use strict";

const assert = require("node:assert/strict");
const { TableServiceClient } = require("@azure/data-tables");
const { ACCOUNT, CREDENTIAL, ENDPOINT, OPTIONS, PATH_STYLE, failure, grouped, plain, service } = require("./helper.js");

/** The properties belong to the account: leave them as they were. */
function properties(name, body) {
  grouped(["properties"], name, async () => {
    const { logging, hourMetrics, minuteMetrics, cors } = await service.getProperties();
    try {
      await body();
    } finally {
      await service.setProperties({ logging, hourMetrics, minuteMetrics, cors: cors ?? [] });
    }
  });
}

const week = { enabled: true, days: 7 };

properties("everything can be set (12.2)", async () => {
  const wanted = {
    logging: { version: "1.0", read: true, write: false, delete: true, retentionPolicy: week },
    hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: week },
    minuteMetrics: { version: "1.0", enabled: false, retentionPolicy: { enabled: false } },
    cors: [
      { allowedOrigins: "http://a.example,https://*.b.example", allowedMethods: "GET,PUT", allowedHeaders: "x-ms-a,x-ms-b*", exposedHeaders: "x-ms-c", maxAgeInSeconds: 500 },
    ],
  };
  await service.setProperties(wanted);
  const { logging, hourMetrics, minuteMetrics, cors } = await service.getProperties();
  assert.deepEqual(plain({ logging, hourMetrics, minuteMetrics, cors }), wanted);
});

properties("what is not given stays", async () => {
  const cors = [{ allowedOrigins: "http://a.example", allowedMethods: "GET", allowedHeaders: "x-ms-a", exposedHeaders: "x-ms-b", maxAgeInSeconds: 5 }];
  await service.setProperties({ cors });
  await service.setProperties({ minuteMetrics: { version: "1.0", enabled: false, retentionPolicy: { enabled: false } } });
  assert.deepEqual(plain((await service.getProperties()).cors), cors);
});

properties("limits", async () => {
  const rule = { allowedOrigins: "http://a.example", allowedMethods: "GET", allowedHeaders: "x", exposedHeaders: "x", maxAgeInSeconds: 5 };
  assert.equal((await failure(service.setProperties({ cors: Array(6).fill(rule) }))).statusCode, 400);
  const hourMetrics = { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy: { enabled: true, days: 366 } };
  assert.equal((await failure(service.setProperties({ hourMetrics }))).statusCode, 400);
});

properties("the stats of the secondary (12.4)", async () => {
  // The SDK derives the secondary from the host name, so this needs host style.
  const url = new URL(ENDPOINT);
  const endpoint = PATH_STYLE ? `${url.protocol}//${ACCOUNT}.table.localhost:${url.port}` : ENDPOINT;
  const stats = await new TableServiceClient(endpoint, CREDENTIAL, OPTIONS).getStatistics();
  assert.ok(["live", "bootstrap", "unavailable"].includes(stats.geoReplication.status));
});

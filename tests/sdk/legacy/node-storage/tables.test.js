// Tables.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { grouped, randomName, rejected } = require("../common.js");
const { HOST_ENDPOINT, ACCOUNT, KEY, azure, call, hostStyle, modern, services, table } = require("./client.js");

/** The response of an "if" call: a flag in the older release, a member of the result in the newer. */
const flag = (result, member) => (modern ? result[member] : result);

test("the version is the release's own", () => assert.equal(hostStyle.apiVersion, modern ? "2018-03-28" : "2014-02-14"));

for (const [style, service] of Object.entries(services)) {
  test(`${style}: create, exists, delete (OP-02 to OP-05)`, async () => {
    const name = randomName();
    assert.equal(flag((await call(service, "doesTableExist", name))[0], "exists"), false);
    const [created] = await call(service, "createTable", name);
    assert.equal(created.TableName, name);
    await rejected(call(service, "createTable", name), 409, "TableAlreadyExists");
    assert.equal(flag((await call(service, "doesTableExist", name))[0], "exists"), true);
    assert.equal(flag((await call(service, "createTableIfNotExists", name))[0], "created"), false);
    assert.equal((await call(service, "deleteTableIfExists", name))[0], true);
    assert.equal((await call(service, "deleteTableIfExists", name))[0], false);
    await rejected(call(service, "deleteTable", name), 404, "ResourceNotFound");
    assert.equal(flag((await call(service, "createTableIfNotExists", name))[0], "created"), true);
  });

  test(`${style}: list in segments, with and without prefix (OP-01, PG-13)`, async () => {
    const prefix = randomName("seg").slice(0, 20);
    const names = ["a", "b", "c", "d", "e"].map((letter) => randomName(prefix + letter));
    for (const name of names) {
      await call(service, "createTable", name);
    }
    const [all] = await call(service, "listTablesSegmented", null);
    assert.ok(all.entries.length >= 5 || all.continuationToken);
    const found = [];
    let token = null;
    // The older release cannot ask for a number of tables.
    const options = modern ? { maxResults: 2 } : {};
    do {
      const [page] = await call(service, "listTablesSegmentedWithPrefix", prefix, token, options);
      assert.ok(page.entries.length <= (options.maxResults ?? 1000));
      found.push(...page.entries);
      token = page.continuationToken;
    } while (token);
    assert.deepEqual(found, names);
  });

  test(`${style}: names that are rejected (DM-05, DM-07)`, async () => {
    // The client checks names before it asks; the server's own response is in the SDK suites.
    await assert.rejects(async () => call(service, "createTable", "my-table"));
    await assert.rejects(async () => call(service, "createTable", "a"));
  });
}

test("the wrong key (AU-06)", async () => {
  const other = azure.createTableService(ACCOUNT, "d3Jvbmcga2V5", HOST_ENDPOINT);
  await rejected(call(other, "listTablesSegmented", null), 403, "AuthenticationFailed");
});

grouped(["acl"], "access policies", async () => {
  const name = await table();
  const policy = { Permissions: "rd", Start: new Date("2030-01-01T00:00:00Z"), Expiry: new Date("2030-01-02T00:00:00Z") };
  // The old SDK takes the policies among the options, and names their fields as the document does.
  const given = (policies) => (modern ? policies : { signedIdentifiers: Object.entries(policies).map(([Id, AccessPolicy]) => ({ Id, AccessPolicy })) });
  await call(hostStyle, "setTableAcl", name, given({ one: policy }));
  const [{ signedIdentifiers }] = await call(hostStyle, "getTableAcl", name);
  const found = modern ? signedIdentifiers.one : signedIdentifiers[0].AccessPolicy;
  assert.equal(modern ? found.Permissions : found.Permission, "rd");
  assert.deepEqual(new Date(found.Start), policy.Start);
  await call(hostStyle, "setTableAcl", name, given({}));
  const [{ signedIdentifiers: none }] = await call(hostStyle, "getTableAcl", name);
  assert.equal(Object.keys(none ?? {}).length, 0);
});

grouped(["sas"], "shared access signatures", async () => {
  const name = await table();
  const policy = { AccessPolicy: { Permissions: "ra", Start: new Date(Date.now() - 3600e3), Expiry: new Date(Date.now() + 3600e3) } };
  const token = hostStyle.generateSharedAccessSignature(name, policy);
  const other = azure.createTableServiceWithSas(HOST_ENDPOINT, token);
  await call(other, "insertEntity", name, { PartitionKey: { _: "p" }, RowKey: { _: "r" } });
  assert.equal((await call(other, "retrieveEntity", name, "p", "r"))[0].RowKey._, "r");
  await assert.rejects(call(other, "deleteEntity", name, { PartitionKey: { _: "p" }, RowKey: { _: "r" } }), modern ? { statusCode: 403 } : undefined);
  if (modern) {
    assert.ok(hostStyle.getUrl(name, token).endsWith(`/${name}?${token}`));
  }
});

grouped(["properties"], "service properties and stats", async () => {
  const [before] = await call(hostStyle, "getServiceProperties");
  const week = { Enabled: true, Days: 7 };
  try {
    await call(hostStyle, "setServiceProperties", {
      Logging: { Version: "1.0", Delete: true, Read: false, Write: true, RetentionPolicy: week },
      HourMetrics: { Version: "1.0", Enabled: true, IncludeAPIs: true, RetentionPolicy: week },
      MinuteMetrics: { Version: "1.0", Enabled: false, RetentionPolicy: { Enabled: false } },
      Cors: { CorsRule: [{ AllowedOrigins: ["http://a.example"], AllowedMethods: ["GET"], AllowedHeaders: ["x-ms-a"], ExposedHeaders: ["x-ms-b"], MaxAgeInSeconds: 5 }] },
    });
    const [found] = await call(hostStyle, "getServiceProperties");
    assert.deepEqual([found.Logging.Delete, found.Logging.Read, found.Logging.RetentionPolicy.Days], [true, false, 7]);
    assert.equal(found.HourMetrics.IncludeAPIs, true);
    assert.deepEqual(found.Cors.CorsRule[0].AllowedOrigins, ["http://a.example"]);
  } finally {
    await call(hostStyle, "setServiceProperties", before);
  }
  const secondaryHost = HOST_ENDPOINT.replace(ACCOUNT, `${ACCOUNT}-secondary`);
  const both = azure.createTableService(ACCOUNT, KEY, { primaryHost: HOST_ENDPOINT, secondaryHost });
  const [stats] = await call(both, "getServiceStats", { locationMode: azure.StorageUtilities.LocationMode.SECONDARY_ONLY });
  assert.ok(["live", "bootstrap", "unavailable"].includes(stats.GeoReplication.Status));
});

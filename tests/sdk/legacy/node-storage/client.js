// azure-storage 0.4.5 (2014-02-14) and 2.10.7 (2018-03-28) under one roof: what differs between them, and fixtures.
"use strict";

const azure = require("azure-storage");
const { ACCOUNT, ENDPOINT, HOST_ENDPOINT, KEY, PATH_STYLE, call, cleanUp, connectionString, randomName } = require("../common.js");

const modern = "replaceEntity" in azure.TableService.prototype;
/** The name of the unconditional replace, which changed. */
const replace = modern ? "replaceEntity" : "updateEntity";

const hostStyle = azure.createTableService(connectionString(HOST_ENDPOINT));
cleanUp(hostStyle);
/** Clients by style; the older release drops the path of an endpoint. */
const services = { host: hostStyle };
if (modern && PATH_STYLE) {
  services.path = azure.createTableService(connectionString(ENDPOINT));
}

const generator = azure.TableUtilities.entityGenerator;

/** An entity of plain values: strings and booleans as they are, whole numbers as Int32. */
function row(key, properties = {}) {
  const entity = { PartitionKey: generator.String("p"), RowKey: generator.String(key) };
  for (const [name, value] of Object.entries(properties)) {
    entity[name] = value !== null && typeof value === "object" && "_" in value ? value : { _: value };
  }
  return entity;
}

/** The entity's own properties as plain values. */
function own(entity) {
  return Object.fromEntries(
    Object.entries(entity).filter(([name]) => !["PartitionKey", "RowKey", "Timestamp", ".metadata"].includes(name)).map(([name, value]) => [name, value._]),
  );
}

async function table() {
  const name = randomName();
  await call(hostStyle, "createTable", name);
  return name;
}

/** All rows, through all pages. */
async function everything(service, name, query = null) {
  const rows = [];
  let token = null;
  do {
    const [result] = await call(service, "queryEntities", name, query, token);
    rows.push(...result.entries);
    token = result.continuationToken;
  } while (token);
  return rows;
}

async function content(service, name) {
  return Object.fromEntries((await everything(service, name)).map((entity) => [entity.RowKey._, own(entity)]));
}

module.exports = { ACCOUNT, HOST_ENDPOINT, KEY, azure, call, content, everything, generator, hostStyle, modern, own, replace, row, services, table };

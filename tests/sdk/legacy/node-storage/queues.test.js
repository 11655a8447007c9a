// Queues: create, list, metadata, messages, policies, properties.
"use strict";

const assert = require("node:assert/strict");
const { after, test } = require("node:test");
const azure = require("azure-storage");
const { call, grouped, hostEndpoint, rejected, serviceString, uniqueName } = require("../common.js");

const ENDPOINT = hostEndpoint("queue");
if (ENDPOINT) {
  const service = azure.createQueueService(serviceString("Queue", ENDPOINT));
  const created = [];
  after(() => Promise.all(created.map((name) => call(service, "deleteQueueIfExists", name))));
  const fresh = async () => {
    const name = uniqueName("old-");
    created.push(name);
    await call(service, "createQueue", name);
    return name;
  };
  const textOf = (message) => message.messageText ?? message.messagetext;
  const idOf = (message) => message.messageId ?? message.messageid;
  const receiptOf = (message) => message.popReceipt ?? message.popreceipt;
  const countOf = (message) => Number(message.dequeueCount ?? message.dequeuecount);

  test("create, list, metadata, delete", async () => {
    const name = await fresh();
    await call(service, "createQueueIfNotExists", name);
    await call(service, "setQueueMetadata", name, { color: "blue" });
    const [found] = await call(service, "getQueueMetadata", name);
    assert.equal(found.metadata.color, "blue");
    assert.equal(Number(found.approximateMessageCount ?? found.approximatemessagecount), 0);
    const [listed] = await call(service, "listQueuesSegmentedWithPrefix", name, null);
    assert.deepEqual(listed.entries.map((entry) => entry.name), [name]);
    await call(service, "deleteQueue", name);
    await assert.rejects(call(service, "getQueueMetadata", name), (error) => error.statusCode === 404);
  });

  test("messages (QU-01 to QU-05)", async () => {
    const name = await fresh();
    await call(service, "createMessage", name, "hello <&>");
    const [peeked] = await call(service, "peekMessages", name, { numOfMessages: 32 });
    assert.deepEqual(peeked.map(textOf), ["hello <&>"]);
    const [[first]] = await call(service, "getMessages", name, { visibilityTimeout: 60 });
    assert.equal(countOf(first), 1);
    const [updated] = await call(service, "updateMessage", name, idOf(first), receiptOf(first), 0, { messageText: "changed" });
    await rejected(call(service, "deleteMessage", name, idOf(first), receiptOf(first)), 404, "MessageNotFound");
    await call(service, "deleteMessage", name, idOf(first), receiptOf(updated));
    await call(service, "createMessage", name, "x");
    await call(service, "clearMessages", name);
    const [none] = await call(service, "getMessages", name);
    assert.deepEqual(none, []);
  });

  grouped(["sas", "acl"], "a signature, and a policy", async () => {
    const name = await fresh();
    const policy = { AccessPolicy: { Permissions: "r", Expiry: new Date(Date.now() + 3_600_000) } };
    const token = service.generateSharedAccessSignature(name, policy);
    const reader = azure.createQueueServiceWithSas(ENDPOINT, typeof token === "string" ? token : token.queryString);
    assert.deepEqual(await call(reader, "peekMessages", name).then(([messages]) => messages), []);
    // With versions of 2014, an operation that the signature does not allow gets 404.
    await assert.rejects(call(reader, "createMessage", name, "x"), (error) => [403, 404].includes(error.statusCode));
  });

  grouped(["properties"], "service properties", async () => {
    const [found] = await call(service, "getServiceProperties");
    found.Logging.Read = true;
    await call(service, "setServiceProperties", found);
    assert.equal((await call(service, "getServiceProperties"))[0].Logging.Read, true);
    found.Logging.Read = false;
    await call(service, "setServiceProperties", found);
  });
}

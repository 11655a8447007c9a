// Shared access signatures of queues and of the account.
"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const {
  AccountSASPermissions, AnonymousCredential, QueueClient, QueueSASPermissions, QueueServiceClient, SASProtocol,
  generateAccountSASQueryParameters, generateQueueSASQueryParameters, newPipeline,
} = require("@azure/storage-queue");
const { ACCOUNT, CREDENTIAL, ENDPOINT, OPTIONS, TOKEN, all, failure, grouped, queue, randomName, rejected, service, soon, withToken } = require("./helper.js");

function holder(name, permissions, options = {}) {
  const token = generateQueueSASQueryParameters(
    { queueName: name, permissions: permissions && QueueSASPermissions.parse(permissions), expiresOn: options.identifier ? undefined : soon(), ...options }, CREDENTIAL);
  return new QueueClient(`${ENDPOINT}/${name}?${token}`, new AnonymousCredential(), OPTIONS);
}

const CALLS = {
  peekMessages: ["r", (client) => client.peekMessages()],
  sendMessage: ["a", (client) => client.sendMessage("x")],
  receiveMessages: ["p", (client) => client.receiveMessages()],
  updateMessage: ["u", (client, sent) => client.updateMessage(sent.messageId, sent.popReceipt, "y", 0)],
  deleteMessage: ["p", (client, sent) => client.deleteMessage(sent.messageId, sent.popReceipt)],
  clearMessages: ["", (client) => client.clearMessages()],
  delete: ["", (client) => client.delete()],
};
for (const [name, [letters, call]] of Object.entries(CALLS)) {
  grouped(["sas"], `a queue SAS allows ${name} with ${letters || "nothing"}`, async () => {
    const fresh = await queue();
    for (const letter of "raup") {
      const sent = await fresh.sendMessage("mine");
      if (letters.includes(letter)) {
        await call(holder(fresh.name, letter), sent);
      } else {
        assert.equal((await failure(call(holder(fresh.name, letter), sent))).statusCode, 403);
      }
    }
  });
}

grouped(["sas"], "times, protocols and addresses", async () => {
  const { name } = await queue();
  await holder(name, "r", { startsOn: soon(-1), protocol: SASProtocol.HttpsAndHttp, ipRange: { start: "127.0.0.1" } }).peekMessages();
  await rejected(holder(name, "r", { expiresOn: soon(-1) }).peekMessages(), 403, "AuthenticationFailed");
  await rejected(holder(name, "r", { ipRange: { start: "192.0.2.1" } }).peekMessages(), 403, "AuthorizationSourceIPMismatch");
});

grouped(["sas", "acl"], "a stored policy, and its end", async () => {
  const fresh = await queue();
  await fresh.setAccessPolicy([{ id: "reader", accessPolicy: { startsOn: soon(-1), expiresOn: soon(), permissions: "r" } }]);
  const reader = holder(fresh.name, undefined, { identifier: "reader" });
  await reader.peekMessages();
  assert.equal((await failure(reader.sendMessage("x"))).statusCode, 403);
  await fresh.setAccessPolicy([]);
  await rejected(reader.peekMessages(), 403, "AuthenticationFailed");
});

grouped(["sas"], "addresses that the clients sign", async () => {
  const fresh = await queue();
  await fresh.sendMessage("x");
  const url = await fresh.generateSasUrl({ permissions: QueueSASPermissions.parse("r"), expiresOn: soon() });
  assert.equal((await new QueueClient(url, undefined, OPTIONS).peekMessages()).peekedMessageItems.length, 1);
  assert.ok(fresh.generateSasStringToSign({ permissions: QueueSASPermissions.parse("r"), expiresOn: soon() }).includes(`/queue/`));
  const account = new QueueServiceClient(service.generateAccountSasUrl(soon(), AccountSASPermissions.parse("rwdlacup"), "sco"), undefined, OPTIONS);
  assert.ok((await all(account.listQueues({ prefix: fresh.name }))).length === 1);
  assert.ok(service.generateSasStringToSign(soon(), AccountSASPermissions.parse("r"), "s").includes("\n"));
});

grouped(["sas"], "an account SAS, by permission, resource and service", async () => {
  const account = (permissions, resourceTypes, services = "q") => new QueueServiceClient(`${ENDPOINT}?${generateAccountSASQueryParameters(
    { permissions: AccountSASPermissions.parse(permissions), resourceTypes, services, expiresOn: soon() }, CREDENTIAL)}`, new AnonymousCredential(), OPTIONS);
  const name = randomName();
  const everything = account("rwdlacup", "sco");
  await everything.createQueue(name);
  const mine = everything.getQueueClient(name);
  await mine.sendMessage("x");
  const [held] = (await mine.receiveMessages()).receivedMessageItems;
  await mine.deleteMessage(held.messageId, held.popReceipt);
  await mine.clearMessages();
  await rejected(account("rwdlacup", "o").createQueue(randomName()), 403, "AuthorizationResourceTypeMismatch");
  await rejected(account("rwdlacup", "sco", "bt").getQueueClient(name).peekMessages(), 403, "AuthorizationServiceMismatch");
  assert.equal((await failure(account("r", "sco").getQueueClient(name).sendMessage("x"))).statusCode, 403);
});

test("a user delegation SAS", { skip: !TOKEN && "LAZULI_TOKEN is not set" }, async () => {
  const fresh = await queue();
  await fresh.sendMessage("here");
  const key = await new QueueServiceClient(ENDPOINT, withToken(newPipeline(new AnonymousCredential(), OPTIONS))).getUserDelegationKey(soon(-1), soon(2));
  assert.equal(key.signedService, "q");
  const values = { queueName: fresh.name, permissions: QueueSASPermissions.parse("r"), expiresOn: soon() };
  const token = generateQueueSASQueryParameters(values, key, ACCOUNT);
  const url = await fresh.generateUserDelegationSasUrl({ permissions: QueueSASPermissions.parse("r"), expiresOn: soon() }, key);
  for (const address of [`${ENDPOINT}/${fresh.name}?${token}`, url]) {
    const reader = new QueueClient(address, new AnonymousCredential(), OPTIONS);
    assert.equal((await reader.peekMessages()).peekedMessageItems[0].messageText, "here");
    await rejected(reader.sendMessage("x"), 403, "AuthorizationPermissionMismatch");
  }
  const options = { permissions: QueueSASPermissions.parse("r"), expiresOn: soon() };
  assert.ok(fresh.generateUserDelegationStringToSign(options, key).includes(key.signedObjectId));
});

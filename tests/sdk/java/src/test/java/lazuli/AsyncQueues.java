package lazuli;

import static lazuli.Suite.denied;
import static lazuli.Suite.rejected;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.exception.HttpResponseException;
import com.azure.core.util.BinaryData;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.common.sas.*;
import com.azure.storage.queue.*;
import com.azure.storage.queue.models.*;
import com.azure.storage.queue.sas.QueueSasPermission;
import com.azure.storage.queue.sas.QueueServiceSasSignatureValues;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The asynchronous clients of com.azure:azure-storage-queue. */
class AsyncQueues {
    QueueServiceAsyncClient service;
    QueueAsyncClient queue;

    @BeforeEach
    void create() {
        service = QueueForms.builder().buildAsyncClient();
        queue = service.createQueue(Suite.unique("java-")).block();
    }

    @AfterEach
    void delete() {
        if (queue != null) {
            queue.deleteIfExists().block();
        }
    }

    @Test
    void queues() {
        String name = queue.getQueueName();
        rejected(409, "QueueAlreadyExists", () -> queue.createWithResponse(Map.of("color", "blue")).block());
        assertEquals(204, queue.setMetadataWithResponse(Map.of("color", "blue")).block().getStatusCode());
        assertEquals(Map.of("color", "blue"), queue.getPropertiesWithResponse().block().getValue().getMetadata());
        queue.setMetadata(Map.of("color", "red")).block();
        assertEquals(Map.of("color", "red"), queue.getProperties().block().getMetadata());
        assertEquals(409, queue.createIfNotExistsWithResponse(null).block().getStatusCode());
        assertEquals(1, service.listQueues(new QueuesSegmentOptions().setPrefix(name).setIncludeMetadata(true)).filter(item -> item.getMetadata().equals(Map.of("color", "red"))).count().block());
        assertTrue(service.listQueues().any(item -> item.getName().equals(name)).block());
        queue.delete().block();
        assertFalse(queue.deleteIfExists().block());
        assertEquals(404, queue.deleteIfExistsWithResponse().block().getStatusCode());
        assertTrue(queue.createIfNotExists().block());
        assertEquals(204, queue.deleteWithResponse().block().getStatusCode());
        queue.create().block();
        service.deleteQueue(name).block();
        QueueAsyncClient again = service.createQueueWithResponse(name, Map.of("a", "b")).block().getValue();
        assertEquals(name, again.getQueueName());
        assertEquals(204, service.deleteQueueWithResponse(name).block().getStatusCode());
        rejected(404, "QueueNotFound", () -> service.getQueueAsyncClient(name).getProperties().block());
    }

    /** QU-01 to QU-05 */
    @Test
    void messages() {
        queue.sendMessage("one").block();
        queue.sendMessage(BinaryData.fromString("two")).block();
        queue.sendMessageWithResponse("three", Duration.ZERO, Duration.ofHours(1)).block();
        SendMessageResult hidden = queue.sendMessageWithResponse(BinaryData.fromString("four"), Duration.ofHours(1), Duration.ofDays(1)).block().getValue();
        assertEquals("one", queue.peekMessage().block().getBody().toString());
        assertEquals(List.of("one", "two", "three"), queue.peekMessages(32).map(item -> item.getBody().toString()).collectList().block());
        QueueMessageItem first = queue.receiveMessage().block();
        assertEquals(List.of("one", 1L), List.of(first.getBody().toString(), first.getDequeueCount()));
        List<QueueMessageItem> rest = queue.receiveMessages(32, Duration.ofMinutes(5)).collectList().block();
        assertEquals(2, rest.size());
        assertEquals(0, queue.receiveMessages(32).count().block());
        UpdateMessageResult updated = queue.updateMessage(first.getMessageId(), first.getPopReceipt(), "changed", Duration.ZERO).block();
        assertNotEquals(first.getPopReceipt(), updated.getPopReceipt());
        rejected(404, "MessageNotFound", () -> queue.deleteMessage(first.getMessageId(), first.getPopReceipt()).block());
        queue.deleteMessage(first.getMessageId(), updated.getPopReceipt()).block();
        String receipt = queue.updateMessageWithResponse(hidden.getMessageId(), hidden.getPopReceipt(), "five", Duration.ZERO).block().getValue().getPopReceipt();
        assertEquals("five", queue.peekMessage().block().getBody().toString());
        assertEquals(204, queue.deleteMessageWithResponse(hidden.getMessageId(), receipt).block().getStatusCode());
        assertEquals(204, queue.clearMessagesWithResponse().block().getStatusCode());
        queue.clearMessages().block();
        assertEquals(0, queue.getProperties().block().getApproximateMessagesCountLong());
    }

    /** QU-01: no message has two holders. */
    @Test
    void concurrentReceivers() {
        Flux.range(0, 60).flatMap(number -> queue.sendMessage("" + number), 16).blockLast();
        List<String> held = Flux.range(0, 12).flatMap(number -> queue.receiveMessages(10, Duration.ofMinutes(5)).map(QueueMessageItem::getMessageId), 12).collectList().block();
        assertEquals(List.of(60, 60L), List.of(held.size(), held.stream().distinct().count()));
    }

    @Test
    void policiesAndSignatures() {
        QueueSignedIdentifier reader = new QueueSignedIdentifier().setId("reader").setAccessPolicy(new QueueAccessPolicy().setExpiresOn(Suite.soon()).setPermissions("r"));
        queue.setAccessPolicy(List.of(reader)).block();
        assertEquals(List.of("reader"), queue.getAccessPolicy().map(QueueSignedIdentifier::getId).collectList().block());
        assertEquals(204, queue.setAccessPolicyWithResponse(List.of()).block().getStatusCode());
        String token = queue.generateSas(new QueueServiceSasSignatureValues(Suite.soon(), QueueSasPermission.parse("r")));
        QueueAsyncClient holder = new QueueClientBuilder().endpoint(queue.getQueueUrl()).sasToken(token).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertEquals(0, holder.peekMessages(1).count().block());
        denied(() -> holder.sendMessage("x").block());
        String wide = service.generateAccountSas(new AccountSasSignatureValues(Suite.soon(), AccountSasPermission.parse("rl"), AccountSasService.parse("q"), AccountSasResourceType.parse("sco")));
        QueueServiceAsyncClient lister = new QueueServiceClientBuilder().endpoint(service.getQueueServiceUrl()).sasToken(wide).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        assertTrue(lister.listQueues().any(item -> item.getName().equals(queue.getQueueName())).block());
        denied(() -> lister.deleteQueue(queue.getQueueName()).block());
    }

    @Test
    void serviceProperties() {
        QueueServiceProperties before = service.getPropertiesWithResponse().block().getValue();
        assertEquals(202, service.setPropertiesWithResponse(before).block().getStatusCode());
        service.setProperties(service.getProperties().block()).block();
        QueueServiceAsyncClient secondary = new QueueServiceClientBuilder().endpoint(Suite.endpoint("Queue", 10001) + "-secondary")
            .credential(new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        // This version of the client looks for another root element than the service has ever sent.
        for (Mono<?> call : List.of(secondary.getStatistics(), secondary.getStatisticsWithResponse())) {
            assertEquals(200, assertThrows(HttpResponseException.class, call::block).getResponse().getStatusCode());
        }
        assertEquals(List.of(Suite.ACCOUNT, Suite.ACCOUNT), List.of(service.getAccountName(), queue.getAccountName()));
        assertEquals(service.getServiceVersion(), queue.getServiceVersion());
        assertEquals(service.getMessageEncoding(), queue.getMessageEncoding());
        assertTrue(service.getHttpPipeline() != null && queue.getHttpPipeline() != null);
    }

    /** A message that cannot be decoded goes to a handler, and the handler removes it. */
    @Test
    void messagesThatCannotBeDecoded() {
        List<String> found = new ArrayList<>();
        QueueServiceAsyncClient decoding = QueueForms.builder().messageEncoding(QueueMessageEncoding.BASE64).processMessageDecodingErrorAsync(error -> {
            found.add(error.getQueueMessageItem().getMessageText());
            return error.getQueueAsyncClient().deleteMessage(error.getQueueMessageItem().getMessageId(), error.getQueueMessageItem().getPopReceipt());
        }).buildAsyncClient();
        queue.sendMessage("not base64!").block();
        assertEquals(0, decoding.getQueueAsyncClient(queue.getQueueName()).receiveMessages(1).count().block());
        assertEquals(List.of("not base64!"), found);
        QueueClientBuilder one = new QueueClientBuilder().endpoint(queue.getQueueUrl()).pipeline(queue.getHttpPipeline()).processMessageDecodingErrorAsync(error -> Mono.empty());
        assertEquals(0, one.buildAsyncClient().receiveMessages(1).count().block());
    }

    @Test
    void userDelegation() {
        QueueServiceAsyncClient user = QueueForms.builder().httpClient(Suite.withBearer()).buildAsyncClient();
        OffsetDateTime start = OffsetDateTime.now().minusHours(1);
        UserDelegationKey key = user.getUserDelegationKey(start, Suite.soon()).block();
        assertEquals(200, user.getUserDelegationKeyWithResponse(new QueueGetUserDelegationKeyOptions(Suite.soon()).setStartsOn(start)).block().getStatusCode());
        String token = queue.generateUserDelegationSas(new QueueServiceSasSignatureValues(Suite.soon(), QueueSasPermission.parse("a")), key);
        QueueAsyncClient sender = new QueueClientBuilder().endpoint(queue.getQueueUrl()).sasToken(token).retryOptions(Suite.NO_RETRIES).buildAsyncClient();
        sender.sendMessage("x").block();
        denied(() -> sender.clearMessages().block());
    }
}

package lazuli;

import static lazuli.Suite.denied;
import static lazuli.Suite.rejected;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.exception.HttpResponseException;
import com.azure.core.util.Context;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.common.sas.*;
import com.azure.storage.queue.*;
import com.azure.storage.queue.models.*;
import com.azure.storage.queue.sas.QueueSasPermission;
import com.azure.storage.queue.sas.QueueServiceSasSignatureValues;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** com.azure:azure-storage-queue. */
class Queues {
    QueueServiceClient service;
    QueueClient queue;

    @BeforeEach
    void create() {
        service = new QueueServiceClientBuilder().connectionString(Suite.connectionString("Queue", 10001)).retryOptions(Suite.NO_RETRIES).buildClient();
        queue = service.createQueue(Suite.unique("java-"));
    }

    @AfterEach
    void delete() {
        if (queue != null) {
            queue.deleteIfExists();
        }
    }

    List<String> peeked() {
        return queue.peekMessages(32, null, null).stream().map(item -> item.getBody().toString()).toList();
    }

    @Test
    void queues() {
        String name = queue.getQueueName();
        rejected(409, "QueueAlreadyExists", () -> queue.createWithResponse(Map.of("color", "blue"), null, null));
        queue.createIfNotExists(); // 204: the same metadata
        queue.setMetadata(Map.of("color", "blue"));
        assertEquals(Map.of("color", "blue"), queue.getProperties().getMetadata());
        assertEquals(0, queue.getProperties().getApproximateMessagesCount());
        List<QueueItem> found = service.listQueues(new QueuesSegmentOptions().setPrefix(name).setIncludeMetadata(true), null, null).stream().toList();
        assertEquals(List.of(name), found.stream().map(QueueItem::getName).toList());
        assertEquals(Map.of("color", "blue"), found.get(0).getMetadata());
        assertTrue(service.listQueues().stream().anyMatch(item -> item.getName().equals(name)));
        service.deleteQueue(name);
        rejected(404, "QueueNotFound", queue::getProperties);
        assertFalse(queue.deleteIfExists());
        rejected(404, "QueueNotFound", () -> queue.delete());
        queue.create();
        assertEquals(name, service.getQueueClient(name).getQueueName());
    }

    /** Sorted by name, in pages that nothing is missing from. */
    @Test
    void pagesOfQueues() {
        String prefix = Suite.unique("java-").substring(0, 25);
        List<String> names = List.of("c", "a", "b").stream().map(letter -> prefix + letter).toList();
        names.forEach(service::createQueue);
        List<String> found = service.listQueues(new QueuesSegmentOptions().setPrefix(prefix).setMaxResultsPerPage(2), null, null).stream().limit(10).map(QueueItem::getName).toList();
        assertEquals(names.stream().sorted().toList(), found);
        names.forEach(service::deleteQueue);
    }

    /** QU-01 to QU-05: hidden for a time, then back, counted, and deleted with the last receipt only. */
    @Test
    void messages() throws Exception {
        SendMessageResult sent = queue.sendMessage("hello <&>");
        assertEquals(Duration.ofDays(7), Duration.between(sent.getInsertionTime(), sent.getExpirationTime()));
        assertEquals("hello <&>", queue.peekMessage().getBody().toString());
        QueueMessageItem first = queue.receiveMessages(1, Duration.ofSeconds(1), null, Context.NONE).stream().findFirst().orElseThrow();
        assertEquals(1, first.getDequeueCount());
        QueueMessageItem[] second = {null};
        Suite.eventually(() -> (second[0] = queue.receiveMessage()) != null);
        assertEquals(2, second[0].getDequeueCount());
        rejected(404, "MessageNotFound", () -> queue.deleteMessage(first.getMessageId(), first.getPopReceipt()));
        UpdateMessageResult updated = queue.updateMessage(second[0].getMessageId(), second[0].getPopReceipt(), "changed", Duration.ZERO);
        assertNotEquals(second[0].getPopReceipt(), updated.getPopReceipt());
        assertEquals(List.of("changed"), peeked());
        queue.deleteMessage(second[0].getMessageId(), updated.getPopReceipt());
        assertNull(queue.receiveMessage());
    }

    @Test
    void limits() {
        queue.sendMessageWithResponse("x".repeat(65536), null, Duration.ofSeconds(-1), null, null);
        rejected(413, "RequestBodyTooLarge", () -> queue.sendMessage("x".repeat(65537)));
        rejected(400, "OutOfRangeQueryParameterValue", () -> queue.receiveMessages(33).stream().count());
        rejected(400, "InvalidQueryParameterValue", () -> queue.sendMessageWithResponse("x", Duration.ofSeconds(30), Duration.ofSeconds(30), null, null));
        queue.clearMessages();
        assertEquals(List.of(), peeked());
    }

    /** QU-01: no message has two holders. */
    @Test
    void concurrentReceivers() {
        IntStream.range(0, 60).parallel().forEach(number -> queue.sendMessage("" + number));
        List<String> held = IntStream.range(0, 12).parallel().mapToObj(number -> queue.receiveMessages(10, Duration.ofMinutes(5), null, Context.NONE).stream()
            .map(QueueMessageItem::getMessageId).toList()).flatMap(List::stream).toList();
        assertEquals(60, held.size());
        assertEquals(60, new HashSet<>(held).size());
    }

    @Test
    void encodedMessages() {
        QueueClient encoding = new QueueClientBuilder().connectionString(Suite.connectionString("Queue", 10001)).queueName(queue.getQueueName())
            .messageEncoding(QueueMessageEncoding.BASE64).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals(QueueMessageEncoding.BASE64, encoding.getMessageEncoding());
        encoding.sendMessage("Grüße");
        assertEquals(List.of("R3LDvMOfZQ=="), peeked());
        assertEquals("Grüße", encoding.receiveMessage().getBody().toString());
    }

    @Test
    void policiesAndSignatures() {
        QueueAccessPolicy policy = new QueueAccessPolicy().setStartsOn(Suite.soon().minusHours(2)).setExpiresOn(Suite.soon()).setPermissions("r");
        queue.setAccessPolicy(List.of(new QueueSignedIdentifier().setId("reader").setAccessPolicy(policy)));
        assertEquals("reader", queue.getAccessPolicy().stream().findFirst().orElseThrow().getId());
        String token = queue.generateSas(new QueueServiceSasSignatureValues(Suite.soon(), QueueSasPermission.parse("r")));
        QueueClient reader = new QueueClientBuilder().endpoint(queue.getQueueUrl()).sasToken(token).retryOptions(Suite.NO_RETRIES).buildClient();
        assertNull(reader.peekMessage());
        denied(() -> reader.sendMessage("x"));
        String wide = service.generateAccountSas(new AccountSasSignatureValues(Suite.soon(), AccountSasPermission.parse("rl"), AccountSasService.parse("q"), AccountSasResourceType.parse("sco")));
        QueueServiceClient lister = new QueueServiceClientBuilder().endpoint(service.getQueueServiceUrl()).sasToken(wide).retryOptions(Suite.NO_RETRIES).buildClient();
        assertTrue(lister.listQueues().stream().anyMatch(item -> item.getName().equals(queue.getQueueName())));
        denied(() -> lister.deleteQueue(queue.getQueueName()));
    }

    @Test
    void serviceProperties() {
        QueueCorsRule rule = new QueueCorsRule().setAllowedOrigins("www.xyz.com").setAllowedMethods("GET").setAllowedHeaders("").setExposedHeaders("").setMaxAgeInSeconds(5);
        QueueServiceProperties before = service.getProperties();
        service.setProperties(before.setCors(List.of(rule)));
        assertEquals(1, service.getProperties().getCors().size());
        service.setProperties(before.setCors(List.of()));
        QueueServiceClient secondary = new QueueServiceClientBuilder().endpoint(Suite.endpoint("Queue", 10001) + "-secondary")
            .credential(new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Suite.NO_RETRIES).buildClient();
        // This version of the client looks for another root element than the service has ever sent.
        HttpResponseException error = assertThrows(HttpResponseException.class, () -> secondary.getStatistics());
        assertEquals(200, error.getResponse().getStatusCode());
        assertEquals(service.getServiceVersion(), queue.getServiceVersion());
        assertEquals(Suite.ACCOUNT, service.getAccountName());
        assertEquals(QueueMessageEncoding.NONE, service.getMessageEncoding());
        assertTrue(service.getHttpPipeline() != null && queue.getAccountName().equals(Suite.ACCOUNT));
    }
}

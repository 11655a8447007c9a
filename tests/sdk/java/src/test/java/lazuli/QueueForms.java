package lazuli;

import static lazuli.Suite.denied;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.core.credential.AzureSasCredential;
import com.azure.core.exception.HttpResponseException;
import com.azure.core.http.HttpClient;
import com.azure.core.http.policy.FixedDelayOptions;
import com.azure.core.http.policy.HttpLogOptions;
import com.azure.core.http.policy.RetryOptions;
import com.azure.core.util.BinaryData;
import com.azure.core.util.ClientOptions;
import com.azure.core.util.Configuration;
import com.azure.core.util.Context;
import com.azure.storage.common.StorageSharedKeyCredential;
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
import reactor.core.publisher.Mono;

/** com.azure:azure-storage-queue: the forms of calls that return a response, every way to build a client, user delegation, and the check that nothing is left out. */
class QueueForms {
    static final Duration TIMEOUT = Duration.ofSeconds(60);
    QueueServiceClient service;
    QueueClient queue;

    static QueueServiceClientBuilder builder() {
        return new QueueServiceClientBuilder().connectionString(Suite.connectionString("Queue", 10001)).retryOptions(Suite.NO_RETRIES);
    }

    @BeforeEach
    void create() {
        service = builder().buildClient();
        queue = service.createQueueWithResponse(Suite.unique("java-"), Map.of("color", "blue"), TIMEOUT, Context.NONE).getValue();
    }

    @AfterEach
    void delete() {
        if (queue != null) {
            queue.deleteIfExistsWithResponse(null, Context.NONE);
        }
    }

    @Test
    void responsesOfQueues() {
        assertEquals(200, queue.getPropertiesWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(204, queue.setMetadataWithResponse(Map.of("color", "red"), TIMEOUT, Context.NONE).getStatusCode());
        // With a timeout, the client wraps the error of the service instead of reading it.
        assertEquals(409, queue.createIfNotExistsWithResponse(Map.of("color", "blue"), null, Context.NONE).getStatusCode());
        assertEquals(204, queue.createWithResponse(Map.of("color", "red"), TIMEOUT, Context.NONE).getStatusCode());
        QueueSignedIdentifier reader = new QueueSignedIdentifier().setId("reader").setAccessPolicy(new QueueAccessPolicy().setExpiresOn(Suite.soon()).setPermissions("r"));
        assertEquals(204, queue.setAccessPolicyWithResponse(List.of(reader), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(1, queue.getAccessPolicy().stream().count());
        assertEquals(204, queue.deleteWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(404, queue.deleteIfExistsWithResponse(null, Context.NONE).getStatusCode());
        assertEquals(201, queue.createIfNotExistsWithResponse(null, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(204, service.deleteQueueWithResponse(queue.getQueueName(), TIMEOUT, Context.NONE).getStatusCode());
    }

    /** QU-02, QU-03: the response of every call on a message. */
    @Test
    void responsesOfMessages() {
        SendMessageResult sent = queue.sendMessageWithResponse(BinaryData.fromString("one"), null, Duration.ofHours(1), TIMEOUT, Context.NONE).getValue();
        assertEquals(Duration.ofHours(1), Duration.between(sent.getInsertionTime(), sent.getExpirationTime()));
        queue.sendMessage(BinaryData.fromString("two"));
        assertEquals(2, queue.peekMessages(32, TIMEOUT, Context.NONE).stream().count());
        UpdateMessageResult updated = queue.updateMessageWithResponse(sent.getMessageId(), sent.getPopReceipt(), "three", Duration.ofSeconds(30), TIMEOUT, Context.NONE).getValue();
        assertTrue(updated.getTimeNextVisible().isAfter(sent.getTimeNextVisible()));
        assertEquals(204, queue.deleteMessageWithResponse(sent.getMessageId(), updated.getPopReceipt(), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(1, queue.receiveMessages(32, Duration.ofMinutes(5), TIMEOUT, Context.NONE).stream().count());
        assertEquals(204, queue.clearMessagesWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(0, queue.getProperties().getApproximateMessagesCountLong());
    }

    @Test
    void responsesOfTheService() {
        QueueServiceProperties before = service.getPropertiesWithResponse(TIMEOUT, Context.NONE).getValue();
        assertEquals(202, service.setPropertiesWithResponse(before, TIMEOUT, Context.NONE).getStatusCode());
        QueueServiceClient secondary = new QueueServiceClientBuilder().endpoint(Suite.endpoint("Queue", 10001) + "-secondary")
            .credential(new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Suite.NO_RETRIES).buildClient();
        // This version of the client looks for another root element than the service has ever sent.
        HttpResponseException error = assertThrows(HttpResponseException.class, () -> secondary.getStatisticsWithResponse(null, Context.NONE));
        assertEquals(200, error.getResponse().getStatusCode());
    }

    /** Every setting of the builders that changes what is sent, or who signs it. */
    @Test
    void builders() {
        String address = Suite.endpoint("Queue", 10001);
        StorageSharedKeyCredential shared = new StorageSharedKeyCredential(Suite.ACCOUNT, Suite.KEY);
        AzureNamedKeyCredential named = new AzureNamedKeyCredential(Suite.ACCOUNT, Suite.KEY);
        String token = queue.generateSas(new QueueServiceSasSignatureValues(Suite.soon(), QueueSasPermission.parse("rap")));
        List<String> policies = new ArrayList<>();
        List<QueueClient> clients = List.of(
            new QueueClientBuilder().endpoint(address).queueName(queue.getQueueName()).credential(shared).retryOptions(new RetryOptions(new FixedDelayOptions(0, Duration.ofMillis(1)))).buildClient(),
            new QueueClientBuilder().endpoint(address).queueName(queue.getQueueName()).credential(named).configuration(Configuration.NONE).buildClient(),
            new QueueClientBuilder().endpoint(queue.getQueueUrl()).credential(new AzureSasCredential(token)).clientOptions(new ClientOptions().setApplicationId("test")).buildClient(),
            new QueueClientBuilder().endpoint(queue.getQueueUrl()).sasToken(token).httpClient(HttpClient.createDefault()).httpLogOptions(QueueClientBuilder.getDefaultHttpLogOptions()).buildClient(),
            new QueueClientBuilder().endpoint(queue.getQueueUrl()).pipeline(queue.getHttpPipeline()).buildClient(),
            new QueueClientBuilder().endpoint(queue.getQueueUrl()).sasToken(token).serviceVersion(QueueServiceVersion.V2019_02_02).audience(QueueAudience.createQueueServiceAccountAudience(Suite.ACCOUNT))
                .addPolicy((context, next) -> {
                    policies.add(context.getHttpRequest().getHeaders().getValue(com.azure.core.http.HttpHeaderName.fromString("x-ms-version")));
                    return next.process();
                }).buildClient(),
            new QueueServiceClientBuilder().endpoint(address).credential(named).configuration(Configuration.NONE).clientOptions(new ClientOptions())
                .retryOptions(new RetryOptions(new FixedDelayOptions(0, Duration.ofMillis(1)))).httpLogOptions(new HttpLogOptions()).buildClient().getQueueClient(queue.getQueueName()),
            new QueueServiceClientBuilder().endpoint(address).credential(new AzureSasCredential(token)).httpClient(HttpClient.createDefault()).addPolicy((context, next) -> next.process())
                .serviceVersion(QueueServiceVersion.V2020_02_10).audience(null).buildClient().getQueueClient(queue.getQueueName()),
            new QueueServiceClientBuilder().endpoint(address).pipeline(service.getHttpPipeline()).buildClient().getQueueClient(queue.getQueueName()),
            new QueueServiceClientBuilder().endpoint(address).sasToken(token).buildClient().getQueueClient(queue.getQueueName()));
        for (QueueClient client : clients) {
            client.sendMessage("here");
            assertEquals("here", client.receiveMessage().getBody().toString());
        }
        assertTrue(policies.contains("2019-02-02"), policies.toString());
        assertTrue(QueueServiceClientBuilder.getDefaultHttpLogOptions().getAllowedHeaderNames().size() > 0);
        // Tokens need https: the builders themselves reject anything else.
        assertThrows(IllegalArgumentException.class, () -> new QueueClientBuilder().endpoint(queue.getQueueUrl()).credential(request -> Mono.empty()).buildClient());
        assertThrows(IllegalArgumentException.class, () -> new QueueServiceClientBuilder().endpoint(address).credential(request -> Mono.empty()).buildClient());
    }

    /** QU-07 starts with this: a message that cannot be decoded goes to a handler, and the handler removes it. */
    @Test
    void messagesThatCannotBeDecoded() {
        List<String> found = new ArrayList<>();
        QueueClientBuilder decoding = new QueueClientBuilder().connectionString(Suite.connectionString("Queue", 10001)).queueName(queue.getQueueName()).messageEncoding(QueueMessageEncoding.BASE64);
        QueueClient reader = decoding.processMessageDecodingError(error -> {
            found.add(error.getQueueMessageItem().getMessageText());
            error.getQueueClient().deleteMessage(error.getQueueMessageItem().getMessageId(), error.getQueueMessageItem().getPopReceipt());
        }).buildClient();
        queue.sendMessage("not base64!");
        reader.sendMessage("fine");
        assertEquals(List.of("fine"), reader.receiveMessages(32).stream().map(item -> item.getBody().toString()).toList());
        assertEquals(List.of("not base64!"), found);
        assertEquals(1, queue.getProperties().getApproximateMessagesCount());
        QueueServiceClientBuilder services = builder().messageEncoding(QueueMessageEncoding.BASE64);
        assertEquals(QueueMessageEncoding.BASE64, services.processMessageDecodingError(error -> { }).buildClient().getMessageEncoding());
    }

    /** A user's key signs a token, which carries no more than the user's rights and the letters in it. */
    @Test
    void userDelegation() {
        QueueServiceClient user = builder().httpClient(Suite.withBearer()).buildClient();
        OffsetDateTime start = OffsetDateTime.now().minusHours(1);
        UserDelegationKey key = user.getUserDelegationKey(start, Suite.soon());
        assertEquals(key.getSignedTenantId(), user.getUserDelegationKeyWithResponse(start, Suite.soon(), TIMEOUT, Context.NONE).getValue().getSignedTenantId());
        assertEquals(200, user.getUserDelegationKeyWithResponse(new QueueGetUserDelegationKeyOptions(Suite.soon()).setStartsOn(start), TIMEOUT, Context.NONE).getStatusCode());
        String token = queue.generateUserDelegationSas(new QueueServiceSasSignatureValues(Suite.soon(), QueueSasPermission.parse("r")), key);
        QueueClient reader = new QueueClientBuilder().endpoint(queue.getQueueUrl()).sasToken(token).retryOptions(Suite.NO_RETRIES).buildClient();
        assertEquals(0, reader.peekMessages(1, TIMEOUT, Context.NONE).stream().count());
        denied(() -> reader.sendMessage("x"));
    }

    @Test
    void everyPublicMethodIsCalled() throws Exception {
        assertFalse(Suite.uncalled(name -> name, QueueServiceStatistics.class).isEmpty(), "the check itself finds what is missing");
        assertEquals(List.of(), Suite.uncalled(name -> name, QueueServiceClient.class, QueueClient.class, QueueServiceAsyncClient.class, QueueAsyncClient.class,
            QueueServiceClientBuilder.class, QueueClientBuilder.class));
    }
}

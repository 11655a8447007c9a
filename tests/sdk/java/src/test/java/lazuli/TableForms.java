package lazuli;

import static lazuli.Suite.rejected;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.core.credential.AzureSasCredential;
import com.azure.core.http.HttpClient;
import com.azure.core.http.HttpHeaderName;
import com.azure.core.http.HttpPipelineBuilder;
import com.azure.core.http.policy.HttpLogOptions;
import com.azure.core.http.policy.RetryPolicy;
import com.azure.core.util.ClientOptions;
import com.azure.core.util.Configuration;
import com.azure.core.util.Context;
import com.azure.data.tables.*;
import com.azure.data.tables.models.*;
import com.azure.data.tables.sas.*;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** com.azure:azure-data-tables: the forms of calls that return a response, every way to build a client, and the check that nothing is left out. */
class TableForms {
    static final Duration TIMEOUT = Duration.ofSeconds(60);
    TableServiceClient service;
    TableClient table;

    static TableServiceClientBuilder builder() {
        return new TableServiceClientBuilder().connectionString(Suite.connectionString("Table", 10002)).retryOptions(Tables.NO_RETRIES);
    }

    static TableEntity row(String key) {
        return Tables.row(key);
    }

    @BeforeEach
    void create() {
        service = builder().buildClient();
        table = service.createTableWithResponse(Suite.unique("java"), TIMEOUT, Context.NONE).getValue();
    }

    @AfterEach
    void delete() {
        if (table != null) {
            service.deleteTableWithResponse(table.getTableName(), null, Context.NONE);
        }
    }

    @Test
    void responsesOfTables() {
        String name = table.getTableName();
        assertEquals(409, service.createTableIfNotExistsWithResponse(name, null, Context.NONE).getStatusCode());
        assertEquals(204, table.deleteTableWithResponse(TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(404, table.deleteTableWithResponse(null, Context.NONE).getStatusCode());
        assertEquals(204, service.createTableIfNotExistsWithResponse(name, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(204, service.deleteTableWithResponse(name, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(name, table.createTableWithResponse(TIMEOUT, Context.NONE).getValue().getName());
        TableSignedIdentifier reader = new TableSignedIdentifier("reader").setAccessPolicy(new TableAccessPolicy().setExpiresOn(Suite.soon()).setPermissions("r"));
        assertEquals(204, table.setAccessPoliciesWithResponse(List.of(reader), TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(1, table.getAccessPoliciesWithResponse(TIMEOUT, Context.NONE).getValue().getIdentifiers().size());
    }

    @Test
    void responsesOfEntities() {
        assertEquals(204, table.createEntityWithResponse(row("r").addProperty("a", 1), TIMEOUT, Context.NONE).getStatusCode());
        rejected(409, "EntityAlreadyExists", () -> table.createEntityWithResponse(row("r"), null, Context.NONE));
        assertEquals(204, table.upsertEntityWithResponse(row("r").addProperty("b", 2), TableEntityUpdateMode.MERGE, TIMEOUT, Context.NONE).getStatusCode());
        TableEntity narrow = table.getEntityWithResponse("p", "r", List.of("b"), TIMEOUT, Context.NONE).getValue();
        assertEquals(2, narrow.getProperty("b"));
        assertNull(narrow.getProperty("a"));
        TableEntity current = table.getEntity("p", "r");
        assertEquals(204, table.updateEntityWithResponse(current, TableEntityUpdateMode.REPLACE, true, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(202, table.submitTransactionWithResponse(List.of(new TableTransactionAction(TableTransactionActionType.CREATE, row("s"))), TIMEOUT, Context.NONE).getStatusCode());
        table.deleteEntity(row("s"));
        assertEquals(204, table.deleteEntityWithResponse(row("r"), false, TIMEOUT, Context.NONE).getStatusCode());
        assertEquals(404, table.deleteEntityWithResponse(row("r"), false, null, Context.NONE).getStatusCode());
    }

    @Test
    void responsesOfTheService() {
        TableServiceProperties before = service.getPropertiesWithResponse(TIMEOUT, Context.NONE).getValue();
        assertEquals(202, service.setPropertiesWithResponse(before, TIMEOUT, Context.NONE).getStatusCode());
        TableServiceClient secondary = new TableServiceClientBuilder().endpoint(Suite.endpoint("Table", 10002) + "-secondary")
            .credential(new AzureNamedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Tables.NO_RETRIES).buildClient();
        assertTrue(secondary.getStatisticsWithResponse(TIMEOUT, Context.NONE).getValue().getGeoReplication() != null);
    }

    /** Every setting of the builders that changes what is sent, or who signs it. */
    @Test
    void builders() {
        String address = Suite.endpoint("Table", 10002);
        String name = table.getTableName();
        AzureNamedKeyCredential named = new AzureNamedKeyCredential(Suite.ACCOUNT, Suite.KEY);
        String token = table.generateSas(new TableSasSignatureValues(Suite.soon(), TableSasPermission.parse("raud")).setProtocol(TableSasProtocol.HTTPS_HTTP));
        List<String> versions = new ArrayList<>();
        List<TableClient> clients = List.of(
            new TableClientBuilder().connectionString(Suite.connectionString("Table", 10002)).tableName(name).retryPolicy(new RetryPolicy()).buildClient(),
            new TableClientBuilder().endpoint(address).tableName(name).credential(named).configuration(Configuration.NONE).httpLogOptions(new HttpLogOptions()).buildClient(),
            new TableClientBuilder().endpoint(address).tableName(name).credential(new AzureSasCredential(token)).clientOptions(new ClientOptions().setApplicationId("test")).buildClient(),
            new TableClientBuilder().endpoint(address).tableName(name).sasToken(token).httpClient(HttpClient.createDefault()).retryOptions(Tables.NO_RETRIES).buildClient(),
            new TableClientBuilder().endpoint(address).tableName(name).sasToken(token).serviceVersion(TableServiceVersion.V2019_02_02).addPolicy((context, next) -> {
                versions.add(context.getHttpRequest().getHeaders().getValue(HttpHeaderName.fromString("x-ms-version")));
                return next.process();
            }).buildClient(),
            new TableServiceClientBuilder().endpoint(address).credential(named).configuration(Configuration.NONE).clientOptions(new ClientOptions())
                .retryPolicy(new RetryPolicy()).httpLogOptions(new HttpLogOptions()).buildClient().getTableClient(name),
            new TableServiceClientBuilder().endpoint(address).credential(new AzureSasCredential(token)).httpClient(HttpClient.createDefault())
                .addPolicy((context, next) -> next.process()).serviceVersion(TableServiceVersion.V2019_02_02).buildClient().getTableClient(name),
            new TableServiceClientBuilder().endpoint(address).sasToken(token).buildClient().getTableClient(name));
        for (TableClient client : clients) {
            client.upsertEntity(row("r").addProperty("a", "here"));
            assertEquals("here", client.getEntity("p", "r").getProperty("a"));
        }
        assertEquals(List.of("2019-02-02", "2019-02-02"), versions);
        // A pipeline of the caller's own signs nothing; without a signature, tables are closed. A server that takes tokens asks for one.
        assertTrue(List.of(401, 403).contains(unsigned(new TableClientBuilder().endpoint(address).tableName(name).pipeline(new HttpPipelineBuilder().build()).buildClient())));
        assertTrue(List.of(401, 403).contains(unsigned(new TableServiceClientBuilder().endpoint(address).pipeline(new HttpPipelineBuilder().build()).buildClient().getTableClient(name))));
        // Tokens need https: the clients reject anything else before they send it.
        TableClient bearer = new TableClientBuilder().endpoint(address).tableName(name).credential(request -> Mono.empty()).enableTenantDiscovery().retryOptions(Tables.NO_RETRIES).buildClient();
        assertTrue(assertThrows(RuntimeException.class, () -> bearer.getEntity("p", "r")).getMessage().contains("HTTPS"));
        TableServiceClient bearers = new TableServiceClientBuilder().endpoint(address).credential(request -> Mono.empty()).enableTenantDiscovery().retryOptions(Tables.NO_RETRIES).buildClient();
        assertTrue(assertThrows(RuntimeException.class, bearers::getProperties).getMessage().contains("HTTPS"));
    }

    static int unsigned(TableClient client) {
        return assertThrows(TableServiceException.class, () -> client.getEntity("p", "r")).getResponse().getStatusCode();
    }

    /** The service with a bearer token: reads, writes and its properties. */
    @Test
    void bearerTokens() {
        TableServiceClient user = builder().httpClient(Suite.withBearer()).buildClient();
        TableClient rows = user.getTableClient(table.getTableName());
        rows.createEntity(row("r"));
        assertEquals("r", rows.getEntity("p", "r").getRowKey());
        user.setProperties(user.getProperties());
    }

    @Test
    void everyPublicMethodIsCalled() throws Exception {
        assertFalse(Suite.uncalled(name -> name, TableItem.class, TableServiceStatistics.class, TableServiceLogging.class).isEmpty(), "the check itself finds what is missing");
        assertEquals(List.of(), Suite.uncalled(name -> name, TableServiceClient.class, TableClient.class, TableServiceAsyncClient.class, TableAsyncClient.class,
            TableServiceClientBuilder.class, TableClientBuilder.class));
    }
}

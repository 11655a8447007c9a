package lazuli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.http.policy.FixedDelayOptions;
import com.azure.core.http.policy.RetryOptions;
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableClientBuilder;
import com.azure.data.tables.TableServiceClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.*;
import com.azure.data.tables.sas.*;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** com.azure:azure-data-tables. */
class Tables {
    static final RetryOptions NO_RETRIES = new RetryOptions(new FixedDelayOptions(0, Duration.ZERO));
    TableServiceClient service;
    TableClient table;

    @BeforeEach
    void create() {
        service = new TableServiceClientBuilder().connectionString(Suite.connectionString("Table", 10002)).retryOptions(NO_RETRIES).buildClient();
        table = service.createTable(Suite.unique("java"));
    }

    @AfterEach
    void delete() {
        if (table != null) {
            service.deleteTable(table.getTableName());
        }
    }

    static TableEntity row(String key) {
        return new TableEntity("p", key);
    }

    List<String> rows(String filter) {
        return table.listEntities(new ListEntitiesOptions().setFilter(filter).setTop(2), null, null).stream().map(TableEntity::getRowKey).toList();
    }

    @Test
    void tables() {
        String name = table.getTableName();
        assertEquals(List.of(name), service.listTables(new ListTablesOptions().setFilter("TableName eq '" + name + "'"), null, null).stream().map(TableItem::getName).toList());
        assertTrue(service.listTables().stream().count() >= 1);
        assertEquals(409, assertThrows(TableServiceException.class, () -> service.createTable(name)).getResponse().getStatusCode());
        service.createTableIfNotExists(name);
        TableClient other = service.getTableClient(Suite.unique("java"));
        other.createTable();
        other.deleteTable();
        assertEquals(TableErrorCode.TABLE_NOT_FOUND, assertThrows(TableServiceException.class, () -> other.getEntity("p", "r")).getValue().getErrorCode());
        assertEquals(service.getAccountName(), table.getAccountName()); // in path style both take it from the host
        assertTrue(service.getServiceEndpoint().startsWith("http") && table.getTableEndpoint().contains(name));
        assertEquals(service.getServiceVersion(), table.getServiceVersion());
    }

    @Test
    void everyTypeComesBackAsItWas() {
        Map<String, Object> values = Map.of("String", "Grüße", "Boolean", true, "Int32", 7, "Int64", 1L << 40, "Double", 3.25, "Guid", UUID.randomUUID(),
            "DateTime", OffsetDateTime.of(2020, 1, 2, 3, 4, 5, 0, ZoneOffset.UTC));
        table.createEntity(row("r").setProperties(values).addProperty("Binary", new byte[] {0, 1, -1}));
        TableEntity found = table.getEntity("p", "r");
        values.forEach((name, value) -> assertEquals(value, found.getProperty(name)));
        assertEquals(3, ((byte[]) found.getProperty("Binary")).length);
        assertTrue(found.getETag().startsWith("W/"));
    }

    @Test
    void updatesAndConditions() {
        table.upsertEntity(row("r").addProperty("a", "1"));
        TableEntity old = table.getEntity("p", "r");
        table.updateEntity(row("r").addProperty("b", "2"));
        assertEquals("1", table.getEntity("p", "r").getProperty("a"));
        table.updateEntity(row("r").addProperty("c", "3"), TableEntityUpdateMode.REPLACE);
        assertEquals(null, table.getEntity("p", "r").getProperty("a"));
        assertEquals(412, assertThrows(TableServiceException.class, () -> table.updateEntityWithResponse(old, TableEntityUpdateMode.REPLACE, true, null, null)).getResponse().getStatusCode());
        assertEquals(412, assertThrows(TableServiceException.class, () -> table.deleteEntityWithResponse(old, true, null, null)).getResponse().getStatusCode());
        table.deleteEntity("p", "r");
        assertEquals(TableErrorCode.RESOURCE_NOT_FOUND, assertThrows(TableServiceException.class, () -> table.getEntity("p", "r")).getValue().getErrorCode());
        table.createEntity(row("r"));
        assertEquals(TableErrorCode.ENTITY_ALREADY_EXISTS, assertThrows(TableServiceException.class, () -> table.createEntity(row("r"))).getValue().getErrorCode());
    }

    @Test
    void queriesInPages() {
        for (String key : List.of("a", "b", "c", "O'Hare", "世界 %20")) {
            table.createEntity(row(key).addProperty("Length", key.length()));
        }
        assertEquals(List.of("O'Hare", "a", "b", "c", "世界 %20"), rows(null));
        assertEquals(List.of("a", "b", "c"), rows("Length eq 1"));
        assertEquals(5, table.listEntities().stream().count());
        assertEquals("O'Hare", table.getEntity("p", "O'Hare").getRowKey());
    }

    @Test
    void transactions() {
        table.createEntity(row("old"));
        TableTransactionResult done = table.submitTransaction(List.of(
            new TableTransactionAction(TableTransactionActionType.CREATE, row("new")), new TableTransactionAction(TableTransactionActionType.UPSERT_REPLACE, row("other")),
            new TableTransactionAction(TableTransactionActionType.UPDATE_MERGE, row("old").addProperty("b", "2"))));
        assertEquals(3, done.getTransactionActionResponses().size());
        TableTransactionFailedException error = assertThrows(TableTransactionFailedException.class, () -> table.submitTransaction(List.of(
            new TableTransactionAction(TableTransactionActionType.DELETE, row("old")), new TableTransactionAction(TableTransactionActionType.CREATE, row("new")))));
        assertEquals(1, error.getFailedTransactionActionIndex());
        assertEquals(List.of("new", "old", "other"), rows(null));
    }

    @Test
    void policiesAndSignatures() {
        TableAccessPolicy policy = new TableAccessPolicy().setStartsOn(Suite.soon().minusHours(2)).setExpiresOn(Suite.soon()).setPermissions("r");
        table.setAccessPolicies(List.of(new TableSignedIdentifier("reader").setAccessPolicy(policy)));
        assertEquals("reader", table.getAccessPolicies().getIdentifiers().get(0).getId());
        table.createEntity(row("r"));
        String token = table.generateSas(new TableSasSignatureValues(Suite.soon(), TableSasPermission.parse("r")).setProtocol(TableSasProtocol.HTTPS_HTTP));
        TableClient reader = new TableClientBuilder().endpoint(Suite.endpoint("Table", 10002)).tableName(table.getTableName()).sasToken(token).retryOptions(NO_RETRIES).buildClient();
        assertEquals("r", reader.getEntity("p", "r").getRowKey());
        assertEquals(403, assertThrows(TableServiceException.class, () -> reader.createEntity(row("x"))).getResponse().getStatusCode());
        TableAccountSasSignatureValues wide = new TableAccountSasSignatureValues(Suite.soon(), TableAccountSasPermission.parse("rl"), TableAccountSasService.parse("t"),
            TableAccountSasResourceType.parse("sco")).setProtocol(TableSasProtocol.HTTPS_HTTP);
        TableServiceClient lister = new TableServiceClientBuilder().endpoint(Suite.endpoint("Table", 10002)).sasToken(service.generateAccountSas(wide)).retryOptions(NO_RETRIES).buildClient();
        assertTrue(lister.listTables().stream().anyMatch(item -> item.getName().equals(table.getTableName())));
    }

    @Test
    void serviceProperties() {
        TableServiceProperties before = service.getProperties();
        TableServiceCorsRule rule = new TableServiceCorsRule().setAllowedOrigins("www.xyz.com").setAllowedMethods("GET").setAllowedHeaders("").setExposedHeaders("").setMaxAgeInSeconds(5);
        service.setProperties(new TableServiceProperties().setCorsRules(List.of(rule)));
        assertEquals(1, service.getProperties().getCorsRules().size());
        service.setProperties(before.setCorsRules(List.of()));
        TableServiceClient secondary = new TableServiceClientBuilder().endpoint(Suite.endpoint("Table", 10002) + "-secondary")
            .credential(new com.azure.core.credential.AzureNamedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(NO_RETRIES).buildClient();
        assertTrue(secondary.getStatistics().getGeoReplication() != null);
    }
}

package lazuli;

import static lazuli.Suite.rejected;
import static lazuli.TableForms.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.credential.AzureNamedKeyCredential;
import com.azure.data.tables.*;
import com.azure.data.tables.models.*;
import com.azure.data.tables.sas.*;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

/** The asynchronous clients of com.azure:azure-data-tables. */
class AsyncTables {
    TableServiceAsyncClient service;
    TableAsyncClient table;

    @BeforeEach
    void create() {
        service = TableForms.builder().buildAsyncClient();
        table = service.createTable(Suite.unique("java")).block();
    }

    @AfterEach
    void delete() {
        if (table != null) {
            table.deleteTable().block();
        }
    }

    List<String> rows(String filter) {
        return table.listEntities(new ListEntitiesOptions().setFilter(filter).setTop(2)).map(TableEntity::getRowKey).collectList().block();
    }

    @Test
    void tables() {
        String name = table.getTableName();
        assertEquals(1, service.listTables(new ListTablesOptions().setFilter("TableName eq '" + name + "'")).count().block());
        assertTrue(service.listTables().any(item -> item.getName().equals(name)).block());
        rejected(409, "TableAlreadyExists", () -> service.createTable(name).block());
        assertEquals(name, service.createTableIfNotExists(name).block().getTableName());
        assertEquals(409, service.createTableIfNotExistsWithResponse(name).block().getStatusCode());
        TableAsyncClient other = service.createTableWithResponse(Suite.unique("java")).block().getValue();
        assertEquals(204, other.deleteTableWithResponse().block().getStatusCode());
        rejected(404, "TableNotFound", () -> other.getEntity("p", "r").block());
        assertEquals(other.getTableName(), other.createTable().block().getName());
        service.deleteTable(other.getTableName()).block();
        service.deleteTable(other.getTableName()).block(); // the client hides that there is none
        assertEquals(204, other.createTableWithResponse().block().getStatusCode());
        assertEquals(204, service.deleteTableWithResponse(other.getTableName()).block().getStatusCode());
        assertEquals(404, service.deleteTableWithResponse(other.getTableName()).block().getStatusCode());
        assertEquals(service.getAccountName(), table.getAccountName());
        assertEquals(service.getServiceVersion(), table.getServiceVersion());
        assertTrue(service.getServiceEndpoint().startsWith("http") && table.getTableEndpoint().endsWith(name));
    }

    @Test
    void updatesAndConditions() {
        table.upsertEntity(row("r").addProperty("a", "1")).block();
        TableEntity old = table.getEntity("p", "r").block();
        table.updateEntity(row("r").addProperty("b", "2")).block();
        assertEquals("1", table.getEntity("p", "r").block().getProperty("a"));
        table.updateEntity(row("r").addProperty("c", "3"), TableEntityUpdateMode.REPLACE).block();
        TableEntity narrow = table.getEntityWithResponse("p", "r", List.of("a", "c")).block().getValue();
        assertEquals("3", narrow.getProperty("c"));
        assertNull(narrow.getProperty("a"));
        rejected(412, "UpdateConditionNotSatisfied", () -> table.updateEntityWithResponse(old, TableEntityUpdateMode.REPLACE, true).block());
        rejected(412, "UpdateConditionNotSatisfied", () -> table.deleteEntityWithResponse(old, true).block());
        assertEquals(204, table.upsertEntityWithResponse(row("r").addProperty("d", 4), TableEntityUpdateMode.MERGE).block().getStatusCode());
        TableEntity current = table.getEntity("p", "r").block();
        assertEquals(204, table.updateEntityWithResponse(current, TableEntityUpdateMode.MERGE, true).block().getStatusCode());
        table.deleteEntity("p", "r").block();
        rejected(404, "ResourceNotFound", () -> table.getEntity("p", "r").block());
        assertEquals(404, table.deleteEntityWithResponse(row("r"), false).block().getStatusCode());
        table.createEntity(row("r")).block();
        table.deleteEntity(row("r")).block();
        assertEquals(204, table.createEntityWithResponse(row("r")).block().getStatusCode());
        rejected(409, "EntityAlreadyExists", () -> table.createEntityWithResponse(row("r")).block());
    }

    @Test
    void queriesInPages() {
        Flux.just("a", "b", "c", "O'Hare", "世界 %20").flatMap(key -> table.createEntity(row(key).addProperty("Length", key.length()))).blockLast();
        assertEquals(List.of("O'Hare", "a", "b", "c", "世界 %20"), rows(null));
        assertEquals(List.of("a", "b", "c"), rows("Length eq 1"));
        assertEquals(List.of(2, 2, 1), table.listEntities(new ListEntitiesOptions().setTop(2)).byPage().map(page -> page.getValue().size()).collectList().block());
        assertEquals(5, table.listEntities().count().block());
    }

    /** Sixteen at a time: of those that insert the same key, one succeeds. */
    @Test
    void concurrentWriters() {
        long created = Flux.range(0, 64).flatMap(number -> table.createEntityWithResponse(row("" + number % 8)).map(response -> 1).onErrorResume(TableServiceException.class, error -> {
            assertEquals(409, error.getResponse().getStatusCode());
            return Flux.<Integer>empty().next();
        }), 16).count().block();
        assertEquals(8, created);
    }

    @Test
    void transactions() {
        table.createEntity(row("old")).block();
        TableTransactionResult done = table.submitTransaction(List.of(
            new TableTransactionAction(TableTransactionActionType.CREATE, row("new")), new TableTransactionAction(TableTransactionActionType.UPSERT_MERGE, row("other")),
            new TableTransactionAction(TableTransactionActionType.UPDATE_REPLACE, row("old").addProperty("b", "2")))).block();
        assertEquals(3, done.getTransactionActionResponses().size());
        TableTransactionFailedException error = assertThrows(TableTransactionFailedException.class, () -> table.submitTransaction(List.of(
            new TableTransactionAction(TableTransactionActionType.DELETE, row("old")), new TableTransactionAction(TableTransactionActionType.CREATE, row("new")))).block());
        assertEquals(1, error.getFailedTransactionActionIndex());
        assertEquals(202, table.submitTransactionWithResponse(List.of(new TableTransactionAction(TableTransactionActionType.DELETE, row("other")))).block().getStatusCode());
        assertEquals(List.of("new", "old"), rows(null));
    }

    @Test
    void policiesAndSignatures() {
        TableAccessPolicy policy = new TableAccessPolicy().setExpiresOn(Suite.soon()).setPermissions("r");
        table.setAccessPolicies(List.of(new TableSignedIdentifier("reader").setAccessPolicy(policy))).block();
        assertEquals("reader", table.getAccessPolicies().block().getIdentifiers().get(0).getId());
        assertEquals(204, table.setAccessPoliciesWithResponse(List.of()).block().getStatusCode());
        assertNull(table.getAccessPoliciesWithResponse().block().getValue().getIdentifiers()); // the client's word for an empty list
        table.createEntity(row("r")).block();
        String token = table.generateSas(new TableSasSignatureValues(Suite.soon(), TableSasPermission.parse("r")).setProtocol(TableSasProtocol.HTTPS_HTTP));
        TableAsyncClient reader = new TableClientBuilder().endpoint(Suite.endpoint("Table", 10002)).tableName(table.getTableName()).sasToken(token).retryOptions(Tables.NO_RETRIES).buildAsyncClient();
        assertEquals("r", reader.getEntity("p", "r").block().getRowKey());
        Suite.denied(() -> reader.createEntity(row("x")).block());
        TableAccountSasSignatureValues wide = new TableAccountSasSignatureValues(Suite.soon(), TableAccountSasPermission.parse("rl"), TableAccountSasService.parse("t"),
            TableAccountSasResourceType.parse("sco")).setProtocol(TableSasProtocol.HTTPS_HTTP);
        TableServiceAsyncClient lister = new TableServiceClientBuilder().endpoint(Suite.endpoint("Table", 10002)).sasToken(service.generateAccountSas(wide)).retryOptions(Tables.NO_RETRIES).buildAsyncClient();
        assertTrue(lister.listTables().any(item -> item.getName().equals(table.getTableName())).block());
        TableAsyncClient denied = lister.getTableClient(table.getTableName());
        Suite.denied(() -> denied.deleteTable().block());
    }

    @Test
    void serviceProperties() {
        TableServiceProperties before = service.getPropertiesWithResponse().block().getValue();
        assertEquals(202, service.setPropertiesWithResponse(before).block().getStatusCode());
        service.setProperties(service.getProperties().block()).block();
        TableServiceAsyncClient secondary = new TableServiceClientBuilder().endpoint(Suite.endpoint("Table", 10002) + "-secondary")
            .credential(new AzureNamedKeyCredential(Suite.ACCOUNT, Suite.KEY)).retryOptions(Tables.NO_RETRIES).buildAsyncClient();
        assertTrue(secondary.getStatistics().block().getGeoReplication() != null);
        assertEquals(200, secondary.getStatisticsWithResponse().block().getStatusCode());
    }
}

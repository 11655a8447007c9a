package sdk

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

func tableService(t *testing.T) *aztables.ServiceClient {
	address := endpoint(t, "TABLE", 10002)
	credential := must(aztables.NewSharedKeyCredential(account, key))(t)
	return must(aztables.NewServiceClientWithSharedKey(address, credential, &aztables.ClientOptions{ClientOptions: options}))(t)
}

func freshTable(t *testing.T) (*aztables.ServiceClient, *aztables.Client, string) {
	service, name := tableService(t), unique("go")
	must(service.CreateTable(ctx, name, nil))(t)
	t.Cleanup(func() { _, _ = service.DeleteTable(ctx, name, nil) })
	return service, service.NewClient(name), name
}

func row(rowKey string, properties map[string]any) []byte {
	entity := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "p"}, Properties: properties}
	text, err := json.Marshal(entity)
	// The type doubles the quotes of keys, which belongs into addresses only.
	var plain map[string]any
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err == nil {
		plain["RowKey"] = rowKey
		text, err = json.Marshal(plain)
	}
	if err != nil {
		panic(err)
	}
	return text
}

func parsed(t *testing.T, text []byte) aztables.EDMEntity {
	t.Helper()
	var entity aztables.EDMEntity
	ok(t, json.Unmarshal(text, &entity))
	return entity
}

func rows(t *testing.T, table *aztables.Client, query *aztables.ListEntitiesOptions) []string {
	t.Helper()
	found := []string{}
	for _, page := range pages(t, table.NewListEntitiesPager(query)) {
		for _, text := range page.Entities {
			found = append(found, parsed(t, text).RowKey)
		}
	}
	return found
}

func TestTables(t *testing.T) {
	service, _, name := freshTable(t)
	_, err := service.CreateTable(ctx, name, nil)
	rejected(t, err, 409, "TableAlreadyExists")
	filter := "TableName eq '" + name + "'"
	found := pages(t, service.NewListTablesPager(&aztables.ListTablesOptions{Filter: &filter}))
	equal(t, *found[0].Tables[0].Name, name)
	other := service.NewClient(unique("go"))
	must(other.CreateTable(ctx, nil))(t)
	must(other.Delete(ctx, nil))(t)
	_, err = other.GetEntity(ctx, "p", "r", nil)
	rejected(t, err, 404, "TableNotFound")
}

func TestTableClientsFromEverything(t *testing.T) {
	address := endpoint(t, "TABLE", 10002)
	service, _, name := freshTable(t)
	must(service.NewClient(name).AddEntity(ctx, row("r", nil), nil))(t)
	credential := must(aztables.NewSharedKeyCredential(account, key))(t)
	settings := &aztables.ClientOptions{ClientOptions: options}
	byString := must(aztables.NewServiceClientFromConnectionString(connectionString("Table", address), settings))(t).NewClient(name)
	byKey := must(aztables.NewClientWithSharedKey(address+"/"+name, credential, settings))(t)
	for _, client := range []*aztables.Client{byString, byKey} {
		equal(t, rows(t, client, nil), []string{"r"})
	}
}

func TestEntities(t *testing.T) {
	_, table, _ := freshTable(t)
	when := time.Date(2020, 1, 2, 3, 4, 5, 600, time.UTC)
	values := map[string]any{
		"String": "Grüße", "Bool": true, "Int32": int32(7), "Int64": aztables.EDMInt64(1 << 40), "Double": 3.25,
		"DateTime": aztables.EDMDateTime(when.Truncate(100)), "Binary": aztables.EDMBinary{0, 1, 255}, "GUID": aztables.EDMGUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
	}
	must(table.AddEntity(ctx, row("r", values), nil))(t)
	_, err := table.AddEntity(ctx, row("r", nil), nil)
	rejected(t, err, 409, "EntityAlreadyExists")
	response := must(table.GetEntity(ctx, "p", "r", nil))(t)
	found := parsed(t, response.Value)
	for name, value := range values {
		if name == "DateTime" {
			equal(t, time.Time(found.Properties[name].(aztables.EDMDateTime)).UTC(), when.Truncate(100))
			continue
		}
		equal(t, found.Properties[name], value)
	}
	equal(t, response.ETag != "", true)
}

func TestUpdateAndUpsert(t *testing.T) {
	_, table, _ := freshTable(t)
	must(table.UpsertEntity(ctx, row("r", map[string]any{"a": "1", "b": "1"}), nil))(t)
	merged := must(table.UpdateEntity(ctx, row("r", map[string]any{"b": "2"}), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeMerge}))(t)
	equal(t, parsed(t, must(table.GetEntity(ctx, "p", "r", nil))(t).Value).Properties, map[string]any{"a": "1", "b": "2"})
	must(table.UpdateEntity(ctx, row("r", map[string]any{"c": "3"}), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace, IfMatch: &merged.ETag}))(t)
	equal(t, parsed(t, must(table.GetEntity(ctx, "p", "r", nil))(t).Value).Properties, map[string]any{"c": "3"})
	_, err := table.UpdateEntity(ctx, row("r", nil), &aztables.UpdateEntityOptions{UpdateMode: aztables.UpdateModeReplace, IfMatch: &merged.ETag})
	rejected(t, err, 412, "UpdateConditionNotSatisfied")
	must(table.UpsertEntity(ctx, row("r", map[string]any{"d": "4"}), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace}))(t)
	_, err = table.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: &merged.ETag})
	rejected(t, err, 412, "UpdateConditionNotSatisfied")
	must(table.DeleteEntity(ctx, "p", "r", nil))(t)
	_, err = table.GetEntity(ctx, "p", "r", nil)
	rejected(t, err, 404, "ResourceNotFound")
}

func TestQueriesAndPages(t *testing.T) {
	_, table, _ := freshTable(t)
	for _, name := range []string{"a", "b", "c", "d", "O'Hare", "世界 %20"} {
		must(table.AddEntity(ctx, row(name, map[string]any{"Length": int32(len(name))}), nil))(t)
	}
	equal(t, rows(t, table, nil), []string{"O'Hare", "a", "b", "c", "d", "世界 %20"})
	equal(t, rows(t, table, &aztables.ListEntitiesOptions{Top: ptr(int32(2))}), []string{"O'Hare", "a", "b", "c", "d", "世界 %20"})
	equal(t, rows(t, table, &aztables.ListEntitiesOptions{Filter: ptr("Length gt 1 and RowKey gt 'P'")}), []string{"世界 %20"})
	first := must(table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Top: ptr(int32(4)), Select: ptr("RowKey")}).NextPage(ctx))(t)
	equal(t, len(first.Entities), 4)
	equal(t, rows(t, table, &aztables.ListEntitiesOptions{NextPartitionKey: first.NextPartitionKey, NextRowKey: first.NextRowKey}), []string{"d", "世界 %20"})
	equal(t, parsed(t, must(table.GetEntity(ctx, "p", "O'Hare", nil))(t).Value).RowKey, "O'Hare")
}

func TestTransactions(t *testing.T) {
	_, table, _ := freshTable(t)
	must(table.AddEntity(ctx, row("old", nil), nil))(t)
	actions := []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: row("new", map[string]any{"a": "1"})},
		{ActionType: aztables.TransactionTypeInsertReplace, Entity: row("other", nil)},
		{ActionType: aztables.TransactionTypeUpdateMerge, Entity: row("old", map[string]any{"b": "2"})},
	}
	must(table.SubmitTransaction(ctx, actions, nil))(t)
	equal(t, rows(t, table, nil), []string{"new", "old", "other"})
	_, err := table.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeDelete, Entity: row("old", nil)}, {ActionType: aztables.TransactionTypeAdd, Entity: row("new", nil)},
	}, nil)
	equal(t, err != nil, true)
	equal(t, rows(t, table, nil), []string{"new", "old", "other"})
}

func TestTablePoliciesAndSignatures(t *testing.T) {
	_, table, name := freshTable(t)
	policy := aztables.SignedIdentifier{ID: ptr("reader"), AccessPolicy: &aztables.AccessPolicy{Start: ptr(soon().Add(-2 * time.Hour)), Expiry: ptr(soon()), Permission: ptr("r")}}
	must(table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{&policy}}))(t)
	equal(t, *must(table.GetAccessPolicy(ctx, nil))(t).SignedIdentifiers[0].ID, "reader")
	must(table.AddEntity(ctx, row("r", nil), nil))(t)
	settings := &aztables.ClientOptions{ClientOptions: options}
	// In path style the client forgets a slash as soon as there is a signature.
	base, credential := hostStyle(endpoint(t, "TABLE", 10002), "table"), must(aztables.NewSharedKeyCredential(account, key))(t)
	values := aztables.SASSignatureValues{Protocol: aztables.SASProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "r", TableName: name}
	reader := must(aztables.NewClientWithNoCredential(base+"/"+name+"?"+must(values.Sign(credential))(t), settings))(t)
	equal(t, rows(t, reader, nil), []string{"r"})
	_, err := reader.AddEntity(ctx, row("x", nil), nil)
	denied(t, err)
	wide := aztables.AccountSASSignatureValues{Protocol: aztables.SASProtocolHTTPSandHTTP, ExpiryTime: soon(), Permissions: "rl", Services: "t", ResourceTypes: "sco"}
	token := must(wide.Sign(credential))(t)
	lister := must(aztables.NewServiceClientWithNoCredential(base+"/?"+token.Encode(), settings))(t)
	equal(t, len(pages(t, lister.NewListTablesPager(nil))) > 0, true)
	_, err = lister.DeleteTable(ctx, name, nil)
	denied(t, err)
}

// The address for an account is for https only; the one for a table lacks a slash in path style. So neither is used.
func TestTableAddressesThatTheClientsSign(t *testing.T) {
	service, table, _ := freshTable(t)
	address := must(table.GetTableSASURL(aztables.SASPermissions{Read: true}, soon().Add(-2*time.Hour), soon()))(t)
	equal(t, strings.Contains(address, "sig="), true)
	address = must(service.GetAccountSASURL(aztables.AccountSASResourceTypes{Object: true}, aztables.AccountSASPermissions{Read: true}, soon().Add(-2*time.Hour), soon()))(t)
	equal(t, strings.Contains(address, "spr=https"), true)
}

func TestTableServiceProperties(t *testing.T) {
	service := tableService(t)
	before := must(service.GetProperties(ctx, nil))(t)
	rule := aztables.CorsRule{AllowedOrigins: ptr("www.xyz.com"), AllowedMethods: ptr("GET"), AllowedHeaders: ptr(""), ExposedHeaders: ptr(""), MaxAgeInSeconds: ptr(int32(5))}
	must(service.SetProperties(ctx, aztables.ServiceProperties{Cors: []*aztables.CorsRule{&rule}}, nil))(t)
	equal(t, len(must(service.GetProperties(ctx, nil))(t).Cors), 1)
	must(service.SetProperties(ctx, aztables.ServiceProperties{Logging: before.Logging, HourMetrics: before.HourMetrics, MinuteMetrics: before.MinuteMetrics, Cors: []*aztables.CorsRule{}}, nil))(t)
	credential := must(aztables.NewSharedKeyCredential(account, key))(t)
	other := must(aztables.NewServiceClientWithSharedKey(secondary(endpoint(t, "TABLE", 10002)), credential, &aztables.ClientOptions{ClientOptions: options}))(t)
	equal(t, must(other.GetStatistics(ctx, nil))(t).GeoReplication != nil, true)
}

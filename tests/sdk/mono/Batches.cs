// Entity group transactions by SaveChanges(SaveChangesOptions.Batch), and a query in a batch.
using System;
using System.Collections.Generic;
using System.Data.Services.Client;
using System.Linq;

class Batches : Suite
{
    const string ForeignEtag = "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"";

    static int[] Statuses(DataServiceResponse response)
    {
        return response.Select(operation => operation.StatusCode).ToArray();
    }

    static string Show(IEnumerable<int> statuses)
    {
        return string.Join(" ", statuses.Select(status => status.ToString()).ToArray());
    }

    void Insert(string table, params string[] rows)
    {
        TableContext context = Context();
        foreach (string row in rows)
            context.AddObject(table, new Blog("p", row) { Text = "old", Rating = 1 });
        context.SaveChanges();
    }

    /// TX-13, TX-14, TX-19, TX-26: inserts, a merge, a delete; the contexts's etags are those of the response.
    public void MixedOperations()
    {
        string table = Table();
        Insert(table, "merge", "delete");
        TableContext context = Context();
        List<Blog> rows = context.Blogs(table).ToList();
        Blog merge = rows.Single(row => row.RowKey == "merge");
        merge.Rating = 2;
        var first = new Blog("p", "first") { Text = "new & <b>", Draft = true };
        context.AddObject(table, first);
        context.AddObject(table, new Blog("p", "second"));
        context.UpdateObject(merge);
        context.DeleteObject(rows.Single(row => row.RowKey == "delete"));
        DataServiceResponse response = context.SaveChanges(SaveChangesOptions.Batch);
        Equal(202, response.BatchStatusCode);
        Equal("201 201 204 204", Show(Statuses(response)));
        Rows("first merge second", Context().Blogs(table).AsEnumerable());
        Equal("new & <b>", Context().Blogs(table).Where(blog => blog.RowKey == "first").ToList().Single().Text);

        TableContext fresh = Context();
        foreach (Blog row in fresh.Blogs(table).ToList())
        {
            Blog mine = new[] { first, merge }.SingleOrDefault(blog => blog.RowKey == row.RowKey);
            if (mine != null)
                Equal(fresh.GetEntityDescriptor(row).ETag, context.GetEntityDescriptor(mine).ETag);
        }
        first.Rating = 9;
        context.UpdateObject(first);
        context.SaveChanges();
    }

    /// PUT in a batch.
    public void Replace()
    {
        string table = Table();
        Insert(table, "r");
        TableContext context = Context();
        var part = new Rated { PartitionKey = "p", RowKey = "r", Rating = 7 };
        context.AttachTo(table, part, "*");
        context.UpdateObject(part);
        Equal("204", Show(Statuses(context.SaveChanges(SaveChangesOptions.Batch | SaveChangesOptions.ReplaceOnUpdate))));
        Equal(null, Context().Blogs(table).ToList().Single().Text);
    }

    /// Upserts in a batch, from 2011-08-18 on.
    public void Upserts()
    {
        if (!Has2011)
            return;
        string table = Table();
        Insert(table, "old");
        TableContext context = Context();
        foreach (string row in new[] { "old", "new" })
        {
            var part = new Rated { PartitionKey = "p", RowKey = row, Rating = 7 };
            context.AttachTo(table, part);
            context.UpdateObject(part);
        }
        Equal("204 204", Show(Statuses(context.SaveChanges(SaveChangesOptions.Batch))));
        Equal("7 7", string.Join(" ", Context().Blogs(table).ToList().Select(row => row.Rating.ToString()).ToArray()));
    }

    /// TX-01, TX-24, PG-02: a thousand rows and more, a hundred at a time, read back in pages.
    public void ManyRows()
    {
        string table = Table();
        for (int start = 0; start < 1100; start += 100)
        {
            TableContext context = Context();
            for (int i = start; i < start + 100; i++)
                context.AddObject(table, new Blog("p", i.ToString("D19")) { Rating = i });
            Equal(100, Statuses(context.SaveChanges(SaveChangesOptions.Batch)).Length);
        }
        var query = Context().Blogs(table);
        var response = (QueryOperationResponse<Blog>)query.Execute();
        True(response.ToList().Count <= 1000, "a page holds a thousand");
        True(Next(query, response) != null, "there is a next page");
        List<Blog> all = All(Context().Blogs(table));
        True(all.Select(row => row.Rating).SequenceEqual(Enumerable.Range(0, 1100)), "each row once, in order");
    }

    /// The batch is rejected at this index with this status and code, and changes nothing.
    void Fails(string table, int index, int status, string code, Action<TableContext> fill)
    {
        string before = Content(table);
        TableContext context = Context();
        fill(context);
        DataServiceClientException error = Rejected(status, code, () => context.SaveChanges(SaveChangesOptions.Batch));
        True(error.Message.Contains(">" + index + ":"), "the index is " + index + ": " + error.Message);
        Equal(before, Content(table));
    }

    string Content(string table)
    {
        return string.Join(" ", Context().Blogs(table).ToList().Select(row => row.RowKey + "=" + row.Rating).ToArray());
    }

    /// TX-09, TX-12, TX-15
    public void Failures()
    {
        string table = Table();
        Insert(table, "exists");
        Fails(table, 1, 409, "EntityAlreadyExists", context =>
        {
            context.AddObject(table, new Blog("p", "1"));
            context.AddObject(table, new Blog("p", "exists"));
            context.AddObject(table, new Blog("p", "2"));
        });
        Fails(table, 2, 412, "UpdateConditionNotSatisfied", context =>
        {
            var stale = new Blog("p", "exists") { Rating = 5 };
            context.AddObject(table, new Blog("p", "1"));
            context.AddObject(table, new Blog("p", "2"));
            context.AttachTo(table, stale, ForeignEtag);
            context.UpdateObject(stale);
        });
        Fails(table, 1, 404, "ResourceNotFound", context =>
        {
            var missing = new Blog("p", "missing");
            context.AddObject(table, new Blog("p", "1"));
            context.AttachTo(table, missing, "*");
            context.DeleteObject(missing);
        });
        Fails(table, 1, 400, "CommandsInBatchActOnDifferentPartitions", context =>
        {
            context.AddObject(table, new Blog("p", "1"));
            context.AddObject(table, new Blog("q", "2"));
        });
    }

    /// TX-01
    public void TooManyOperations()
    {
        string table = Table();
        Fails(table, 99, 400, "InvalidInput", context =>
        {
            for (int i = 0; i < 101; i++)
                context.AddObject(table, new Blog("p", i.ToString("D3")));
        });
    }

    /// TX-27, CC-06 in batches: of two that touch the same entity one wins, wholly.
    public void TwoBatches()
    {
        string table = Table();
        Insert(table, "shared");
        TableContext mine = Context(), theirs = Context();
        foreach (TableContext context in new[] { mine, theirs })
        {
            Blog shared = context.Blogs(table).ToList().Single();
            shared.Rating++;
            context.UpdateObject(shared);
            context.AddObject(table, new Blog("p", context == mine ? "mine" : "theirs"));
        }
        mine.SaveChanges(SaveChangesOptions.Batch);
        Rejected(412, "UpdateConditionNotSatisfied", () => theirs.SaveChanges(SaveChangesOptions.Batch));
        Equal("mine=0 shared=2", Content(table));
    }

    /// Unusual keys in the addresses of a batch's parts.
    public void Keys()
    {
        string table = Table();
        foreach (string key in new[] { "a b", "O'Hare", "a','b", "100%", "Grüße 世界", "a&b" })
        {
            TableContext context = Context();
            var blog = new Blog(key, key);
            context.AddObject(table, blog);
            context.AddObject(table, new Blog(key, key + "2"));
            context.SaveChanges(SaveChangesOptions.Batch);
            blog.Rating = 2;
            context.UpdateObject(blog);
            context.SaveChanges(SaveChangesOptions.Batch);
            Equal(2, Context().Blogs(table).Where(row => row.PartitionKey == key && row.RowKey == key).ToList().Single().Rating);
            context.DeleteObject(blog);
            context.SaveChanges(SaveChangesOptions.Batch);
            Rows(key + "2", Context().Blogs(table).Where(row => row.PartitionKey == key));
        }
    }

    /// TX-08, TX-21: one query, alone, by address.
    public void QueryInABatch()
    {
        string table = Table();
        Insert(table, "r");
        TableContext context = Context();
        var request = new DataServiceRequest<Blog>(new Uri(Account.Endpoint + "/" + table + "(PartitionKey='p',RowKey='r')"));
        DataServiceResponse response = context.ExecuteBatch(request);
        Equal(202, response.BatchStatusCode);
        // The rows have to be read while the response is enumerated.
        int responses = 0;
        foreach (OperationResponse part in response)
        {
            Equal(200, part.StatusCode);
            Rows("r", ((QueryOperationResponse<Blog>)part).ToList());
            responses++;
        }
        Equal(1, responses);
    }
}

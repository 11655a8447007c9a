// LINQ: what the client makes of expressions, and continuation through response headers.
using System;
using System.Collections.Generic;
using System.Data.Services.Client;
using System.Linq;

class Queries : Suite
{
    static readonly Guid Id = new Guid("c9da6455-213d-42c9-9a79-3e9149a57833");

    /// Ten rows in two partitions.
    string Data()
    {
        string table = Table();
        TableContext context = Context();
        for (int i = 0; i < 10; i++)
        {
            context.AddObject(table, new Blog("p" + i / 5, "r" + i)
            {
                Text = "O'Hare " + i, Rating = i, Views = i * 1000L, Score = i / 2.0, Draft = i % 2 == 0,
                Id = i == 3 ? Id : Guid.NewGuid(), Written = new DateTime(2000 + i, 1, 1, 0, 0, 0, DateTimeKind.Utc), Picture = new[] { (byte)i },
            });
        }
        context.SaveChanges();
        return table;
    }

    /// QY-02, QY-12, QY-20
    public void Conditions()
    {
        string table = Data();
        DataServiceQuery<Blog> blogs = Context().Blogs(table);
        var date = new DateTime(2003, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        Rows("r0 r1 r2 r3 r4", blogs.Where(blog => blog.PartitionKey == "p0"));
        Rows("r7 r8 r9", blogs.Where(blog => blog.Rating >= 7));
        Rows("r2 r3", blogs.Where(blog => blog.Rating > 1 && blog.Rating < 4));
        Rows("r1 r8", blogs.Where(blog => blog.Rating == 1 || blog.Rating == 8));
        Rows("r0", blogs.Where(blog => !(blog.Rating != 0)));
        Rows("r4", blogs.Where(blog => blog.Text == "O'Hare 4"));
        Rows("r9", blogs.Where(blog => blog.Views > 8000L));
        Rows("r0 r1 r2", blogs.Where(blog => blog.Score < 1.5));
        Rows("r3", blogs.Where(blog => blog.Id == Id));
        Rows("r3 r4", blogs.Where(blog => blog.Written >= date && blog.Written <= date.AddYears(1)));
        Rows("r5 r7 r9", blogs.Where(blog => blog.PartitionKey == "p1" && blog.Draft == false));
        Rows("r2 r3", blogs.Where(blog => string.Compare(blog.RowKey, "r2") >= 0 && string.Compare(blog.RowKey, "r4") < 0));
        Rows("r5", blogs.Where(blog => ((((blog.PartitionKey == "p1") && (blog.RowKey == "r5")) && (blog.Rating == 5)) && (blog.Views > 60L))).Take(1));
    }

    /// A bare Boolean property, and its negation.
    public void BooleanProperties()
    {
        string table = Data();
        DataServiceQuery<Blog> blogs = Context().Blogs(table);
        Rows("r0 r2 r4", blogs.Where(blog => blog.Draft && blog.PartitionKey == "p0"));
        Rows("r1 r3", blogs.Where(blog => !blog.Draft && blog.PartitionKey == "p0"));
    }

    /// QY-13, OP-08: both keys make an address, not a filter.
    public void PointQueries()
    {
        string table = Data();
        TableContext context = Context();
        Blog found = context.Blogs(table).Where(blog => blog.PartitionKey == "p0" && blog.RowKey == "r3").ToList().Single();
        Equal(3, found.Rating);
        True(Uri.UnescapeDataString(context.Sent.Last()).EndsWith(table + "(PartitionKey='p0',RowKey='r3')"), context.Sent.Last());
        Rejected(404, "ResourceNotFound", () => context.Blogs(table).Where(blog => blog.PartitionKey == "p0" && blog.RowKey == "none").ToList());
        context.IgnoreResourceNotFoundException = true;
        Rows("", context.Blogs(table).Where(blog => blog.PartitionKey == "p0" && blog.RowKey == "none"));
        Rows("r3", context.Execute<Blog>(new Uri(table + "(PartitionKey='p0', RowKey='r3')", UriKind.Relative)));
    }

    /// Every row comes with the etag that a point query gives it.
    public void RowsCarryTheirEtags()
    {
        string table = Data();
        TableContext context = Context(), other = Context();
        foreach (Blog row in context.Blogs(table).Where(blog => blog.PartitionKey == "p0").ToList())
        {
            string key = row.RowKey;
            Blog same = other.Blogs(table).Where(blog => blog.PartitionKey == "p0" && blog.RowKey == key).ToList().Single();
            Equal(other.GetEntityDescriptor(same).ETag, context.GetEntityDescriptor(row).ETag);
        }
    }

    /// PG-01, PG-06, PG-07, PG-08
    public void TakeAndContinue()
    {
        string table = Data();
        var query = (DataServiceQuery<Blog>)Context().Blogs(table).Take(4);
        var response = (QueryOperationResponse<Blog>)query.Execute();
        Rows("r0 r1 r2 r3", response.ToList());
        True(Next(query, response) != null, "there is a next page");
        Rows("r0 r1 r2 r3 r4 r5 r6 r7 r8 r9", All(query));
        Rows("r5 r6 r7 r8 r9", All((DataServiceQuery<Blog>)Context().Blogs(table).Where(blog => blog.PartitionKey == "p1").Take(2)));
        var last = (QueryOperationResponse<Blog>)Context().Blogs(table).Execute();
        Equal(10, last.ToList().Count);
        True(Next(query, last) == null, "the last page has no token");
    }

    /// PG-13
    public void TablesContinue()
    {
        var mine = new HashSet<string>();
        for (int i = 0; i < 3; i++)
            mine.Add(Table());
        var query = (DataServiceQuery<TableEntry>)Context().CreateQuery<TableEntry>("Tables").Take(2);
        DataServiceQuery<TableEntry> page = query;
        while (page != null)
        {
            var response = (QueryOperationResponse<TableEntry>)page.Execute();
            List<TableEntry> entries = response.ToList();
            True(entries.Count <= 2, "a page of two");
            mine.ExceptWith(entries.Select(entry => entry.TableName));
            string token;
            page = response.Headers.TryGetValue("x-ms-continuation-NextTableName", out token) ? query.AddQueryOption("NextTableName", token) : null;
        }
        Equal(0, mine.Count);
    }

    /// QY-06: projection needs 2011-08-18.
    public void Projection()
    {
        if (!Has2011)
            return;
        string table = Data();
        TableContext context = Context();
        var found = (from blog in context.Blogs(table) where blog.Rating == 3 select new { blog.Text, blog.Views }).ToList().Single();
        Equal("O'Hare 3", found.Text);
        Equal(3000L, found.Views);
        True(context.Sent.Last().Contains("$select=Text,Views"), context.Sent.Last());
    }

    /// QY-08, QY-10, DM-24: other types and missing properties are skipped.
    public void TypesMustMatch()
    {
        string table = Table();
        TableContext context = Context();
        context.AddObject(table, new Rated { PartitionKey = "p", RowKey = "int", Rating = 2 });
        context.AddObject(table, new RatedDouble { PartitionKey = "p", RowKey = "double", Rating = 2.0 });
        context.AddObject(table, new Unrated { PartitionKey = "p", RowKey = "none" });
        context.SaveChanges();
        Func<string, string> rows = filter => string.Join(" ", Context().CreateQuery<Unrated>(table).AddQueryOption("$filter", filter).AsEnumerable().Select(row => row.RowKey).ToArray());
        Equal("double", rows("Rating gt 1.2"));
        Equal("", rows("Rating gt '1'"));
        Equal("", rows("Rating gt 1L"));
    }

    /// QY-21, and syntax errors.
    public void QueriesThatAreRejected()
    {
        string table = Data();
        Rejected(400, "InvalidInput", () => Context().Blogs(table).AddQueryOption("$filter", "Rating eq").ToList());
        Rejected(501, "NotImplemented", () => Context().Blogs(table).OrderBy(blog => blog.Rating).ToList());
        Rejected(501, "NotImplemented", () => Context().Blogs(table).Where(blog => blog.Text.StartsWith("O")).ToList());
    }

    /// AU-06
    public void WrongSignature()
    {
        string table = Data();
        TableContext context = Context();
        context.SendingRequest += (sender, sending) => sending.RequestHeaders["Authorization"] = "SharedKeyLite " + Account.Name + ":d3Jvbmc=";
        Rejected(403, "AuthenticationFailed", () => context.Blogs(table).ToList());
    }
}

[System.Data.Services.Common.DataServiceKey("PartitionKey", "RowKey")]
public class RatedDouble
{
    public string PartitionKey { get; set; }
    public string RowKey { get; set; }
    public double Rating { get; set; }
}

[System.Data.Services.Common.DataServiceKey("PartitionKey", "RowKey")]
public class Unrated
{
    public string PartitionKey { get; set; }
    public string RowKey { get; set; }
}

// The seven steps of the 2009 whitepaper, and the other single-entity operations.
using System;
using System.Collections.Generic;
using System.Data.Services.Client;
using System.Linq;

class Whitepaper : Suite
{
    /// Define, create the table, insert, list Rating == 3, update, delete, insert many.
    public void SevenSteps()
    {
        string table = Account.RandomTable();
        TableContext context = Context();
        context.AddObject("Tables", new TableEntry { TableName = table });
        context.SaveChanges();
        True(context.CreateQuery<TableEntry>("Tables").AsEnumerable().Any(entry => entry.TableName == table), "the table is listed");

        context.AddObject(table, new Blog("Channel9", "Oct-29") { Text = "Hello", Rating = 3 });
        context.AddObject(table, new Blog("Channel9", "Oct-30") { Text = "World", Rating = 5 });
        context.SaveChanges();

        TableContext reader = Context();
        List<Blog> listed = (from blog in reader.Blogs(table) where blog.Rating == 3 select blog).ToList();
        Equal(1, listed.Count);
        Equal("Hello", listed[0].Text);
        True(listed[0].Timestamp.Year >= 2020, "the service sets the timestamp");

        listed[0].Text += "!";
        listed[0].Rating++;
        reader.UpdateObject(listed[0]);
        reader.SaveChanges();
        Equal("Hello!", Context().Blogs(table).Where(blog => blog.Rating == 4).ToList().Single().Text);

        reader.DeleteObject(listed[0]);
        reader.SaveChanges();
        Rows("Oct-30", Context().Blogs(table).AsEnumerable());

        TableContext writer = Context();
        for (int i = 0; i < 10; i++)
            writer.AddObject(table, new Blog("Channel9", "many-" + i) { Rating = i });
        writer.SaveChanges();
        Equal(11, All(Context().Blogs(table)).Count);

        TableEntry found = context.CreateQuery<TableEntry>("Tables").Where(entry => entry.TableName == table).ToList().Single();
        context.DeleteObject(found);
        context.SaveChanges();
        Rejected(404, "TableNotFound", () => Context().Blogs(table).ToList());
    }

    /// OP-04, DM-05, DM-07
    public void TablesThatAreRejected()
    {
        string table = Table();
        Rejected(409, "TableAlreadyExists", () => CreateTable(table));
        Rejected(409, "TableAlreadyExists", () => CreateTable(table.ToUpperInvariant()));
        Rejected(400, "InvalidResourceName", () => CreateTable("my-table"));
        Rejected(400, "OutOfRangeInput", () => CreateTable("a"));
    }

    void CreateTable(string name)
    {
        TableContext context = Context();
        context.AddObject("Tables", new TableEntry { TableName = name });
        context.SaveChanges();
    }

    /// OP-09: the response's etag and address become the entity's.
    public void InsertTakesEtagAndAddressFromTheResponse()
    {
        string table = Table();
        TableContext context = Context();
        var blog = new Blog("p", "r");
        context.AddObject(table, blog);
        OperationResponse response = context.SaveChanges().Single();
        Equal(201, response.StatusCode);
        EntityDescriptor descriptor = context.GetEntityDescriptor(blog);
        True(descriptor.ETag.StartsWith("W/\"datetime'"), "an etag: " + descriptor.ETag);
        Equal(Account.Endpoint + "/" + table + "(PartitionKey='p',RowKey='r')", descriptor.Identity);
        Equal(descriptor.Identity, response.Headers["Location"]);
        Rejected(409, "EntityAlreadyExists", () => Insert(table, new Blog("p", "r")));
        Rejected(404, "TableNotFound", () => Insert(Account.RandomTable(), new Blog("p", "r")));
    }

    void Insert(string table, Blog blog)
    {
        TableContext context = Context();
        context.AddObject(table, blog);
        context.SaveChanges();
    }

    Blog Read(string table, string partition, string row)
    {
        return Context().Blogs(table).Where(blog => blog.PartitionKey == partition && blog.RowKey == row).ToList().Single();
    }

    /// DM-20, WR-05, WR-06
    public void AllTypesComeBack()
    {
        string table = Table();
        var written = new Blog("p", "r")
        {
            Text = "  <b>Grüße</b> & 世界 😀\n\"'  ", Rating = int.MinValue, Views = long.MaxValue, Score = 1.5e300, Draft = true,
            Id = new Guid("c9da6455-213d-42c9-9a79-3e9149a57833"), Written = new DateTime(2008, 10, 1, 15, 27, 34, DateTimeKind.Utc).AddTicks(4838174),
            Picture = new byte[] { 0, 1, 254, 255 },
        };
        Insert(table, written);
        Blog found = Read(table, "p", "r");
        Equal(written.Text, found.Text);
        Equal(written.Rating, found.Rating);
        Equal(written.Views, found.Views);
        Equal(written.Score, found.Score);
        Equal(written.Draft, found.Draft);
        Equal(written.Id, found.Id);
        Equal(written.Written, found.Written.Value.ToUniversalTime());
        Equal("0,1,254,255", string.Join(",", found.Picture.Select(octet => octet.ToString()).ToArray()));

        Insert(table, new Blog("p", "empty") { Text = "" });
        Blog empty = Read(table, "p", "empty");
        Equal("", empty.Text);
        Equal(null, empty.Views);
        Equal(null, empty.Picture);

        foreach (double odd in new[] { double.NaN, double.PositiveInfinity, double.NegativeInfinity, 5.0, double.Epsilon, double.MaxValue })
        {
            string row = odd.ToString("R", System.Globalization.CultureInfo.InvariantCulture);
            Insert(table, new Blog("odd", row) { Score = odd });
            Equal(odd, Read(table, "odd", row).Score.Value);
        }
    }

    /// OP-08: the client builds addresses from keys, and takes those of the responses for updates.
    public void Keys()
    {
        string table = Table();
        foreach (string key in new[] { "a b", "O'Hare", "a','b", "100%", "a%20b", "a+b", "Grüße 世界", "a=b&c;d", "(x)", "@:!$*~", "{}" })
        {
            TableContext context = Context();
            var blog = new Blog(key, key) { Rating = 1 };
            context.AddObject(table, blog);
            context.SaveChanges();
            Equal(1, Read(table, key, key).Rating);
            blog.Rating = 2;
            context.UpdateObject(blog);
            context.SaveChanges();
            Equal(2, Read(table, key, key).Rating);
            context.DeleteObject(blog);
            context.SaveChanges();
        }
        Equal(0, All(Context().Blogs(table)).Count);
    }

    /// OP-10, OP-11: MERGE is a verb of its own; ReplaceOnUpdate asks for PUT.
    public void MergeAndReplace()
    {
        string table = Table();
        Insert(table, new Blog("p", "r") { Text = "kept", Rating = 1 });
        TableContext context = Context();
        var part = new Rated { PartitionKey = "p", RowKey = "r", Rating = 2 };
        context.AttachTo(table, part, "*");
        context.UpdateObject(part);
        context.SaveChanges();
        True(context.Sent.Last().StartsWith("MERGE "), context.Sent.Last());
        Equal("kept", Read(table, "p", "r").Text);
        Equal(2, Read(table, "p", "r").Rating);
        part.Rating = 3;
        context.UpdateObject(part);
        context.SaveChanges(SaveChangesOptions.ReplaceOnUpdate);
        True(context.Sent.Last().StartsWith("PUT "), context.Sent.Last());
        Equal(null, Read(table, "p", "r").Text);
        Equal(3, Read(table, "p", "r").Rating);
    }

    /// OP-13, OP-14: without an etag the update is an upsert from 2011-08-18 on, and rejected before.
    public void UpdateWithoutEtag()
    {
        string table = Table();
        foreach (SaveChangesOptions options in new[] { SaveChangesOptions.None, SaveChangesOptions.ReplaceOnUpdate })
        {
            TableContext context = Context();
            var blog = new Blog("p", "r" + options) { Rating = 1 };
            context.AttachTo(table, blog);
            context.UpdateObject(blog);
            if (Has2011)
            {
                context.SaveChanges(options);
                Equal(1, Read(table, "p", "r" + options).Rating);
            }
            else
            {
                Rejected(400, "MissingRequiredHeader", () => context.SaveChanges(options));
            }
        }
    }

    /// PostTunneling: X-HTTP-Method carries the verb.
    public void PostTunneling()
    {
        string table = Table();
        TableContext context = Context();
        context.UsePostTunneling = true;
        var blog = new Blog("p", "r") { Rating = 1 };
        context.AddObject(table, blog);
        context.SaveChanges();
        blog.Rating = 2;
        context.UpdateObject(blog);
        context.SaveChanges();
        Equal(2, Read(table, "p", "r").Rating);
        context.DeleteObject(blog);
        context.SaveChanges();
        Equal(0, All(Context().Blogs(table)).Count);
        True(context.Sent.All(sent => sent.StartsWith("POST ")), string.Join(", ", context.Sent.ToArray()));
    }

    public void Asynchronous()
    {
        string table = Table();
        TableContext context = Context();
        context.AddObject(table, new Blog("p", "r") { Rating = 1 });
        context.EndSaveChanges(context.BeginSaveChanges(null, null));
        DataServiceQuery<Blog> query = context.Blogs(table);
        Rows("r", query.EndExecute(query.BeginExecute(null, null)));
    }
}

/// Part of a blog entry: a merge with it leaves the rest alone.
[System.Data.Services.Common.DataServiceKey("PartitionKey", "RowKey")]
public class Rated
{
    public string PartitionKey { get; set; }
    public string RowKey { get; set; }
    public int Rating { get; set; }
}

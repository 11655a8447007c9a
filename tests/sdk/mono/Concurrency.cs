// Optimistic concurrency: the etag that a context remembers decides.
using System.Data.Services.Client;
using System.Linq;

class Concurrency : Suite
{
    string TableWithOne()
    {
        string table = Table();
        TableContext context = Context();
        context.AddObject(table, new Blog("p", "r") { Rating = 1 });
        context.SaveChanges();
        return table;
    }

    static Blog Read(TableContext context, string table)
    {
        return context.Blogs(table).Where(blog => blog.PartitionKey == "p" && blog.RowKey == "r").ToList().Single();
    }

    /// CC-03, CC-04, CC-06: of two that read the same version one wins; the other reads again and succeeds.
    public void TwoWriters()
    {
        string table = TableWithOne();
        TableContext mine = Context(), theirs = Context();
        Blog first = Read(mine, table), second = Read(theirs, table);
        first.Rating++;
        mine.UpdateObject(first);
        mine.SaveChanges();
        second.Rating += 10;
        theirs.UpdateObject(second);
        Rejected(412, "UpdateConditionNotSatisfied", () => theirs.SaveChanges());
        Equal(2, Read(Context(), table).Rating);

        theirs.MergeOption = MergeOption.OverwriteChanges;
        second = Read(theirs, table);
        Equal(2, second.Rating);
        second.Rating += 10;
        theirs.UpdateObject(second);
        theirs.SaveChanges();
        Equal(12, Read(Context(), table).Rating);
    }

    /// CC-01: each response brings the etag for the next update.
    public void UpdatesInARow()
    {
        string table = TableWithOne();
        TableContext context = Context();
        Blog blog = Read(context, table);
        string before = context.GetEntityDescriptor(blog).ETag;
        for (int i = 0; i < 20; i++)
        {
            blog.Rating = i;
            context.UpdateObject(blog);
            context.SaveChanges(i % 2 == 0 ? SaveChangesOptions.None : SaveChangesOptions.ReplaceOnUpdate);
            string after = context.GetEntityDescriptor(blog).ETag;
            True(after != before, "the etag is renewed");
            before = after;
        }
    }

    /// CC-04, CC-05: delete with a stale etag, with any, and of nothing.
    public void Deletes()
    {
        string table = TableWithOne();
        TableContext stale = Context();
        Blog old = Read(stale, table);
        TableContext other = Context();
        Blog blog = Read(other, table);
        blog.Rating++;
        other.UpdateObject(blog);
        other.SaveChanges();
        stale.DeleteObject(old);
        Rejected(412, "UpdateConditionNotSatisfied", () => stale.SaveChanges());

        TableContext any = Context();
        var detached = new Blog("p", "r");
        any.AttachTo(table, detached, "*");
        any.DeleteObject(detached);
        Equal(204, any.SaveChanges().Single().StatusCode);

        TableContext late = Context();
        late.AttachTo(table, detached, "*");
        late.DeleteObject(detached);
        Rejected(404, "ResourceNotFound", () => late.SaveChanges());
    }

    /// OP-12: an update with any etag needs the entity.
    public void UpdateOfNothing()
    {
        string table = Table();
        foreach (SaveChangesOptions options in new[] { SaveChangesOptions.None, SaveChangesOptions.ReplaceOnUpdate })
        {
            TableContext context = Context();
            var blog = new Blog("p", "r");
            context.AttachTo(table, blog, "*");
            context.UpdateObject(blog);
            Rejected(404, "ResourceNotFound", () => context.SaveChanges(options));
        }
    }

    /// ContinueOnError: one rejection does not stop the rest, which are requests of their own.
    public void ContinueOnError()
    {
        string table = TableWithOne();
        TableContext context = Context();
        context.AddObject(table, new Blog("p", "a"));
        context.AddObject(table, new Blog("p", "r"));
        context.AddObject(table, new Blog("p", "z"));
        Rejected(409, "EntityAlreadyExists", () => context.SaveChanges(SaveChangesOptions.ContinueOnError));
        Rows("a r z", Context().Blogs(table).AsEnumerable());
    }
}

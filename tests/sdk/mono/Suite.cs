// A small test runner: every public method of the classes named in Main is a test.
using System;
using System.Collections.Generic;
using System.Data.Services.Client;
using System.Linq;
using System.Net;
using System.Reflection;

abstract class Suite
{
    readonly List<string> tables = new List<string>();

    /// The x-ms-version that this round of tests speaks.
    public string Version;

    protected TableContext Context()
    {
        return new TableContext(Version);
    }

    protected bool Has2011
    {
        get { return string.CompareOrdinal(Version, "2011-08-18") >= 0; }
    }

    /// A fresh table, deleted after the test.
    protected string Table()
    {
        string name = Account.RandomTable();
        TableContext context = Context();
        context.AddObject("Tables", new TableEntry { TableName = name });
        context.SaveChanges();
        tables.Add(name);
        return name;
    }

    public void CleanUp()
    {
        foreach (string name in tables)
        {
            TableContext context = Context();
            var entry = new TableEntry { TableName = name };
            context.AttachTo("Tables", entry);
            context.DeleteObject(entry);
            context.SaveChanges();
        }
        tables.Clear();
    }

    /// All rows of a query, through every page.
    protected static List<T> All<T>(DataServiceQuery<T> query)
    {
        var rows = new List<T>();
        DataServiceQuery<T> page = query;
        while (page != null)
        {
            var response = (QueryOperationResponse<T>)page.Execute();
            rows.AddRange(response);
            page = Next(query, response);
        }
        return rows;
    }

    /// The query for the page after this one, or null. The headers are looked up in the case that they are documented in.
    protected static DataServiceQuery<T> Next<T>(DataServiceQuery<T> query, QueryOperationResponse<T> response)
    {
        string partition, row;
        if (!response.Headers.TryGetValue("x-ms-continuation-NextPartitionKey", out partition))
            return null;
        DataServiceQuery<T> next = query.AddQueryOption("NextPartitionKey", partition);
        if (response.Headers.TryGetValue("x-ms-continuation-NextRowKey", out row))
            next = next.AddQueryOption("NextRowKey", row);
        return next;
    }

    /// The action must fail with this status and a message that contains the code.
    protected static DataServiceClientException Rejected(int status, string code, Action action)
    {
        try
        {
            action();
        }
        catch (InvalidOperationException error)
        {
            Exception cause = error;
            while (cause != null && !(cause is DataServiceClientException))
                cause = cause.InnerException;
            if (cause == null)
                throw;
            var found = (DataServiceClientException)cause;
            Equal(status, found.StatusCode);
            True(found.Message.Contains(code), "the message names " + code + ": " + found.Message);
            return found;
        }
        throw new Exception("the call was not rejected");
    }

    protected static void Equal<T>(T expected, T found)
    {
        if (!EqualityComparer<T>.Default.Equals(expected, found))
            throw new Exception("expected " + expected + ", found " + found);
    }

    protected static void Rows(string expected, IEnumerable<Blog> rows)
    {
        Equal(expected, string.Join(" ", rows.Select(row => row.RowKey).ToArray()));
    }

    protected static void True(bool condition, string what)
    {
        if (!condition)
            throw new Exception("not so: " + what);
    }
}

static class Program
{
    static int passed, failed;

    static int Main(string[] arguments)
    {
        ServicePointManager.DefaultConnectionLimit = 48;
        string skipped = Environment.GetEnvironmentVariable("LAZULI_SKIP") ?? "";
        foreach (string version in new[] { "2009-09-19", "2011-08-18" })
        {
            foreach (Type type in new[] { typeof(Whitepaper), typeof(Queries), typeof(Concurrency), typeof(Batches) })
            {
                if (type == typeof(Batches) && skipped.Split(',').Contains("batch"))
                    continue;
                foreach (MethodInfo test in type.GetMethods(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly))
                    Run(version, type, test, arguments);
            }
        }
        Console.WriteLine("{0} passed, {1} failed", passed, failed);
        return failed == 0 ? 0 : 1;
    }

    static void Run(string version, Type type, MethodInfo test, string[] wanted)
    {
        string name = version + " " + type.Name + "." + test.Name;
        if (wanted.Length > 0 && !wanted.Any(name.Contains))
            return;
        var suite = (Suite)Activator.CreateInstance(type);
        suite.Version = version;
        try
        {
            try
            {
                test.Invoke(suite, null);
            }
            finally
            {
                suite.CleanUp();
            }
            passed++;
        }
        catch (Exception error)
        {
            failed++;
            Console.WriteLine("FAILED {0}\n  {1}", name, (error.InnerException ?? error).ToString().Replace("\n", "\n  "));
        }
    }
}

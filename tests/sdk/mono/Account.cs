// The account under test, and a DataServiceContext that signs its requests as the samples of 2009 did.
using System;
using System.Collections.Generic;
using System.Data.Services.Client;
using System.Data.Services.Common;
using System.Globalization;
using System.Net;
using System.Security.Cryptography;
using System.Text;

static class Account
{
    const string DevelopmentKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    public static readonly string Endpoint = Setting("LAZULI_TABLE_ENDPOINT", "http://127.0.0.1:10002/devstoreaccount1").TrimEnd('/');
    public static readonly string Name = Setting("LAZULI_ACCOUNT", "devstoreaccount1");
    public static readonly byte[] Key = Convert.FromBase64String(Setting("LAZULI_KEY", DevelopmentKey));

    static string Setting(string name, string otherwise)
    {
        string value = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(value) ? otherwise : value;
    }

    public static string RandomTable()
    {
        return "mono" + Guid.NewGuid().ToString("N");
    }
}

/// Adds what ADO.NET Data Services does not know about: the version, the date and a SharedKeyLite signature.
class TableContext : DataServiceContext
{
    readonly string version;

    /// The requests that were sent, as "VERB path".
    public readonly List<string> Sent = new List<string>();

    public TableContext(string version) : base(new Uri(Account.Endpoint))
    {
        this.version = version;
        IgnoreMissingProperties = true;
        MergeOption = MergeOption.PreserveChanges;
        SendingRequest += Sign;
    }

    public DataServiceQuery<Blog> Blogs(string table)
    {
        return CreateQuery<Blog>(table);
    }

    void Sign(object sender, SendingRequestEventArgs sending)
    {
        var request = (HttpWebRequest)sending.Request;
        string date = DateTime.UtcNow.ToString("R", CultureInfo.InvariantCulture);
        string path = request.RequestUri.AbsolutePath;
        request.Headers["x-ms-version"] = version;
        request.Headers["x-ms-date"] = date;
        using (var hmac = new HMACSHA256(Account.Key))
        {
            byte[] text = Encoding.UTF8.GetBytes(date + "\n/" + Account.Name + path);
            string signature = Convert.ToBase64String(hmac.ComputeHash(text));
            request.Headers["Authorization"] = "SharedKeyLite " + Account.Name + ":" + signature;
        }
        Sent.Add(request.Method + " " + request.RequestUri.PathAndQuery);
    }
}

/// An entry of the master table "Tables".
[DataServiceKey("TableName")]
public class TableEntry
{
    public string TableName { get; set; }
}

/// The whitepaper's blog entry, with a property of each type that the service knows.
[DataServiceKey("PartitionKey", "RowKey")]
public class Blog
{
    public string PartitionKey { get; set; }
    public string RowKey { get; set; }
    public DateTime Timestamp { get; set; }
    public string Text { get; set; }
    public int Rating { get; set; }
    public long? Views { get; set; }
    public double? Score { get; set; }
    public bool Draft { get; set; }
    public Guid? Id { get; set; }
    public DateTime? Written { get; set; }
    public byte[] Picture { get; set; }

    public Blog()
    {
    }

    public Blog(string partition, string row)
    {
        PartitionKey = partition;
        RowKey = row;
    }
}

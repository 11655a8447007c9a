//! The micro-blogging application of the whitepaper "Windows Azure Table" (MB-01 to MB-04, MB-06 to MB-12).
//!
//! Channels with blogs, newest first; three partition sizes for the same query; several kinds of entity in one
//! table; and tables that change while programs of two versions read them.
//!
//! Run it with `cargo run -p lazuli-client --example micro_blog [connection string]`.

#![allow(clippy::print_stdout, dead_code, reason = "an example prints, and defines more than it uses")]

use lazuli_client::keys::{newest_first, padded, split};
use lazuli_client::{
    Context, DateTime, Dynamic, Entity, Environment, Error, Result, System, Table, TableService, keys,
    partition_key, prop, row_key,
};

mod shared;

use shared::{assert_rows_read, fresh, read};

fn main() -> Result<()> {
    shared::start(|service| async move { run(&service).await })
}

/// Runs the scenarios of the whitepaper.
pub async fn run(service: &TableService) -> Result<()> {
    seven_steps(service).await?;
    newest_come_first(service).await?;
    rating_then_time(service).await?;
    channel_prefix(service).await?;
    partition_sizes(service).await?;
    dynamic_granularity(service).await?;
    a_year_and_after_a_date(service).await?;
    social_network(service).await?;
    blogs_and_comments(service).await?;
    upgrades(service).await
}

/// MB-02, LA-09: computed and private values are not stored.
#[derive(Clone, Debug, PartialEq, Entity)]
#[table(name = "Blogs", rename_all = "PascalCase")]
struct Blog {
    /// Channel name.
    #[table(partition_key)]
    channel: String,
    /// Posted date.
    #[table(row_key)]
    posted: String,
    text: String,
    rating: i32,
    #[table(skip)]
    id: String,
}

impl Blog {
    fn new(channel: &str, posted: &str, text: &str, rating: i32) -> Self {
        Self { channel: channel.into(), posted: posted.into(), text: text.into(), rating, id: "local".into() }
    }

    fn rating_as_string(&self) -> String {
        "*".repeat(usize::try_from(self.rating).unwrap_or_default())
    }
}

fn time(text: &str) -> Result<DateTime> {
    DateTime::parse(text).ok_or_else(|| Error::input(format!("{text} is not a time")))
}

fn saved<T>(result: std::result::Result<T, lazuli_client::SaveError>) -> Result<T> {
    result.map_err(|failed| Error::input(failed.to_string()))
}

/// MB-01: define, create, insert, list, update, delete, insert many.
async fn seven_steps(service: &TableService) -> Result<()> {
    let blogs = fresh(service, "Blogs").await?;
    let mut context = Context::new(service);
    let hello = Blog::new("Channel9", "Oct-29", "Hello", 3);
    assert_eq!(hello.rating_as_string(), "***");
    context.add(&blogs, hello)?;
    saved(context.save().await)?;
    assert_eq!(
        blogs.get::<Dynamic>("Channel9", "Oct-29").await?.value.props.len(),
        2,
        "only Text and Rating"
    );

    let rated = blogs.query::<Blog>().filter(Blog::rating().eq(3)).collect().await?;
    assert_eq!(rated.len(), 1);

    let mut context = Context::new(service);
    let blog = context.get::<Blog>(&blogs, "Channel9", "Oct-29").await?;
    context.edit(blog)?.text = "Hi there".into();
    saved(context.save().await)?;
    assert_eq!(blogs.get::<Blog>("Channel9", "Oct-29").await?.value.text, "Hi there");

    context.delete(blog)?;
    saved(context.save().await)?;
    assert!(blogs.try_get::<Blog>("Channel9", "Oct-29").await?.is_none());

    let mut many = blogs.partition("Channel9")?.batch();
    for day in 1..=31 {
        many.insert(&Blog::new("Channel9", &format!("Oct-{day:02}"), "One of many", day % 5))?;
    }
    many.execute().await?;
    assert_eq!(blogs.query::<Blog>().count().await?, 31);
    blogs.delete().await
}

/// MB-03: keys that count down sort the newest first.
async fn newest_come_first(service: &TableService) -> Result<()> {
    let blogs = fresh(service, "Newest").await?;
    for (at, key) in
        [("2008-10-01T10:00:00Z", "2521794455999999999"), ("2008-10-02T10:00:00Z", "2521793591999999999")]
    {
        assert_eq!(newest_first(time(at)?), key);
        blogs.insert(&Blog::new("Football", key, at, 1)).await?;
    }
    let first = blogs.query::<Blog>().first().await?;
    assert_eq!(first.map(|blog| blog.text).as_deref(), Some("2008-10-02T10:00:00Z"));
    blogs.delete().await
}

/// MB-04: best rating first, and among equal ratings the newest.
async fn rating_then_time(service: &TableService) -> Result<()> {
    let blogs = fresh(service, "Rated").await?;
    for (rating, day) in [(2, 1), (5, 1), (2, 2), (5, 3)] {
        let posted = time(&format!("2008-10-0{day}T10:00:00Z"))?;
        let row = format!("{}{}", 9 - rating, newest_first(posted));
        blogs.insert(&Blog::new("Football", &row, &format!("{rating} on day {day}"), rating)).await?;
    }
    let texts = blogs.query::<Blog>().map(|blog| blog.text).collect().await?;
    assert_eq!(texts, ["5 on day 3", "5 on day 1", "2 on day 2", "2 on day 1"]);
    blogs.delete().await
}

/// MB-06: all channels whose name starts with PDC.
async fn channel_prefix(service: &TableService) -> Result<()> {
    let blogs = fresh(service, "Prefix").await?;
    for channel in ["PDB", "PDC", "PDC2008", "PDC2009", "PDD", "pdc"] {
        blogs.insert(&Blog::new(channel, "1", "", 1)).await?;
    }
    let all_years = Blog::channel().starts_with("PDC");
    assert_eq!(all_years.to_string(), "PartitionKey ge 'PDC' and PartitionKey lt 'PDD'");
    let (found, ran) = read(blogs.query::<Blog>().filter(all_years)).await?;
    assert_eq!(found.iter().map(|blog| &*blog.channel).collect::<Vec<_>>(), ["PDC", "PDC2008", "PDC2009"]);
    assert_rows_read(&ran, 3);
    blogs.delete().await
}

/// MB-07, PR-14: "the 10 most recent blogs of a channel", with partitions of three sizes, down to one entity each. Prints the
/// cost of each; the rows are the same for all, since one server has all partitions in one order.
async fn partition_sizes(service: &TableService) -> Result<()> {
    type Scheme = fn(DateTime) -> Result<String>;
    let schemes: [(&str, Scheme); 3] = [
        ("Large", |_| Ok("Football".to_owned())),
        ("Small", |posted| Ok(format!("Football_{}", newest_first(posted)))),
        ("Medium", |posted| Ok(format!("Football_{}", month(posted)?))),
    ];
    for (name, partition_of) in schemes {
        let blogs = fresh(service, name).await?;
        for month in 1..=12 {
            for day in [5, 15, 25] {
                let posted = time(&format!("2008-{month:02}-{day:02}T10:00:00Z"))?;
                let text = keys::date(posted);
                blogs.insert(&Blog::new(&partition_of(posted)?, &newest_first(posted), &text, 1)).await?;
            }
        }
        blogs.insert(&Blog::new("Gardening", &newest_first(time("2009-01-01")?), "other", 1)).await?;
        let recent = blogs.query::<Blog>().filter(Blog::channel().starts_with("Football")).take(10);
        let clock = System::default();
        let (rows, ran) = read(recent).await?;
        println!("{name}: {ran}, {:?}", clock.elapsed());
        assert_rows_read(&ran, 10);
        assert_eq!(ran.requests, 1, "{name}");
        assert_eq!(rows.first().map(|blog| &*blog.text), Some("2008-12-25"), "{name}");
        assert_eq!(rows.last().map(|blog| &*blog.text), Some("2008-09-25"), "{name}");
        blogs.delete().await?;
    }
    Ok(())
}

/// `<9999 - year>_<13 - month>`: October 2008 is `7991_03`.
fn month(posted: DateTime) -> Result<String> {
    let date = keys::date(posted);
    let number = |text: &str| text.parse::<u64>().map_err(|_| Error::input("not a date"));
    Ok(format!("{}_{}", padded(9999 - number(&date[..4])?, 4)?, padded(13 - number(&date[5..7])?, 2)?))
}

/// MB-08: by month from March to July, by week in the season.
fn football_partition(posted: DateTime) -> Result<String> {
    let date = keys::date(posted);
    let number = |text: &str| text.parse::<u64>().map_err(|_| Error::input("not a date"));
    let (month_number, day) = (number(&date[5..7])?, number(&date[8..10])?);
    let by_month = format!("Football_{}", month(posted)?);
    if (3..=7).contains(&month_number) {
        return Ok(by_month);
    }
    let week = ((day - 1) / 7 + 1).min(4);
    Ok(format!("{by_month}_{}", padded(5 - week, 2)?))
}

/// MB-08, MB-09: the application knows the partition of a day, and finds everything posted on it.
async fn dynamic_granularity(service: &TableService) -> Result<()> {
    assert_eq!(month(time("2008-10-03")?)?, "7991_03");
    assert_eq!(football_partition(time("2008-10-03")?)?, "Football_7991_03_04");
    assert_eq!(football_partition(time("2008-07-03")?)?, "Football_7991_06");
    let blogs = fresh(service, "Granular").await?;
    for day in ["2008-07-02", "2008-07-03", "2008-10-02", "2008-10-03", "2008-10-20"] {
        for hour in [9, 21] {
            let posted = time(&format!("{day}T{hour:02}:00:00Z"))?;
            blogs.insert(&Blog::new(&football_partition(posted)?, &newest_first(posted), day, 1)).await?;
        }
    }
    for day in ["2008-07-03", "2008-10-03"] {
        let from = time(day)?;
        let to = time(&format!("{day}T23:59:59.9999999Z"))?;
        let of_day = partition_key().eq(football_partition(from)?)
            & row_key().ge(newest_first(to))
            & row_key().le(newest_first(from));
        let (rows, ran) = read(blogs.query::<Blog>().filter(of_day)).await?;
        assert!(rows.len() == 2 && rows.iter().all(|blog| blog.text == day), "{day}");
        assert_rows_read(&ran, 2);
    }
    blogs.delete().await
}

/// MB-07, MB-09: a whole year, and everything after a date. The whitepaper's own filters are wrong: its year query finds the
/// next year (erratum E8), and its "after" finds older posts, since the keys count down (erratum E6).
async fn a_year_and_after_a_date(service: &TableService) -> Result<()> {
    let blogs = fresh(service, "Years").await?;
    for day in ["2007-12-31", "2008-01-01", "2008-07-03", "2008-10-01", "2008-10-02", "2009-01-01"] {
        let posted = time(&format!("{day}T10:00:00Z"))?;
        blogs.insert(&Blog::new(&football_partition(posted)?, &newest_first(posted), day, 1)).await?;
    }
    let of_2008 = Blog::channel().starts_with("Football_7991_");
    assert_eq!(of_2008.to_string(), "PartitionKey ge 'Football_7991_' and PartitionKey lt 'Football_7991`'");
    let (rows, ran) = read(blogs.query::<Blog>().filter(of_2008)).await?;
    let days: Vec<&str> = rows.iter().map(|blog| &*blog.text).collect();
    assert_eq!(days, ["2008-10-02", "2008-10-01", "2008-07-03", "2008-01-01"], "newest first");
    assert_rows_read(&ran, 4);

    let after = row_key().lt(newest_first(time("2008-10-01T10:00:00Z")?));
    let rows = blogs.query::<Blog>().filter(after).map(|blog| blog.text).collect().await?;
    assert_eq!(rows, ["2009-01-01", "2008-10-02"]);
    blogs.delete().await
}

#[derive(Clone, Debug, Entity)]
#[table(kind = "Post", rename_all = "PascalCase")]
struct Post {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    key: String,
    text: String,
}

#[derive(Clone, Debug, Entity)]
#[table(kind = "Photo", rename_all = "PascalCase")]
struct Photo {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    key: String,
    uri: String,
}

#[derive(Clone, Debug, Entity)]
enum Change {
    Post(Post),
    Photo(Photo),
    #[table(other)]
    Other(Dynamic),
}

/// MB-10: everything that a user did, newest first, of any kind, without a union of all properties.
async fn social_network(service: &TableService) -> Result<()> {
    let table = fresh(service, "SocialNetwork").await?;
    let mut together = table.partition("joe")?.batch();
    for day in 1..=6 {
        let ticks = newest_first(time(&format!("2008-10-0{day}"))?);
        let user = "joe".to_owned();
        match day % 3 {
            0 => {
                together.insert(&Photo { user, key: format!("{ticks}_Photo"), uri: format!("/{day}.jpg") })?
            }
            1 => together.insert(&Post { user, key: format!("{ticks}_Blog"), text: format!("day {day}") })?,
            _ => together.insert(&Dynamic::new(user, format!("{ticks}_Video")).with("Seconds", day)?)?,
        };
    }
    together.execute().await?;
    // The home page shows the newest changes: a hundred in the whitepaper, four here.
    let (home, ran) = read(table.query::<Change>().filter(partition_key().eq("joe")).take(4)).await?;
    assert_rows_read(&ran, 4);
    let kinds: Vec<&str> = home
        .iter()
        .map(|change| match change {
            Change::Post(_) => "post",
            Change::Photo(_) => "photo",
            Change::Other(_) => "other",
        })
        .collect();
    assert_eq!(kinds, ["photo", "other", "post", "photo"]);
    let photos = table.query::<Photo>().filter(partition_key().eq("joe")).collect().await?;
    assert_eq!(photos.iter().map(|photo| &*photo.uri).collect::<Vec<_>>(), ["/6.jpg", "/3.jpg"]);

    // The photo page shows the photos of some days. The time precedes the kind in the key, so the range alone finds posts and
    // videos, too (erratum E9): the kind selects among them.
    let days = row_key().ge(newest_first(time("2008-10-04")?))
        & row_key().lt(format!("{}`", newest_first(time("2008-10-02")?)));
    let in_range = || partition_key().eq("joe") & days.clone();
    assert_eq!(table.query::<Change>().filter(in_range()).count().await?, 3);
    let (page, ran) = read(table.query::<Photo>().filter(in_range())).await?;
    assert_eq!(page.iter().map(|photo| &*photo.uri).collect::<Vec<_>>(), ["/3.jpg"]);
    assert_rows_read(&ran, 3);
    table.delete().await
}

/// MB-11: a blog and its comments share a table; the keys show which belong together.
async fn blogs_and_comments(service: &TableService) -> Result<()> {
    let table = fresh(service, "BlogsAndComments").await?;
    let mut together = table.partition("ann")?.batch();
    for (blog, comments) in [("0001", 2), ("0002", 0), ("0003", 1)] {
        together
            .insert(&Dynamic::new("ann", keys::compound([blog, ""])).with("Text", format!("blog {blog}"))?)?;
        for comment in 1..=comments {
            let key = keys::compound([blog, &padded(comment, 4)?]);
            together.insert(&Dynamic::new("ann", key).with("Text", format!("comment {comment}"))?)?;
        }
    }
    together.execute().await?;
    let rows = table.query::<Dynamic>().filter(partition_key().eq("ann"));
    let blogs =
        rows.group_by(|row| split(&row.row_key).ok().and_then(|parts| parts.into_iter().next())).await?;
    let counts: Vec<usize> = blogs.iter().map(|(_, rows)| rows.len() - 1).collect();
    assert_eq!(counts, [2, 0, 1]);
    assert_eq!(
        blogs[0].1[0].get::<String>("Text")?.as_deref(),
        Some("blog 0001"),
        "the blog comes before its comments"
    );
    let of_one = row_key().starts_with(keys::beginning_with(["0001"]));
    assert_eq!(table.query::<Dynamic>().filter(partition_key().eq("ann") & of_one).count().await?, 3);
    table.delete().await
}

/// The second version of a blog: one property added, one removed, and one with another type.
#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct BlogV2 {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: String,
    text: String,
    /// Was `Rating`, an integer.
    rating2: f64,
    #[table(default)]
    language: String,
    version: i32,
}

/// MB-12: old and new programs, and how old entities are upgraded.
async fn upgrades(service: &TableService) -> Result<()> {
    let table = fresh(service, "Upgraded").await?;
    for number in 0..5 {
        table.insert(&Blog::new("Football", &format!("{number}"), "old", number)).await?;
    }
    // The entity that is read is upgraded on access, the others in the background.
    assert_eq!(upgraded(&table, "Football", "3").await?.rating2, 3.0);
    assert_eq!(upgraded(&table, "Football", "3").await?.version, 2, "and only once");
    assert_eq!(upgrade_all(&table).await?, 4);
    let rows = table.query::<BlogV2>().collect().await?;
    assert!(rows.len() == 5 && rows.iter().all(|blog| blog.version == 2 && blog.language.is_empty()));
    assert_eq!(
        table.query::<Dynamic>().filter(prop("Rating").ge(0)).count().await?,
        0,
        "the old property is gone"
    );
    let mut with_language = rows[0].clone();
    with_language.language = "en".into();
    table.update(&with_language).await?;
    // A reader that does not know the property ignores it.
    assert_eq!(table.get::<BlogText>("Football", "0").await?.value.text, "old");
    table.delete().await
}

#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct BlogText {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    posted: String,
    text: String,
}

/// On access: reading an entity of the old version upgrades it.
async fn upgraded(table: &Table, channel: &str, posted: &str) -> Result<BlogV2> {
    if !table.get::<Dynamic>(channel, posted).await?.value.props.contains("Version") {
        table.modify(channel, posted, upgrade).await?;
    }
    Ok(table.get::<BlogV2>(channel, posted).await?.value)
}

/// In the background: upgrades every entity of the old version, one by one. Returns their number.
async fn upgrade_all(table: &Table) -> Result<usize> {
    let mut old = table.query::<Dynamic>().filter_local(|row| !row.props.contains("Version")).stream();
    let mut count = 0;
    while let Some(row) = old.try_next().await? {
        table.modify(row.partition_key, row.row_key, upgrade).await?;
        count += 1;
    }
    Ok(count)
}

/// One entity. Replacing it removes a property; an entity that another program has changed meanwhile is left alone.
fn upgrade(blog: &mut Dynamic) -> Result<()> {
    if let Some(rating) = blog.get::<i32>("Rating")? {
        blog.set("Rating2", f64::from(rating))?.set("Rating", None::<i32>)?.set("Version", 2)?;
    }
    Ok(())
}

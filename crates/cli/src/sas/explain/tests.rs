//! Explanations of tokens, and of the reasons why a token would be rejected.

use super::*;

fn key() -> AccountKey {
    AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()
}

fn explained(query: &str, key: Option<&AccountKey>) -> Explanation {
    explained_for(query, Some("shop"), key)
}

fn explained_for(query: &str, account: Option<&str>, key: Option<&AccountKey>) -> Explanation {
    let token = Token::parse(Query(query)).unwrap();
    explain(&token, account, key, DateTime::parse("2026-06-15T12:00:00Z").unwrap())
}

proptest::proptest! {
    /// Any string is explained.
    #[test]
    fn any_token_is_explained(query in "((sv|tn|sp|st|se|si|ss|srt|sip|spr|spk|srk|epk|erk|ses|x)=[-a-z0-9:,.+%éZ]{0,9}&){0,9}") {
        explained(&format!("{query}sig=x"), Some(&key()));
    }
}

#[track_caller]
fn check(query: &str, lines: &[(&str, &str)], problems: &[&str]) {
    let found = explained(&format!("{query}&sig=x"), None);
    for line in lines {
        let holds = found.lines.iter().any(|(topic, text)| (*topic, text.as_str()) == *line);
        assert!(holds, "{query}: {line:?} in {found:?}");
    }
    assert_eq!(found.problems.len(), problems.len(), "{query}: {found:?}");
    for (found, expected) in found.problems.iter().zip(problems) {
        assert!(found.contains(expected), "{query}: {found}");
    }
}

#[test]
fn tables() {
    check(
        "sv=2019-02-02&tn=people&sp=rau&se=2026-06-16T13:00:00Z&spk=a&srk=1&epk=b&spr=https&sip=10.0.0.1",
        &[
            ("for", "the entities of table 'people' in account 'shop'"),
            ("allows", "query, insert, update and merge, insert-or-replace and insert-or-merge"),
            ("only", "from partition 'a', row '1' to partition 'b'"),
            ("ends", "2026-06-16T13:00:00Z, in 1d 1h"),
            ("from", "address 10.0.0.1"),
            ("by", "https only"),
            ("signature", "not checked: pass the account's key with --key"),
        ],
        &[],
    );
    check(
        "sv=2019-02-02&tn=people&si=readers",
        &[("allows", "as the policy states"), ("ends", "as the policy states")],
        &[],
    );
    check("sv=2019-02-02&tn=people&sp=d&se=2099-01-01&epk=b", &[("only", "up to partition 'b'")], &[]);
    check("sv=2019-02-02&tn=people&sp=d&se=2099-01-01&spk=b", &[("only", "from partition 'b' on")], &[]);
}

#[test]
fn accounts() {
    check(
        "sv=2020-12-06&ss=bt&srt=sco&sp=rwl&se=2099-01-01",
        &[
            ("service", "read properties and stats, set properties"),
            ("tables", "list, create"),
            ("entities", "query"),
        ],
        &[],
    );
    check("sv=2019-02-02&ss=t&srt=c&sp=r&se=2099-01-01", &[("tables", "nothing")], &[]);
}

/// All reasons why a token would be rejected are listed at once.
#[test]
fn problems() {
    let table = "sv=2019-02-02&tn=people&";
    for (query, problems) in [
        ("sv=soon&tn=people", &["is not a version"][..]),
        ("sv=2011-08-18&tn=people", &["no signatures for tables"]),
        ("sv=2014-02-14&ss=t&srt=o", &["no signatures for accounts"]),
        ("sv=2019-02-02", &["neither for a table"]),
        ("sv=2019-02-02&tn=a&ss=t", &["at once"]),
        (&format!("{table}sp=r"), &["neither an expiry time"]),
        (&format!("{table}se=2099-01-01"), &["allows nothing"]),
        (&format!("{table}sp=rw&se=2099-01-01"), &["letters other"]),
        (&format!("{table}sp=r&se=2026-06-15T11:00Z"), &["it expired 1h ago"]),
        (&format!("{table}sp=r&st=2026-06-15T12:00:30Z&se=2099-01-01"), &["it starts in 30s"]),
        (&format!("{table}sp=r&se=later"), &["se='later' is not a time"]),
        (&format!("{table}sp=r&st=x&se=2099-01-01"), &["st='x' is not a time"]),
        (&format!("{table}sp=r&se=2099-01-01&srk=1"), &["needs its partition key"]),
        (&format!("{table}sp=r&se=2099-01-01&sip=here&spr=http"), &["sip='here'", "spr='http'"]),
        ("sv=2019-02-02&ss=b&srt=x&sp=r&se=2099-01-01", &["not valid for tables", "letters sco"]),
        ("sv=2019-02-02&ss=t&srt=o&se=2099-01-01&si=p", &["letters rwdlacu"]),
        ("sv=2019-02-02&ss=t&srt=o&sp=r&se=2099-01-01&si=p", &["cannot have a stored policy"]),
    ] {
        check(query, &[], problems);
    }
}

#[test]
fn signatures() {
    let mut token = Token::parse(Query("sv=2019-02-02&tn=people&sp=r&se=2099-01-01&sig=")).unwrap();
    token.sign("shop", &key());
    let good = explained(&token.to_query(), Some(&key()));
    assert!(good.problems.is_empty() && good.lines.contains(&("signature", "good".into())), "{good:?}");
    let other = explained(&token.to_query(), Some(&AccountKey::new(b"other")));
    assert_eq!(other.problems.len(), 1, "{other:?}");
    token.sp = "raud".into();
    assert_eq!(explained(&token.to_query(), Some(&key())).problems.len(), 1);
}

/// The key of the development account is public, so its tokens are always checked; without a key, the
/// signatures of other accounts are not judged.
#[test]
fn signatures_of_the_development_account() {
    let mut token = Token::parse(Query("sv=2019-02-02&tn=people&sp=r&se=2099-01-01&sig=")).unwrap();
    token.sign(DEVELOPMENT_ACCOUNT, &key());
    let good = token.to_query();
    let bad = good.replace("sp=r", "sp=raud");
    for (query, account, signature, owner, problems) in [
        (&good, Some(DEVELOPMENT_ACCOUNT), "good", "'devstoreaccount1'", 0),
        (&good, None, "good", "'devstoreaccount1'", 0),
        (&good, Some("shop"), "not checked: pass", "'shop'", 0),
        (&bad, Some(DEVELOPMENT_ACCOUNT), "", "'devstoreaccount1'", 1),
        (&bad, None, "not checked: the development account did not sign it", "does not name", 0),
    ] {
        let found = explained_for(query, account, None);
        let line = |topic: &str| {
            found.lines.iter().find(|(name, _)| *name == topic).map_or("", |(_, text)| text.as_str())
        };
        assert!(line("signature").starts_with(signature), "{account:?}: {found:?}");
        assert!(line("for").contains(owner), "{account:?}: {found:?}");
        assert_eq!(found.problems.len(), problems, "{account:?}: {found:?}");
    }
}

#[test]
fn accounts_in_addresses() {
    for (address, account) in [
        ("http://127.0.0.1:10002/shop/people", Some("shop")),
        ("http://127.0.0.1:10002/shop-secondary/people", Some("shop")),
        ("https://shop.table.core.windows.net/people", Some("shop")),
        ("https://127.0.0.1", None),
        ("people", None),
    ] {
        assert_eq!(account_of(address).as_deref(), account, "{address}");
    }
}

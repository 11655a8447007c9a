//! Cross-origin resource sharing: which web pages may call the service, by the rules of the account.
//!
//! Rules are tried in order. The first one that matches the origin and the verb applies: if it does not allow a
//! header that the page wants to send, later rules are not considered.

use lazuli_model::error::Origin;
use lazuli_model::properties::CorsRule;
use lazuli_model::{ErrorCode, Failure};

use crate::Head;
use crate::http::response::{Response, ResponseField};

/// The response to a browser that asks whether a page may make a request.
pub fn preflight(head: &Head<'_>, rules: &[CorsRule]) -> Result<Response, Failure> {
    let origin = head.get_filled("origin");
    let method = head.get_filled("access-control-request-method");
    let (Some(origin), Some(method)) = (origin, method) else {
        let text = "A required CORS header is not present.";
        return Err(Failure::new(ErrorCode::InvalidHeaderValue, text).found_in(Origin::FrontEnd));
    };
    let wanted = head.get_filled("access-control-request-headers");
    let rule = rule_for(rules, origin, method).filter(|rule| {
        let names = wanted.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
        names.into_iter().all(|name| lists(&rule.allowed_headers, name))
    });
    let Some(rule) = rule else {
        return Err(Failure::from(ErrorCode::CorsPreflightFailure).found_in(Origin::FrontEnd));
    };
    Ok(Response::new(200)
        .with("Access-Control-Allow-Origin", allowed_origin(rule, origin).to_owned())
        .with("Access-Control-Allow-Methods", method.to_owned())
        .with_some("Access-Control-Allow-Headers", wanted.map(str::to_owned))
        .with("Access-Control-Max-Age", rule.max_age_seconds.to_string())
        .with("Access-Control-Allow-Credentials", "true"))
}

/// The header fields that the rules add to a response. `response` must have all its other headers.
pub fn fields(head: &Head<'_>, rules: &[CorsRule], response: &Response) -> Vec<ResponseField> {
    if rules.is_empty() {
        return Vec::new();
    }
    let reads = matches!(head.method, "GET" | "HEAD");
    let origin = head.get_filled("origin");
    let rule = match origin {
        Some(origin) => rule_for(rules, origin, head.method),
        // The response may be cached and used for another page, so it states whether all origins are allowed.
        None if reads => rules.iter().find(|rule| is_for_all(rule) && is_for_method(rule, head.method)),
        None => None,
    };
    let mut out: Vec<ResponseField> = Vec::new();
    if let Some(rule) = rule {
        let allowed = allowed_origin(rule, origin.unwrap_or("*"));
        out.push(("Access-Control-Allow-Origin".into(), allowed.to_owned().into()));
        let exposed = exposed(rule, response);
        if !exposed.is_empty() {
            out.push(("Access-Control-Expose-Headers".into(), exposed.into()));
        }
        if allowed != "*" {
            out.push(("Access-Control-Allow-Credentials".into(), "true".into()));
        }
    }
    let depends = match rule {
        Some(rule) => !is_for_all(rule),
        None => !rules.iter().any(is_for_all),
    };
    if reads && depends {
        out.push(("Vary".into(), "Origin".into()));
    }
    out
}

/// Does a rule allow requests from this origin with this verb?
pub fn allows(method: &str, origin: &str, rules: &[CorsRule]) -> bool {
    rule_for(rules, origin, method).is_some()
}

fn rule_for<'r>(rules: &'r [CorsRule], origin: &str, method: &str) -> Option<&'r CorsRule> {
    rules.iter().find(|rule| {
        rule.origins.iter().any(|allowed| is_origin(allowed, origin)) && is_for_method(rule, method)
    })
}

fn is_for_all(rule: &CorsRule) -> bool {
    rule.origins.iter().any(|origin| origin == "*")
}

fn is_for_method(rule: &CorsRule, method: &str) -> bool {
    rule.methods.iter().any(|allowed| allowed == method)
}

/// Exact, `*`, or a wildcard for sub-domains: `http://*.contoso.com`.
fn is_origin(allowed: &str, origin: &str) -> bool {
    if allowed == "*" || allowed == origin {
        return true;
    }
    let Some((scheme, domain)) = allowed.split_once("://*.") else { return false };
    let label = origin
        .strip_prefix(scheme)
        .and_then(|rest| rest.strip_prefix("://"))
        .and_then(|host| host.strip_suffix(domain))
        .and_then(|label| label.strip_suffix('.'));
    label.is_some_and(|label| !label.is_empty() && !label.contains(['/', ':', '@']))
}

fn allowed_origin<'a>(rule: &CorsRule, origin: &'a str) -> &'a str {
    if is_for_all(rule) { "*" } else { origin }
}

/// Is the header in the list, exactly or by a prefix with `*`?
fn lists(names: &[String], header: &str) -> bool {
    names.iter().any(|name| match name.strip_suffix('*') {
        Some(prefix) => header.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix)),
        None => name.eq_ignore_ascii_case(header),
    })
}

fn exposed(rule: &CorsRule, response: &Response) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in &response.fields {
        if lists(&rule.exposed_headers, name) && !names.contains(&name.as_ref()) {
            names.push(name);
        }
    }
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field as Sent;

    fn texts(list: &str) -> Vec<String> {
        list.split(' ').filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }

    fn rule(origins: &str, methods: &str, allowed: &str, exposed: &str) -> CorsRule {
        CorsRule {
            origins: texts(origins),
            methods: texts(methods),
            allowed_headers: texts(allowed),
            exposed_headers: texts(exposed),
            max_age_seconds: 60,
        }
    }

    fn rules() -> Vec<CorsRule> {
        vec![
            rule(
                "http://a.example https://*.b.example",
                "GET PUT",
                "x-ms-meta-one x-ms-client*",
                "x-ms-* ETag",
            ),
            rule("http://a.example", "POST GET", "*", ""),
            rule("http://c.example", "DELETE", "", "*"),
        ]
    }

    #[track_caller]
    fn check(origin: &str, method: &str, headers: &str, allowed: bool) {
        let mut sent = vec![
            Sent { name: "Origin", value: origin },
            Sent { name: "Access-Control-Request-Method", value: method },
        ];
        if !headers.is_empty() {
            sent.push(Sent { name: "Access-Control-Request-Headers", value: headers });
        }
        let head = Head { method: "OPTIONS", target: "/", fields: &sent };
        let response = preflight(&head, &rules());
        assert_eq!(response.is_ok(), allowed, "{origin} {method} {headers}");
        match response {
            Ok(response) => {
                assert_eq!(response.get("Access-Control-Allow-Origin"), Some(origin));
                assert_eq!(response.get("Access-Control-Allow-Methods"), Some(method));
                assert_eq!(response.get("Access-Control-Allow-Headers").unwrap_or(""), headers);
                assert_eq!(response.get("Access-Control-Max-Age"), Some("60"));
            }
            Err(failure) => assert_eq!(failure.code, ErrorCode::CorsPreflightFailure),
        }
    }

    #[test]
    fn preflights() {
        check("http://a.example", "GET", "", true);
        check("http://a.example", "PUT", "X-MS-Meta-One, x-ms-client-request-id", true);
        check("http://a.example", "GET", "x-other", false);
        check("http://a.example", "POST", "x-other,authorization", true);
        check("http://a.example", "DELETE", "", false);
        check("http://A.example", "GET", "", false);
        check("https://www.b.example", "GET", "", true);
        check("https://x.y.b.example", "GET", "", true);
        check("https://b.example", "GET", "", false);
        check("https://.b.example", "GET", "", false);
        check("http://www.b.example", "GET", "", false);
        check("https://evil.example/.b.example", "GET", "", false);
        check("https://wwwb.example", "GET", "", false);
        check("http://c.example", "DELETE", "x", false);
    }

    #[test]
    fn a_preflight_needs_origin_and_method() {
        for name in ["Origin", "Access-Control-Request-Method"] {
            let sent = [Sent { name, value: "GET" }];
            let head = Head { method: "OPTIONS", target: "/", fields: &sent };
            assert_eq!(preflight(&head, &rules()).map_err(|f| f.code), Err(ErrorCode::InvalidHeaderValue));
        }
    }

    #[track_caller]
    fn added(rules: &[CorsRule], method: &str, origin: Option<&str>, expected: &[(&str, &str)]) {
        let sent: Vec<Sent<'_>> = origin.iter().map(|value| Sent { name: "Origin", value }).collect();
        let head = Head { method, target: "/", fields: &sent };
        let response =
            Response::new(200).with("Content-Type", "x").with("ETag", "y").with("x-ms-request-id", "z");
        let found = fields(&head, rules, &response);
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        assert_eq!(found, expected, "{method} {origin:?}");
    }

    /// The table in the documentation.
    #[test]
    fn responses() {
        const ORIGIN: &str = "Access-Control-Allow-Origin";
        const EXPOSE: &str = "Access-Control-Expose-Headers";
        const CREDENTIALS: (&str, &str) = ("Access-Control-Allow-Credentials", "true");
        const VARY: (&str, &str) = ("Vary", "Origin");
        let a = "http://a.example";
        added(&[], "GET", Some(a), &[]);
        added(&rules(), "GET", Some(a), &[(ORIGIN, a), (EXPOSE, "ETag,x-ms-request-id"), CREDENTIALS, VARY]);
        added(&rules(), "PUT", Some(a), &[(ORIGIN, a), (EXPOSE, "ETag,x-ms-request-id"), CREDENTIALS]);
        added(&rules(), "POST", Some(a), &[(ORIGIN, a), CREDENTIALS]);
        added(&rules(), "GET", Some("http://z.example"), &[VARY]);
        added(&rules(), "GET", None, &[VARY]);
        added(&rules(), "PUT", None, &[]);
        let mut all = rules();
        all.push(rule("*", "GET", "", "ETag"));
        added(&all, "GET", Some("http://z.example"), &[(ORIGIN, "*"), (EXPOSE, "ETag")]);
        added(&all, "GET", None, &[(ORIGIN, "*"), (EXPOSE, "ETag")]);
        added(&all, "GET", Some(a), &[(ORIGIN, a), (EXPOSE, "ETag,x-ms-request-id"), CREDENTIALS, VARY]);
        added(&all, "DELETE", Some(a), &[]);
    }
}

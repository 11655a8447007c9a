//! Reads entities by link: an `odata.editLink` or `odata.id` of the service, or a query as a URL (LA-17).
//!
//! A link is never sent as received. It is parsed, and the request goes to the account's own endpoint, so that
//! no link can make the client sign a request to another host, or for anything other than entities.

use lazuli_model::EntityKey;
use lazuli_protocol::http::query::Query;
use lazuli_protocol::table::path::{Resource, parse_path};

use super::TableService;
use crate::decode::decode_page;
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::page::{Continuation, PageRequest, PageSource};
use crate::table::{Table, page_call};
use crate::versioned::Versioned;

/// The target of a link.
enum Target {
    Entity(Table, Box<EntityKey>),
    Page(Table, PageRequest),
}

impl TableService {
    /// Reads the entity that a link refers to, if it exists. The link is absolute, or relative to the account like
    /// `odata.editLink`.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::Dynamic;
    /// let people = service.create_table("People").await?;
    /// people.insert(&Dynamic::new("Delft", "Jan")).await?;
    /// let link = "People(PartitionKey='Delft',RowKey='Jan')";
    /// let jan = service.try_get_by_link::<Dynamic>(link).await?.expect("the entity exists");
    /// let whole = format!("{}/{link}", service.endpoint());
    /// assert_eq!(service.try_get_by_link::<Dynamic>(&whole).await?, Some(jan));
    /// // Nothing is sent to another host.
    /// assert!(service.try_get_by_link::<Dynamic>(&format!("http://elsewhere/{link}")).await.is_err());
    /// # Ok(()) })
    /// ```
    pub async fn try_get_by_link<T: Entity>(&self, link: &str) -> Result<Option<Versioned<T>>> {
        match self.target(link)? {
            Target::Entity(table, key) => table.try_get(key.partition.as_str(), key.row.as_str()).await,
            Target::Page(..) => Err(rejected(link, "not a link to an entity")),
        }
    }

    /// Reads the page of entities that a link refers to, and returns the link of the next page. The query of the link may have
    /// `$filter`, `$select`, `$top` and the two continuation parameters; it is not restricted to the kind of `T`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let service = people.service();
    /// let (rows, next) = service.page_by_link::<Person>("People()?$filter=Age%20gt%2030&$top=1").await?;
    /// assert_eq!(rows, [Person::new("Delft", "Ann", 41)]);
    /// let (rows, _) = service.page_by_link::<Person>(&next.expect("there is a next page")).await?;
    /// assert_eq!(rows, [Person::new("Leiden", "Cid", 35)]);
    /// # Ok(()) });
    /// ```
    pub async fn page_by_link<T: Entity>(&self, link: &str) -> Result<(Vec<T>, Option<String>)> {
        let (table, request) = match self.target(link)? {
            Target::Page(table, request) => (table, request),
            Target::Entity(..) => return Err(rejected(link, "it is a link to a single entity")),
        };
        let page = table.page(request.clone()).await?;
        let next = page.continuation.map(|place| {
            page_call(PageRequest { continuation: Some(place), ..request }).url(self.endpoint(), None)
        });
        Ok((decode_page(&page.body)?, next))
    }

    fn target(&self, link: &str) -> Result<Target> {
        let (path, query) = link.split_once('?').unwrap_or((link, ""));
        let path = match path.strip_prefix(self.endpoint().as_str()) {
            Some(rest) => rest.strip_prefix('/'),
            None => Some(path).filter(|path| !path.starts_with('/') && !path.contains("://")),
        };
        let path = path.ok_or_else(|| rejected(link, "it does not belong to this account"))?;
        let resource = parse_path(self.account().name().unwrap_or_default(), &format!("/{path}"))
            .map_err(|error| rejected(link, &error.failure.message))?;
        match resource {
            Resource::Entity(name, key) if query.is_empty() => {
                Ok(Target::Entity(Table::new(self.clone(), name), key))
            }
            Resource::Entities(name) => {
                let request =
                    request(PageRequest::new(name.clone()), query).map_err(|why| rejected(link, &why))?;
                Ok(Target::Page(Table::new(self.clone(), name), request))
            }
            _ => Err(rejected(link, "not a link to entities")),
        }
    }
}

/// The query of a link. Unknown parameters are rejected, since ignoring them would change the result.
fn request(mut request: PageRequest, query: &str) -> std::result::Result<PageRequest, String> {
    let (mut partition, mut row) = (None, None);
    for pair in Query(query).pairs() {
        let (name, value) = pair.ok_or("invalid query")?;
        let value = value.into_owned();
        match &*name {
            "$filter" => request.filter = Some(value),
            "$select" => request.select = value.split(',').map(|name| name.trim().to_owned()).collect(),
            "$top" => request.top = Some(value.parse().map_err(|_| "$top is not a number")?),
            "NextPartitionKey" => partition = Some(value),
            "NextRowKey" => row = Some(value),
            _ => return Err(format!("unknown parameter '{name}'")),
        }
    }
    request.continuation = (partition.is_some() || row.is_some())
        .then(|| Continuation { partition: partition.unwrap_or_default(), row });
    Ok(request)
}

fn rejected(link: &str, why: &str) -> Error {
    // A link may contain a signature, so the query is not shown.
    let shown = link.split('?').next().unwrap_or_default();
    Error::input(format!("invalid link '{shown}': {why}"))
}

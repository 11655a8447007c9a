//! The guitar store of the thesis "LINQ to Azure Tables", chapter 7, complete (GS-01 to GS-07).
//!
//! One table holds products of several kinds. Each has the fixed properties of its kind and any others that it needs.
//! Queries are typed, know which kinds extend others, and show what runs where.
//!
//! Run it with `cargo run -p lazuli-client --example guitar_store [connection string]`.

#![allow(clippy::print_stdout, dead_code, reason = "an example prints, and defines more than it uses")]

use lazuli_client::{Context, Dynamic, Entity, Kinds, Props, Result, TableService, prop, props};

mod shared;

/// Listing 7.1: the properties of all products. The keys are brand and type number.
#[derive(Clone, Debug, Entity)]
#[table(name = "Products", kind = "Product", rename_all = "PascalCase", eq_by_key)]
struct Product {
    #[table(partition_key)]
    brand: String,
    #[table(row_key)]
    type_number: String,
    /// In cents.
    price: i32,
    description: Option<String>,
    category: String,
    #[table(extra)]
    extra: Props,
}

impl Product {
    fn new(brand: &str, type_number: &str, category: &str, price: i32, extra: Props) -> Self {
        let (brand, type_number) = (brand.to_owned(), type_number.to_owned());
        Self { brand, type_number, price, description: None, category: category.to_owned(), extra }
    }
}

/// Listing 7.2: a guitar is a product. It has typed fields, and any other property by name at the same time (LA-01).
#[derive(Clone, Debug, Entity)]
#[table(name = "Products", kind = "Product.Guitar", rename_all = "PascalCase")]
struct Guitar {
    #[table(flatten)]
    product: Product,
    body_shape: String,
    no_of_strings: i32,
    no_of_frets: i32,
    color: String,
}

/// Figure 7.1 has more kinds; this is one of them.
#[derive(Clone, Debug, Entity)]
#[table(name = "Products", kind = "Product.Amplifier", rename_all = "PascalCase")]
struct Amplifier {
    #[table(flatten)]
    product: Product,
    watts: i32,
}

/// Decodes each row as its own kind. The derive compares the stored lineage with constants, so there is no lookup to cache
/// (LA-13).
#[derive(Clone, Debug, Entity)]
#[table(name = "Products")]
enum AnyProduct {
    Product(Product),
    Guitar(Guitar),
    Amplifier(Amplifier),
    #[table(other)]
    Other(Dynamic),
}

/// GS-06: a client with only fixed types needs one class with the properties of every kind.
#[derive(Clone, Debug, Entity)]
#[table(rename_all = "PascalCase")]
struct UnionOfAll {
    #[table(partition_key)]
    brand: String,
    #[table(row_key)]
    type_number: String,
    price: Option<i32>,
    body_shape: Option<String>,
    no_of_strings: Option<i32>,
    no_of_frets: Option<i32>,
    color: Option<String>,
    watts: Option<i32>,
    no_of_speakers: Option<i32>,
    effect_type: Option<String>,
    fretboard: Option<String>,
    // … and more with each new kind of product.
}

fn main() -> Result<()> {
    shared::start(|service| async move { run(&service).await })
}

/// Runs the chapter.
pub async fn run(service: &TableService) -> Result<()> {
    let products = stock_the_shop(service).await?;
    simple_queries(&products).await?;
    advanced_queries(&products).await?;
    every_kind(&products).await?;
    union_class(&products).await?;
    there_and_back(&products).await?;
    products.delete().await
}

/// Listing 7.3: tables and entities are added to a context, and saved in that order.
async fn stock_the_shop(service: &TableService) -> Result<lazuli_client::Table> {
    let mut context = Context::new(service);
    let table = context.create_table(&format!("Products{}", std::process::id()))?;

    let flexible = props! {
        Fretboard: "Ebony", Bridge: "Tune-o-matic", BridgePickup: "Gibson 500T", NeckPickup: "Gibson 496R",
    }?;
    let guitar = Guitar {
        product: Product::new("Gibson", "Gothic V", "Guitar, electric", 160_000, flexible),
        body_shape: "Flying V".into(),
        no_of_strings: 6,
        no_of_frets: 22,
        color: "Black".into(),
    };
    context.add(&table, guitar)?;

    let flexible = props! {
        BridgePickup: "American standard precision bass alnico 5 split single-coil", Bridge: "High mass vintage",
    }?;
    let bass = Guitar {
        product: Product::new(
            "Fender",
            "Precision American Standard Black",
            "Bass, electric",
            120_000,
            flexible,
        ),
        body_shape: "Precision".into(),
        no_of_strings: 4,
        no_of_frets: 20,
        color: "Black".into(),
    };
    context.add(&table, bass)?;

    let effect = Product::new("Boss", "MT2", "Guitar Effect", 9_000, props! { EffectType: "Distortion" }?);
    context.add(&table, effect)?;

    // The figure has amplifiers; listing 7.7 searches for one with two speakers.
    for (number, speakers) in [("Twin Reverb", 2), ("Princeton", 1)] {
        let flexible = props! { NoOfSpeakers: speakers }?;
        let product = Product::new("Fender", number, "Guitar, amplifier", 140_000, flexible);
        context.add(&table, Amplifier { product, watts: 85 })?;
    }
    assert_eq!(context.pending(), 6, "nothing is sent before the save");
    context.save().await.map_err(|failed| lazuli_client::Error::input(failed.to_string()))?;
    Ok(table)
}

fn numbers(products: &[Product]) -> Vec<&str> {
    products.iter().map(|product| product.type_number.as_str()).collect()
}

/// Section 7.4.
async fn simple_queries(products: &lazuli_client::Table) -> Result<()> {
    // Listing 7.4: everything. A schemaless entity has no kind, so nothing is filtered (LA-15).
    let all = products.query::<Dynamic>();
    assert_eq!(all.explain().filter, None);
    assert_eq!(all.count().await?, 5);

    // Listing 7.5: all guitars, as a range of the lineage.
    let guitars = products.query::<Guitar>();
    assert_eq!(
        guitars.explain().filter.as_deref(),
        Some("_Type ge 'Entity/Product/Guitar/' and _Type lt 'Entity/Product/Guitar0'")
    );
    let guitars = guitars.collect().await?;
    assert_eq!(guitars.len(), 2);
    assert!(
        guitars.iter().all(|guitar| guitar.product.extra.contains("Bridge")),
        "fixed and flexible properties"
    );

    // Listing 7.6: cheaper than 100 euros. A query for `Product` also finds the kinds that extend it.
    let cheap = products.query::<Product>().filter(Product::price().lt(10_000)).collect().await?;
    assert_eq!(numbers(&cheap), ["MT2"]);
    assert_eq!(products.query::<Product>().count().await?, 5);

    // Listing 7.7: a flexible property, by name.
    let speakers = products.query::<Amplifier>().filter(prop("NoOfSpeakers").eq(2));
    let two = speakers.collect().await?;
    assert_eq!(
        two.iter().map(|amplifier| &*amplifier.product.type_number).collect::<Vec<_>>(),
        ["Twin Reverb"]
    );
    // Compared with another type, it finds nothing and is not an error (LA-29).
    assert_eq!(products.query::<Amplifier>().filter(prop("NoOfSpeakers").eq("2")).count().await?, 0);
    Ok(())
}

/// Section 7.5.
async fn advanced_queries(products: &lazuli_client::Table) -> Result<()> {
    // Listing 7.8: all basses, by a prefix of the category; written in two ways.
    let basses = Product::category().ge("Bass") & Product::category().lt("Bast");
    assert_eq!(basses, Product::category().starts_with("Bass"));
    let basses = products.query::<Product>().filter(basses).collect().await?;
    assert_eq!(numbers(&basses), ["Precision American Standard Black"]);

    // Listing 7.9: the brands. The service has no `distinct`, so it runs in the client, as the plan shows.
    let brands = products.query::<Product>().map(|product| product.brand).distinct();
    assert_eq!(brands.explain().local, ["map", "distinct"]);
    assert_eq!(brands.collect().await?, ["Boss", "Fender", "Gibson"]);

    // Listing 7.10: by price.
    let by_price = products.query::<Product>().order_by(Product::price()).then_by("RowKey");
    println!("{}", by_price.explain());
    assert_eq!(
        numbers(&by_price.collect().await?),
        ["MT2", "Precision American Standard Black", "Princeton", "Twin Reverb", "Gothic V"]
    );
    // "The amount of data returned could cripple the application": sorting has a limit, and exceeding it is an error.
    let too_many = products.query::<Product>().order_by(Product::price()).local_limit(3).collect().await;
    assert_eq!(too_many.err().map(|error| error.kind()), Some(lazuli_client::ErrorKind::LocalLimit));
    Ok(())
}

/// Each row as its own kind, and unknown kinds unchanged (LA-12, LA-16).
async fn every_kind(products: &lazuli_client::Table) -> Result<()> {
    let pedal =
        Dynamic::new("Dunlop", "Cry Baby").with("_Type", "Entity/Product/Pedal/")?.with("Price", 7_500)?;
    products.insert(&pedal).await?;
    let mut told = Vec::new();
    for product in products.query::<AnyProduct>().collect().await? {
        told.push(match product {
            AnyProduct::Guitar(guitar) => format!("{} strings", guitar.no_of_strings),
            AnyProduct::Amplifier(amplifier) => format!("{} W", amplifier.watts),
            AnyProduct::Product(product) => format!("{} cents", product.price),
            AnyProduct::Other(other) => {
                format!("{} for {:?}", other.kind().unwrap_or("?"), other.get::<i32>("Price")?)
            }
        });
    }
    assert_eq!(
        told,
        ["9000 cents", "Entity/Product/Pedal/ for Some(7500)", "4 strings", "85 W", "85 W", "6 strings"]
    );
    // The same with `Kinds`: each type registers its own function, so no enum has to list all types.
    let kinds = Kinds::new(|other: Dynamic| other.kind().unwrap_or("?").to_owned())
        .with::<Guitar>(|guitar| format!("{} strings", guitar.no_of_strings))
        .with::<Amplifier>(|amplifier| format!("{} W", amplifier.watts));
    let told = products.query::<Dynamic>().map(move |row| kinds.read(row)).collect().await?;
    assert_eq!(told, ["Entity/Product/", "Entity/Product/Pedal/", "4 strings", "85 W", "85 W", "6 strings"]);
    products.delete_entity("Dunlop", "Cry Baby").await
}

/// GS-06: without flexible properties, every property of every kind needs a field, and most are empty.
async fn union_class(products: &lazuli_client::Table) -> Result<()> {
    let all = products.query::<UnionOfAll>().collect().await?;
    let effect = all.iter().find(|product| product.type_number == "MT2");
    assert!(effect.is_some_and(|effect| effect.effect_type.is_some() && effect.no_of_strings.is_none()));
    // And properties without a field are lost: the bridges, among others.
    assert!(UnionOfAll::names().is_some_and(|names| !names.contains(&"Bridge".to_owned())));
    Ok(())
}

/// GS-07: the guitar of listings 4.1 and 4.2, sent and read back.
async fn there_and_back(products: &lazuli_client::Table) -> Result<()> {
    let mut dk2 = Guitar {
        product: Product::new("Jackson", "DK2", "Guitar, electric", 55_000, Props::new()),
        body_shape: "Dinky".into(),
        no_of_strings: 6,
        no_of_frets: 24,
        color: "Transparant Blue".into(),
    };
    dk2.product.description = Some(String::new());
    dk2.product.extra.set("Bridge", "Floyd Rose licenced")?;
    products.insert(&dk2).await?;
    let read = products.get::<Guitar>("Jackson", "DK2").await?;
    assert_eq!(read.value.properties()?, dk2.properties()?);
    assert_eq!(read.value.product, dk2.product, "entities are equal if their keys are");
    Ok(())
}

//! Rows that are decoded by their own kinds without an enum.

use super::*;

/// LA-12, LA-13, LA-16: a row that was read as the general entity is decoded by its own kind, from an
/// extensible list of types; an unknown or unsuitable row stays unchanged.
#[test]
fn kinds_are_distinguished_without_an_enum() {
    trait Article {
        fn label(&self) -> String;
    }
    impl Article for Product {
        fn label(&self) -> String {
            format!("product for {}", self.price)
        }
    }
    impl Article for Guitar {
        fn label(&self) -> String {
            format!("guitar with {} strings", self.no_of_strings)
        }
    }
    impl Article for Dynamic {
        fn label(&self) -> String {
            format!("{:?} with {} properties", self.kind(), self.props.len())
        }
    }
    let kinds = crate::Kinds::<Box<dyn Article>>::new(|row| Box::new(row))
        .with::<Product>(|product| Box::new(product))
        .with::<Guitar>(|guitar| Box::new(guitar));
    let label = |kind: &str, strings: &str| {
        let body = format!(
            r#"{{"PartitionKey":"Gibson","RowKey":"SG","Price":5,"_Type":"{kind}","NoOfStrings":{strings}}}"#
        );
        kinds.read(decode_entity::<Dynamic>(body.as_bytes()).unwrap()).label()
    };
    assert_eq!(label("Entity/Product/Guitar/", "6"), "guitar with 6 strings");
    assert_eq!(label("Entity/Product/", "6"), "product for 5");
    assert_eq!(label("Entity/Product/Pedal/", "6"), r#"Some("Entity/Product/Pedal/") with 3 properties"#);
    assert_eq!(
        label("Entity/Product/Guitar/", r#""six""#),
        r#"Some("Entity/Product/Guitar/") with 3 properties"#
    );

    let row = decode_entity::<Dynamic>(&encode(&guitar()).unwrap().body).unwrap();
    assert_eq!(row.read_as::<Guitar>().unwrap(), guitar());
    assert_eq!(row.read_as::<Product>().unwrap().price, 5, "every guitar is a product");
    let pedal = Dynamic { props: crate::props! { Price: 5, _Type: "Entity/Product/Pedal/" }.unwrap(), ..row };
    let error = pedal.read_as::<Guitar>().unwrap_err().to_string();
    assert!(error.contains("Entity/Product/Pedal/"), "{error}");
}

//! Parts of entities that keep unknown properties.

use lazuli_client_derive::{Entity, Shape};

use super::round_trip;
use crate::decode::decode_entity;
use crate::{Props, props};

#[derive(Clone, Debug, PartialEq, Shape)]
struct Wheel {
    size: i32,
    #[table(extra)]
    more: Props,
}

#[derive(Clone, Debug, PartialEq, Entity)]
struct Cart {
    #[table(partition_key)]
    maker: String,
    #[table(row_key)]
    number: String,
    #[table(flatten, prefix = "Left_")]
    left: Wheel,
    #[table(flatten, prefix = "Spare_")]
    spare: Option<Wheel>,
    #[table(extra)]
    more: Props,
}

/// LA-02, FW-01: flexible properties with the prefix of a part belong to the part, in any order.
#[test]
fn parts_keep_their_own_flexible_properties() {
    let wheel = Wheel { size: 26, more: props! { Color: "red" }.unwrap() };
    let more = props! { Color: "blue", Leftover: 1 }.unwrap();
    let cart = Cart { maker: "m".into(), number: "1".into(), left: wheel.clone(), spare: Some(wheel), more };
    assert_eq!(round_trip(&cart), cart);
    let body = br#"{"PartitionKey":"m","RowKey":"1","Spare_Color":"red","Left_Color":"red","Left_size":26,
        "Color":"blue","Leftover":1,"Spare_size":26}"#;
    assert_eq!(decode_entity::<Cart>(body).unwrap(), cart);
}

/// A part is present if one of its own properties is present. A property that only has the same prefix is
/// stored elsewhere.
#[test]
fn unknown_properties_do_not_make_a_part_present() {
    let body = br#"{"PartitionKey":"m","RowKey":"1","Spare_Color":"red","Left_size":26}"#;
    let cart: Cart = decode_entity(body).unwrap();
    assert_eq!((&cart.spare, &cart.more), (&None, &props! { Spare_Color: "red" }.unwrap()));
    assert_eq!(round_trip(&cart), cart);
}

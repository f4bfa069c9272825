//! Symmetric windows: which products and layouts have them.

use hcomm_core::operator::Operator;
use hcomm_core::product::Product;
use hcomm_core::shape::{Layout, Shape};

use crate::builders::*;

#[test]
fn products_have_windows_or_not() {
    let mut p = program(Operator::AllGather, 8, 1, 0);
    let layouts = [
        Layout::flat(8).unwrap(),
        Layout::equal(1, 2, 4).unwrap(),
        Layout::equal(2, 1, 4).unwrap(),
        Layout::unequal(&[3, 5]).unwrap(),
    ];
    let mut told = String::new();
    for layout in layouts {
        p.shape = Shape::new(layout);
        for product in Product::ALL {
            p.symmetric = false;
            assert_eq!(product.admits_operations(&p), Ok(()));
            p.symmetric = true;
            let answer = match product.admits_operations(&p) {
                Ok(()) => "yes".to_owned(),
                Err(refused) => format!("{refused}"),
            };
            told += &format!("{layout} on {product}: {answer}\n");
        }
    }
    insta::assert_snapshot!(told);
}

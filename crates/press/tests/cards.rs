//! What makes the record of cards refuses what is no ptxas.

mod press;

use press::refused;

#[test]
fn what_is_no_ptxas_is_refused() {
    refused("cards --ptxas no-such-file", "no-such-file is no ptxas that answers");
}

//! What no level is chosen for, unless it is asked for.

use common::choice::by_tile;
use common::form::Form;
use common::{Dtype, Level, Shape};
use ladder::{level17_fp8_promotion, level19_ping_pong};

#[test]
fn a_level_whose_sums_of_fp8_lose_bits_is_chosen_where_it_is_the_only_one() {
    let shape = Shape { m: 2048, n: 2048, k: 2048 };
    let chosen = |levels: &[&'static Level]| {
        by_tile(levels, 90, 132, &shape, Dtype::E4M3, &Form::PLAIN).map(|build| build.level.number)
    };
    let (keeps, loses) = (&level17_fp8_promotion::LEVEL, &level19_ping_pong::LEVEL);
    assert_eq!(chosen(&[loses, keeps]), Some(17));
    assert_eq!(chosen(&[loses]), Some(19));
}

//! What no level is chosen for, unless it is asked for.

use device::nvrtc::nowhere;
use gemm::form::Form;
use gemm::{Dtype, Level, Shape};
use levels::{level17_fp8_promotion, level19_ping_pong};
use summit::choice::{Chooser, by_tile};
use summit::predict::models;
use summit::tuned::{Best, records};

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

#[test]
fn no_record_makes_it_the_choice_beside_one_that_keeps_them() {
    let shape = Shape { m: 2048, n: 2048, k: 2048 };
    let loses = &level19_ping_pong::LEVEL;
    let build = loses.default_build(Dtype::E4M3);
    let best = Best {
        dtype: Dtype::E4M3,
        m: shape.m,
        n: shape.n,
        k: shape.k,
        level: loses.name.to_string(),
        variant: String::new(),
        tiles: build.configuration.tiles.to_string(),
        ms: 1e-3,
        cublas_ms: None,
    };
    assert_eq!(best.build(loses), Some(build), "what is on record is the level's");
    let mut record = records()[0].clone();
    record.runs.truncate(1);
    record.runs[0].best = vec![best];
    let chooser = Chooser::of(models(), &[record], &[loses, &level17_fp8_promotion::LEVEL], (90, 132), nowhere);
    let chosen = chooser.best(&shape, Dtype::E4M3, &Form::PLAIN).unwrap();
    assert_eq!(chosen.level.number, 17, "{chosen}");
}

//! By how much times differ where B is stored as N × K.

use predict::nearby::{Beyond, Near, Surveyed};
use predict::{ByColumns, Model, Numbers};

use super::judge::Predicted;
use super::{FOLDS, LEAST, Taken, rounded};
use crate::survey::record::{Line, Survey};

/// A time that was measured, and what the numbers of the plain product say of it.
type Both = Option<(f64, f64)>;

/// Gives the model's configurations what a survey of that layout says of them. What it predicts at each shape by the others comes back.
pub fn fit(model: &mut Model, survey: &Survey, taken: &[Taken]) -> Vec<Predicted> {
    let shapes = || survey.lines.iter().map(|line| line.shape);
    let surveyed = |keep: &dyn Fn(usize) -> bool| {
        Surveyed::new(
            survey.dtype,
            shapes().enumerate().filter(|(line, _)| keep(*line)).map(|(_, shape)| shape).collect(),
        )
    };
    let plain: Vec<Near> = shapes().map(|shape| model.near(survey.dtype, &shape, gemm::form::Layout::Rows)).collect();
    let folds: Vec<Vec<Near>> = (0..FOLDS)
        .map(|fold| {
            let others = surveyed(&|line| line % FOLDS != fold);
            shapes().skip(fold).step_by(FOLDS).map(|shape| others.near(&shape)).collect()
        })
        .collect();
    let mut all = Vec::new();
    for one in taken {
        // What nobody has measured with the other layout has numbers of this one.
        let is_new = model.of(&one.build).is_none();
        if is_new {
            let lines: Vec<&Line> = survey.lines.iter().collect();
            let own = one.numbers(model.sms, &lines).map(|numbers| Numbers { beyond: Beyond::default(), ..numbers });
            model.configurations.extend(own);
        }
        let Some(numbers) = model.of(&one.build) else { continue };
        let times = survey.lines.iter().map(|line| line.builds()[one.column].microseconds());
        let predicted = plain.iter().map(|near| numbers.microseconds(&one.build, model.sms, near));
        let both: Vec<Both> = times.zip(predicted).map(|(time, predicted)| Some((time?, predicted))).collect();
        if both.iter().flatten().count() < LEAST {
            continue;
        }
        let name = numbers.name();
        let mut times = vec![None; both.len()];
        for (fold, near) in folds.iter().enumerate() {
            let others = both.iter().enumerate().filter(|(line, _)| line % FOLDS != fold).map(|(_, both)| *both);
            let (factor, beyond) = relative(&others.collect::<Vec<_>>());
            for (line, near) in (fold..both.len()).step_by(FOLDS).zip(near) {
                times[line] = both[line].map(|(_, predicted)| predicted * factor * near.factor(&beyond));
            }
        }
        let crossed = Predicted::new(survey, one.column, times);
        let (factor, beyond) = relative(&both);
        let found = ByColumns { factor, error: rounded(crossed.error), beyond };
        let known = model.configurations.iter_mut().filter(|known| known.name() == name);
        known.for_each(|known| {
            known.by_columns = Some(found.clone());
            if is_new {
                known.error = found.error;
            }
        });
        all.push(crossed);
    }
    model.surveyed_by_columns.push(surveyed(&|_| true));
    all
}

/// The geometric mean of the ratios, and what is left of each.
fn relative(both: &[Both]) -> (f64, Beyond) {
    let logs: Vec<f64> = both.iter().flatten().map(|(time, predicted)| (time / predicted).ln()).collect();
    let factor = rounded((logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp());
    (factor, Beyond::of(both.iter().map(|both| both.map(|(time, predicted)| (time, predicted * factor)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_relative_to_the_mean_of_the_ratios() {
        let both = [Some((20.0, 10.0)), None, Some((5.0, 10.0)), Some((10.0, 10.0))];
        let (factor, beyond) = relative(&both);
        assert_eq!(factor, 1.0);
        assert_eq!(
            beyond,
            Beyond::of([Some((1.5683, 1.0)), None, Some((0.6376, 1.0)), Some((1.0, 1.0))].into_iter()),
            "at most 45 %"
        );
        assert_eq!(relative(&[Some((3.0, 1.5))]).0, 2.0);
    }
}

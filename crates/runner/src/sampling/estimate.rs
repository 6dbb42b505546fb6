//! Estimates a result of the whole run from the measured units, with its 95 % confidence interval.
//!
//! Every result is a ratio of two totals: instructions to cycles, bytes to instructions, latency to misses, one
//! design's time to another's. The estimate is the ratio of the sums over all units. Its variance is computed from the
//! deviations of the units from this ratio (W. Cochran, *Sampling Techniques*, 3rd edition, section 6.4). If both
//! totals vary together, as the times of the same units under two designs do, the deviations and the confidence
//! interval are small. So the comparison of two designs uses matched pairs without a further rule. Like SMARTS, the
//! module treats a regular sample as a random sample.
//!
//! Bursts of traffic make the deviations of units skewed: most samples contain too few bursts, and estimate both the
//! result and its variance too low. The interval of a sample's units therefore follows from the skewness of the
//! deviations (P. Hall, "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54,
//! 1992): it reaches farther to the side of the rare, large deviations, and no less far to the other side.

use serde::Serialize;

/// An estimated value and the ends of its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The estimated value of the ratio.
    pub value: f64,
    /// The lower end of the confidence interval.
    pub low: f64,
    /// The upper end of the confidence interval.
    pub high: f64,
}

impl Estimate {
    /// The estimate of a value that is `factor` times as large; `factor` is not negative.
    #[must_use]
    pub fn times(self, factor: f64) -> Estimate {
        Estimate { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// Half the width of the confidence interval, as a fraction of the value.
    pub fn relative_error(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value
    }
}

/// The ratio of the sum of `above` to the sum of `below`, both by unit. Returns `None` for fewer than two units, and if
/// the sum of `below` is not positive.
pub fn ratio(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let Deviations { count, value, error, .. } = Deviations::of(above, below)?;
    let half = student_97_5(count - 1.0) * error;
    Some(Estimate { value, low: (value - half).max(0.0), high: value + half })
}

/// Like [`ratio`], for the units of a sample, which may contain bursts: each end of the interval is the farther of the
/// ends with and without the skewness of the units.
pub fn ratio_of_units(above: &[f64], below: &[f64]) -> Option<Estimate> {
    let Deviations { count, value, error, skewness } = Deviations::of(above, below)?;
    let quantile = student_97_5(count - 1.0);
    let by_skewness = |quantile: f64| {
        let share = skewness / count.sqrt();
        if share.abs() < 1e-6 {
            return quantile;
        }
        // Hall's cubic transformation, inverted.
        ((1.0 + share * (quantile - share / 6.0)).cbrt() - 1.0) * 3.0 / share
    };
    let low = value - error * by_skewness(quantile).max(quantile);
    let high = value - error * by_skewness(-quantile).min(-quantile);
    Some(Estimate { value, low: low.max(0.0), high })
}

/// A ratio of totals, and the deviations of the units from it.
struct Deviations {
    /// Number of measured units.
    count: f64,
    /// Ratio of the two totals.
    value: f64,
    /// Standard error of the ratio.
    error: f64,
    /// Skewness of the deviations; zero if all are equal.
    skewness: f64,
}

impl Deviations {
    fn of(above: &[f64], below: &[f64]) -> Option<Deviations> {
        let units = above.len().min(below.len());
        let total: f64 = below.iter().sum();
        if units < 2 || total <= 0.0 {
            return None;
        }
        let (count, value) = (units as f64, above.iter().sum::<f64>() / total);
        // The deviations of all units have the sum zero.
        let sum_of =
            |power| above.iter().zip(below).map(|(above, below)| (above - value * below).powi(power)).sum::<f64>();
        let (squares, cubes) = (sum_of(2), sum_of(3));
        let error = (squares / (count - 1.0) / count).sqrt() / (total / count);
        let skewness = if squares > 0.0 { cubes / count / (squares / count).powf(1.5) } else { 0.0 };
        Some(Deviations { count, value, error, skewness })
    }
}

/// The 97.5 % quantile of Student's distribution with `freedom` degrees of freedom: exact for one and two, otherwise
/// the expansion around the normal distribution (Abramowitz and Stegun, 26.7.5).
fn student_97_5(freedom: f64) -> f64 {
    const Z: f64 = 1.959_963_984_540_054;
    if freedom < 1.5 {
        return 12.706;
    }
    if freedom < 2.5 {
        return 4.303;
    }
    let (z3, z5, z7, z9) = (Z.powi(3), Z.powi(5), Z.powi(7), Z.powi(9));
    Z + (z3 + Z) / 4.0 / freedom
        + (5.0 * z5 + 16.0 * z3 + 3.0 * Z) / 96.0 / freedom.powi(2)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * Z) / 384.0 / freedom.powi(3)
        + (79.0 * z9 + 776.0 * z7 + 1482.0 * z5 - 1920.0 * z3 - 945.0 * Z) / 92_160.0 / freedom.powi(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::random::Random;

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)]
        {
            let found = student_97_5(f64::from(freedom));
            assert!((found - expected).abs() < 0.005 * expected, "{freedom}: {found}, not {expected}");
        }
    }

    #[test]
    fn the_confidence_interval_of_a_mean_equals_the_textbook_formula() {
        let ones = [1.0; 5];
        let Estimate { value, low, high } = ratio(&[1.0, 2.0, 3.0, 4.0, 5.0], &ones).unwrap();
        // Mean 3, variance 2.5, standard error sqrt(0.5), quantile for four degrees of freedom 2.776.
        assert_eq!(value, 3.0);
        assert!((high - 3.0 - 2.776 * 0.5f64.sqrt()).abs() < 0.01, "{high}");
        assert!((low + high - 6.0).abs() < 1e-9);
    }

    #[test]
    fn the_ratio_of_correlated_samples_has_a_narrow_confidence_interval() {
        let below: Vec<f64> = (1..100).map(f64::from).collect();
        let above: Vec<f64> = below.iter().map(|below| below * 1.25).collect();
        let matched = ratio(&above, &below).unwrap();
        assert_eq!((matched.value, matched.relative_error() < 1e-9), (1.25, true));
        let unmatched: Vec<f64> = above.iter().rev().copied().collect();
        assert!(ratio(&unmatched, &below).unwrap().relative_error() > 0.1);
    }

    /// Units with rare bursts, like read latency: one unit in twenty is ten times as long. The interval by the normal
    /// distribution misses the true mean of such units two to three times as often as it should.
    #[test]
    fn the_confidence_interval_of_units_with_bursts_contains_the_true_mean() {
        let mut random = Random::new(6);
        let (trials, units) = (2_000, 100);
        let truth = 1.0 + 9.0 / 20.0;
        let mut held = [0; 2];
        for _ in 0..trials {
            let sample: Vec<f64> =
                (0..units).map(|_| if random.below(20) == 0 { 10.0 } else { 0.5 + random.unit() }).collect();
            let ones = vec![1.0; units];
            for (held, found) in held.iter_mut().zip([ratio(&sample, &ones), ratio_of_units(&sample, &ones)]) {
                let found = found.unwrap();
                *held += u32::from(found.low <= truth && truth <= found.high);
            }
        }
        let [normal, by_skewness] = held.map(|held| f64::from(held) * 100.0 / f64::from(trials));
        assert!(by_skewness > normal + 2.0 && by_skewness > 94.0, "{normal} and {by_skewness} %");
    }

    #[test]
    fn the_confidence_interval_of_units_without_skewness_is_that_of_the_normal_distribution() {
        let (above, below) = ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0; 5]);
        let (normal, by_skewness) = (ratio(&above, &below).unwrap(), ratio_of_units(&above, &below).unwrap());
        assert!((normal.low - by_skewness.low).abs() < 1e-9 && (normal.high - by_skewness.high).abs() < 1e-9);
    }

    #[test]
    fn too_few_sampling_units_have_no_confidence_interval() {
        assert_eq!(ratio(&[1.0], &[1.0]), None);
        assert_eq!(ratio(&[1.0, 1.0], &[0.0, 0.0]), None);
    }

    /// Units with a skewed distribution, like cycles: the confidence interval must contain the true mean in about 95 %
    /// of the samples.
    #[test]
    fn the_confidence_interval_contains_the_true_mean_in_95_of_100_samples() {
        let mut random = Random::new(5);
        let population: Vec<f64> = (0..40_000).map(|_| 0.5 - random.unit().ln()).collect();
        let truth = population.iter().sum::<f64>() / population.len() as f64;
        let trials = 2000;
        let held = (0..trials).filter(|_| {
            let sample: Vec<f64> = (0..200).filter_map(|_| random.pick(&population)).collect();
            let found = ratio(&sample, &[1.0; 200]).unwrap();
            found.low <= truth && truth <= found.high
        });
        let percent = held.count() as f64 * 100.0 / f64::from(trials);
        assert!((92.5..=97.5).contains(&percent), "{percent} %");
    }
}

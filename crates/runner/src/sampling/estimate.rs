//! Estimates a result of the whole run from the measured units, with its 95 % confidence interval.
//!
//! Every result is a ratio of two totals: instructions to cycles, bytes to instructions, latency to misses, one
//! design's time to another's. The estimate is the ratio of the sums over all units. Its variance is computed from the
//! deviations of the units from this ratio (W. Cochran, *Sampling Techniques*, 3rd edition, section 6.4). If both
//! totals vary together, as the times of the same units under two designs do, the deviations and the confidence
//! interval are small. So the comparison of two designs uses matched pairs without a further rule. Like SMARTS, the
//! module treats a regular sample as a random sample.

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
    let count = above.len().min(below.len());
    let total: f64 = below.iter().sum();
    if count < 2 || total <= 0.0 {
        return None;
    }
    let value = above.iter().sum::<f64>() / total;
    let squares: f64 = above.iter().zip(below).map(|(above, below)| (above - value * below).powi(2)).sum();
    let freedom = (count - 1) as f64;
    let error = (squares / freedom / count as f64).sqrt() / (total / count as f64);
    let half = student_97_5(freedom) * error;
    Some(Estimate { value, low: (value - half).max(0.0), high: value + half })
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

//! Axes that start where they should and end at a round number.

/// A linear axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct Tick {
    /// Percentage of the axis.
    pub(in crate::report) at: f64,
    pub(in crate::report) label: String,
}

impl Scale {
    /// An axis from at most `low` to at least `high` with about `ticks` round steps.
    pub(super) fn around(low: f64, high: f64, ticks: f64) -> Self {
        let span = if high > low { high - low } else { 1.0 };
        let rough = span / ticks;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|round| round * magnitude)
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * magnitude);
        let low = (low / step + 1e-9).floor() * step;
        let high = (high / step - 1e-9).ceil() * step;
        Self { low, high: if high > low { high } else { low + step }, step }
    }

    /// Where `value` lies, in percent of the axis.
    pub(super) fn at(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low) * 100.0).clamp(0.0, 100.0)
    }

    /// The round values, with `unit` behind each.
    pub(super) fn ticks(&self, unit: &str) -> Vec<Tick> {
        let decimals = if self.step >= 1.0 {
            0
        } else if self.step >= 0.1 {
            1
        } else {
            2
        };
        let mut ticks = Vec::new();
        let mut value = self.low;
        while value <= self.high + self.step * 1e-6 && ticks.len() < 20 {
            ticks.push(Tick { at: self.at(value), label: format!("{value:.decimals$}{unit}") });
            value += self.step;
        }
        ticks
    }
}

//! Samples the rate at which memory serves the requests of a core's L2. If memory serves too few requests of an L2, the
//! L2 leaves all cryptography to the controller (EMCC, MICRO 2022, section IV-F, "Non-memory-intensive Workloads").

use catalogue::OffBelow;

/// Counts for the L2 of one core.
pub struct Intensity {
    below: OffBelow,
    /// Number of the L2's requests at the start of this sample.
    began: u64,
    /// Number of requests of this sample that memory served.
    from_memory: u64,
}

impl Intensity {
    /// Creates the counts of an L2, all zero.
    pub fn new(below: OffBelow) -> Intensity {
        Intensity { below, began: 0, from_memory: 0 }
    }

    /// Counts a request that memory served.
    pub fn served_by_memory(&mut self) {
        self.from_memory += 1;
    }

    /// Ends the sample if it is complete at this number of requests of the L2, and begins the next. Returns true if the
    /// L2 must decrypt and verify its reads from now on, and false if the controller must. Returns `None` if the sample
    /// is incomplete.
    pub fn sampled(&mut self, requests: u64) -> Option<bool> {
        let sample = requests.saturating_sub(self.began);
        if sample < self.below.sample {
            return None;
        }
        let enough = self.from_memory * 1000 >= self.below.per_thousand_requests * sample;
        (self.began, self.from_memory) = (requests, 0);
        Some(enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_l2_stops_decrypting_below_a_sampled_rate_of_memory_requests_and_resumes_at_it() {
        let mut intensity = Intensity::new(OffBelow { per_thousand_requests: 20, sample: 100 });
        let mut sample = |requests, from_memory| {
            (0..from_memory).for_each(|_| intensity.served_by_memory());
            intensity.sampled(requests)
        };
        assert_eq!(sample(99, 2), None);
        assert_eq!(sample(101, 0), Some(false), "2 of 101 are less than 20 of 1000");
        assert_eq!(sample(150, 4), None);
        assert_eq!(sample(301, 0), Some(true), "4 of 200");
        assert_eq!(sample(401, 0), Some(false));
    }
}

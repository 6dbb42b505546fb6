//! The on-chip network between cores and the last-level cache.
//!
//! Without a network configuration, all paths to the last-level cache have the same length. The last-level cache of a
//! server is divided into slices, one on each tile of a mesh, and a hash of a line's address selects its slice. The
//! latency of a hit then depends on the number of hops between core and slice. A [`NocConfig`] contains the mesh and
//! the time of a hop in each direction. The paths have a common part: half of the mean hit latency in the machine file
//! without the slice's look-up, minus the mean latency of the hops. So the mean hit latency equals the value in the
//! machine file, and the hops determine the differences between the slices.
//!
//! Each tile has one link for lines into the mesh and one out of it. Each link carries a line in a given time.
//! Requests, which are short, and write-backs do not wait for links. A link carries lines in the order of their arrival
//! at the link, independent of the order in which they were sent. So the model books the core's link only at the start
//! of the last stretch of a path, which is as long as the shortest path.

use serde::{Deserialize, Serialize};
use sim::Clock;
use std::cell::RefCell;
use units::random::mix;
use units::{Duration, LineAddr, Time};

/// A mesh of tiles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NocConfig {
    /// Number of tiles per row.
    pub columns: usize,
    /// Number of rows of tiles.
    pub rows: usize,
    /// Latency from a tile to the next one in its row, in nanoseconds.
    pub column_hop_ns: f64,
    /// Latency from a tile to the one above or below, in nanoseconds.
    pub row_hop_ns: f64,
    /// The tiles of the cores, counted row by row from zero.
    pub core_tiles: Vec<usize>,
    /// Look-up latency of a slice, in nanoseconds: the part of the last-level cache's latency outside the network.
    pub lookup_ns: f64,
    /// Time for which a line occupies a link, in nanoseconds; zero for links without a limit.
    pub line_ns: f64,
}

impl NocConfig {
    fn tiles(&self) -> usize {
        self.columns * self.rows
    }

    /// Returns the latency of the hops from one tile to another, in nanoseconds.
    fn hops(&self, from: usize, to: usize) -> f64 {
        let across = (from % self.columns).abs_diff(to % self.columns);
        let along = (from / self.columns).abs_diff(to / self.columns);
        across as f64 * self.column_hop_ns + along as f64 * self.row_hop_ns
    }

    /// Returns the mean latency of the hops from a core to a slice, in nanoseconds.
    fn mean_hops(&self) -> f64 {
        let pairs = self.core_tiles.iter().flat_map(|core| (0..self.tiles()).map(|tile| self.hops(*core, tile)));
        pairs.sum::<f64>() / (self.core_tiles.len() * self.tiles()) as f64
    }

    /// Returns the common part of all paths, in nanoseconds, for a mean hit latency of `latency_ns`.
    fn common_ns(&self, latency_ns: f64) -> f64 {
        (latency_ns - self.lookup_ns) / 2.0 - self.mean_hops()
    }

    /// Checks the mesh in front of a last-level cache with this mean latency.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check(&self, cores: usize, latency_ns: f64) -> Result<(), String> {
        let tiles = self.tiles();
        if tiles == 0 {
            return Err(format!("noc.columns is {} and noc.rows is {}: at least 1 each", self.columns, self.rows));
        }
        let times = [
            ("column_hop_ns", self.column_hop_ns),
            ("row_hop_ns", self.row_hop_ns),
            ("lookup_ns", self.lookup_ns),
            ("line_ns", self.line_ns),
        ];
        if let Some((key, value)) = times.into_iter().find(|(_, value)| !(0.0..1e6).contains(value)) {
            return Err(format!("noc.{key} is {value}: expected 0 to 1000000"));
        }
        if self.core_tiles.len() != cores {
            return Err(format!(
                "noc.core_tiles names {} tiles: expected one for each of {cores} cores",
                self.core_tiles.len()
            ));
        }
        if let Some(tile) = self.core_tiles.iter().find(|tile| **tile >= tiles) {
            return Err(format!("noc.core_tiles has {tile}: expected 0 to {}, for there are {tiles} tiles", tiles - 1));
        }
        if self.common_ns(latency_ns) < 0.0 {
            let hops = 2.0 * self.mean_hops();
            return Err(format!("llc.latency_ns is {latency_ns}, less than its mean hops of {hops} and noc.lookup_ns"));
        }
        Ok(())
    }
}

/// Times from which each link is free.
struct Links {
    line: Duration,
    slices: Box<[Time]>,
    cores: Box<[Time]>,
}

/// The paths between cores and slices.
pub struct Network {
    slices: usize,
    /// Latency in one direction, by core and slice.
    ways: Box<[Duration]>,
    /// The shortest of these latencies.
    shortest: Duration,
    lookup: Duration,
    links: Option<RefCell<Links>>,
}

impl Network {
    /// Creates a network with one slice at the same distance from every core. A single core is not synchronised with
    /// other cores, so its look-up accounts for the whole latency. With several cores, half of the latency is before
    /// the look-up and half after it.
    pub fn uniform(latency_ns: f64, cores: usize) -> Network {
        let latency = Duration::from_ns_f64(latency_ns);
        let way = if cores == 1 { Duration::ZERO } else { Duration::from_ns_f64(latency_ns / 2.0) };
        let lookup = Duration::from_fs(latency.as_fs() - 2 * way.as_fs());
        Network { slices: 1, ways: vec![way; cores].into(), shortest: way, lookup, links: None }
    }

    /// Creates a mesh that [checks](NocConfig::check), with this mean hit latency.
    pub fn mesh(config: &NocConfig, latency_ns: f64) -> Network {
        let common = config.common_ns(latency_ns);
        let from = |core: &usize| {
            let core = *core;
            (0..config.tiles()).map(move |tile| Duration::from_ns_f64(common + config.hops(core, tile)))
        };
        let links = Links {
            line: Duration::from_ns_f64(config.line_ns),
            slices: vec![Time::ZERO; config.tiles()].into(),
            cores: vec![Time::ZERO; config.core_tiles.len()].into(),
        };
        let ways: Box<[Duration]> = config.core_tiles.iter().flat_map(from).collect();
        Network {
            slices: config.tiles(),
            shortest: ways.iter().copied().min().unwrap_or(Duration::ZERO),
            ways,
            lookup: Duration::from_ns_f64(config.lookup_ns),
            links: (config.line_ns > 0.0).then(|| RefCell::new(links)),
        }
    }

    /// Returns the slice of a line.
    pub fn slice(&self, line: LineAddr) -> usize {
        if self.slices == 1 { 0 } else { (mix(line.0) % self.slices as u64) as usize }
    }

    /// Returns the latency from a core to a line's slice, in one direction of the path.
    pub fn way(&self, core: usize, line: LineAddr) -> Duration {
        self.ways[core * self.slices + self.slice(line)]
    }

    /// Returns the latency from a core's L2 miss to the end of the look-up in the slice.
    pub fn request(&self, core: usize, line: LineAddr) -> Duration {
        self.way(core, line) + self.lookup
    }

    /// Returns the latency of the shortest path: an action of a slice affects a core after this latency at the
    /// earliest.
    pub fn shortest(&self) -> Duration {
        self.shortest
    }

    /// Returns true if lines may have to wait for links.
    pub fn has_links(&self) -> bool {
        self.links.is_some()
    }

    /// Sends a line from its slice to a core, at `now`. Returns the time until the last stretch of the line's path
    /// begins, including the wait for the slice's link.
    pub fn to_last_stretch(&self, core: usize, line: LineAddr, now: Time) -> Duration {
        let way = self.way(core, line);
        let Some(links) = &self.links else { return way };
        let links = &mut *links.borrow_mut();
        let slice = &mut links.slices[self.slice(line)];
        let leaves = now.max(*slice);
        *slice = leaves + links.line;
        leaves.since(now) + Duration::from_fs(way.as_fs() - self.shortest.as_fs())
    }

    /// Starts the last stretch of a line's path to a core at `now`, after all lines that arrived at the link earlier.
    /// Returns the wait for the core's link plus the latency of the stretch.
    pub fn last_stretch(&self, core: usize, now: Time) -> Duration {
        let Some(links) = &self.links else { return Duration::ZERO };
        let links = &mut *links.borrow_mut();
        let comes = now + self.shortest;
        let arrives = comes.max(links.cores[core]);
        links.cores[core] = arrives + links.line;
        arrives.since(now)
    }

    /// Carries a line from its slice to the point at which the remaining latency to the core is that of the
    /// [shortest](Network::shortest) path.
    pub async fn carry(&self, clock: &Clock, core: usize, line: LineAddr) {
        clock.sleep(self.to_last_stretch(core, line, clock.now())).await;
        let last = self.last_stretch(core, clock.now());
        clock.sleep(Duration::from_fs(last.as_fs().saturating_sub(self.shortest.as_fs()))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Executor;
    use std::rc::Rc;

    /// Six by five tiles, with hops of two nanoseconds in a row and one in a column, and cores in two corners.
    fn mesh(line_ns: f64) -> NocConfig {
        NocConfig {
            columns: 6,
            rows: 5,
            column_hop_ns: 2.0,
            row_hop_ns: 1.0,
            core_tiles: vec![0, 29],
            lookup_ns: 4.0,
            line_ns,
        }
    }

    fn lines_of_slice(network: &Network, slice: usize) -> impl Iterator<Item = LineAddr> {
        (0..).map(LineAddr).filter(move |line| network.slice(*line) == slice)
    }

    fn hit(network: &Network, core: usize, line: LineAddr) -> f64 {
        let latency = network.request(core, line) + network.way(core, line);
        latency.as_fs() as f64 / 1e6
    }

    #[test]
    fn the_mesh_latency_grows_by_one_hop_per_tile_with_the_configured_mean() {
        let network = Network::mesh(&mesh(0.0), 40.0);
        let way = |slice| network.way(0, lines_of_slice(&network, slice).next().unwrap()).as_fs();
        assert_eq!((way(1) - way(0), way(5) - way(4)), (2_000_000, 2_000_000));
        assert_eq!((way(6) - way(0), way(29) - way(23)), (1_000_000, 1_000_000));
        let hits: Vec<f64> =
            (0..60).map(|n| hit(&network, n / 30, lines_of_slice(&network, n % 30).next().unwrap())).collect();
        assert!((hits.iter().sum::<f64>() / 60.0 - 40.0).abs() < 1e-4);
        let spread = hits.iter().copied().fold(0.0, f64::max) - hits.iter().copied().fold(1e9, f64::min);
        assert!((spread - 2.0 * 14.0).abs() < 1e-4, "five hops of 2 ns and four of 1 ns, both ways");
    }

    #[test]
    fn cache_lines_are_spread_evenly_over_the_llc_slices() {
        let network = Network::mesh(&mesh(0.0), 40.0);
        let mut held = [0; 30];
        (0..30_000).for_each(|line| held[network.slice(LineAddr(line))] += 1);
        assert!(held.iter().all(|held| (850..1150).contains(held)), "{held:?}");
    }

    /// Returns the arrival times of these lines, in picoseconds. Each entry of `sent` contains a core, a line, and the
    /// time at which the line's slice sends the line.
    fn arrivals(network: Network, sent: &[(usize, LineAddr, u64)]) -> Vec<u64> {
        let mut executor = Executor::new();
        let arrived = Rc::new(RefCell::new(vec![0; sent.len()]));
        let network = Rc::new(network);
        for (number, &(core, line, ps)) in sent.iter().enumerate() {
            let (clock, arrived, network) = (executor.clock().clone(), arrived.clone(), network.clone());
            executor.clock().spawn(async move {
                clock.sleep(Duration::from_ps(ps)).await;
                network.carry(&clock, core, line).await;
                arrived.borrow_mut()[number] = (clock.now() + network.shortest()).as_fs() / 1000;
            });
        }
        executor.run();
        arrived.take()
    }

    #[test]
    fn a_mesh_link_is_occupied_for_exactly_the_transfer_time_of_a_line() {
        let network = || Network::mesh(&mesh(3.0), 40.0);
        let near = lines_of_slice(&network(), 0).next().unwrap();
        let way = network().way(1, near).as_fs() / 1000;
        let found = arrivals(network(), &[(0, near, 1000), (1, near, 3999)]);
        assert_eq!(found[1] - 4000, way, "its slice's link is busy for one picosecond more");
        let found = arrivals(network(), &[(0, near, 1000), (1, near, 4000)]);
        assert_eq!(found[1] - 4000, way);
    }

    #[test]
    fn a_mesh_link_carries_lines_in_the_order_of_their_arrival() {
        let network = || Network::mesh(&mesh(3.0), 40.0);
        let [near, far] = [0, 29].map(|slice| lines_of_slice(&network(), slice).next().unwrap());
        let [short, long] = [near, far].map(|line| network().way(0, line).as_fs() / 1000);
        // The line from the far slice is sent first. Without links, it would arrive one nanosecond after the line from
        // the near slice.
        let later = 1000 + long - short - 1000;
        let found = arrivals(network(), &[(0, far, 1000), (0, near, later)]);
        assert_eq!(found, [later + short + 3000, later + short], "the near one waits for nothing");
    }

    #[test]
    fn a_mesh_link_needs_a_thousand_transfer_times_for_a_thousand_lines() {
        for line_ns in [2, 3] {
            let network = Network::mesh(&mesh(line_ns as f64), 40.0);
            let way = network.way(0, lines_of_slice(&network, 29).next().unwrap()).as_fs() / 1000;
            let sent: Vec<_> = lines_of_slice(&network, 29).take(1000).map(|line| (0, line, 0)).collect();
            assert_eq!(arrivals(network, &sent).last(), Some(&(way + line_ns * 999_000)));
        }
    }

    #[test]
    fn an_impossible_mesh_is_refused_with_the_rule() {
        let refused = |change: fn(&mut NocConfig), rule: &str| {
            let mut config = mesh(0.0);
            change(&mut config);
            let error = config.check(2, 40.0).unwrap_err();
            assert!(error.contains(rule), "{error}");
        };
        assert_eq!(mesh(0.0).check(2, 40.0), Ok(()));
        refused(|mesh| mesh.columns = 0, "noc.columns is 0");
        refused(|mesh| mesh.core_tiles = vec![0], "names 1 tiles: expected one for each of 2 cores");
        refused(|mesh| mesh.core_tiles = vec![0, 30], "has 30: expected 0 to 29");
        refused(|mesh| mesh.row_hop_ns = -1.0, "noc.row_hop_ns is -1");
        refused(|mesh| mesh.column_hop_ns = 10.0, "llc.latency_ns is 40, less than");
    }
}

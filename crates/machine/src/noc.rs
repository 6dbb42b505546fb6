//! The network on the chip, between cores and the last-level cache.
//!
//! Without a description of it, every way to the last-level cache is as long as every other. A server's last-level cache
//! is cut into slices, one on each tile of a mesh, and a hash of its address says on which slice a line is; then the
//! latency of a hit depends on how many hops the core is from that slice. A [`NocConfig`] gives the mesh and the time of
//! a hop in each direction; what the ways have in common is what is left of the mean latency that the machine file gives
//! for the last-level cache. So the mean is as measured, and the spread follows from the hops.
//!
//! Each tile has one link for lines into the mesh and one out of it, each of which carries a line in a given time. What
//! asks for lines is short and waits for no link, and nor does what goes down. A link carries lines in the order in which
//! they come to it, whichever was sent first: so the last stretch of a way, as long as the shortest of all, begins with the
//! booking of the core's link.

use serde::{Deserialize, Serialize};
use sim::Clock;
use std::cell::RefCell;
use units::random::mix;
use units::{Duration, LineAddr, Time};

/// A mesh of tiles.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NocConfig {
    /// Tiles side by side.
    pub columns: usize,
    /// Tiles one above the other.
    pub rows: usize,
    /// From a tile to the next one in its row, in nanoseconds.
    pub column_hop_ns: f64,
    /// From a tile to the one above or below, in nanoseconds.
    pub row_hop_ns: f64,
    /// The tiles of the cores, counted row by row from zero.
    pub core_tiles: Vec<usize>,
    /// What a slice takes to look a line up, in nanoseconds: the part of the last-level cache's latency that is no network.
    pub lookup_ns: f64,
    /// How long a line takes a link, in nanoseconds; zero for links without a limit.
    pub line_ns: f64,
}

impl NocConfig {
    fn tiles(&self) -> usize {
        self.columns * self.rows
    }

    /// The hops from one tile to another, in nanoseconds.
    fn hops(&self, from: usize, to: usize) -> f64 {
        let across = (from % self.columns).abs_diff(to % self.columns);
        let along = (from / self.columns).abs_diff(to / self.columns);
        across as f64 * self.column_hop_ns + along as f64 * self.row_hop_ns
    }

    /// The mean of all hops from a core to a slice, in nanoseconds.
    fn mean_hops(&self) -> f64 {
        let pairs = self.core_tiles.iter().flat_map(|core| (0..self.tiles()).map(|tile| self.hops(*core, tile)));
        pairs.sum::<f64>() / (self.core_tiles.len() * self.tiles()) as f64
    }

    /// What all ways have in common, in nanoseconds, if a hit takes `latency_ns` in the mean.
    fn common_ns(&self, latency_ns: f64) -> f64 {
        (latency_ns - self.lookup_ns) / 2.0 - self.mean_hops()
    }

    /// Whether this can be, in front of a last-level cache with this mean latency.
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

/// When each link is free.
struct Links {
    line: Duration,
    slices: Box<[Time]>,
    cores: Box<[Time]>,
}

/// The ways between cores and slices.
pub struct Network {
    slices: usize,
    /// One way, by core and slice.
    ways: Box<[Duration]>,
    /// The shortest of them.
    shortest: Duration,
    lookup: Duration,
    links: Option<RefCell<Links>>,
}

impl Network {
    /// One slice, as far from every core. A core by itself has no other to be in step with, so its look-up is counted
    /// as the last thing; with several, half of the latency is before the look-up and half after it.
    pub fn uniform(latency_ns: f64, cores: usize) -> Network {
        let latency = Duration::from_ns_f64(latency_ns);
        let way = if cores == 1 { Duration::ZERO } else { Duration::from_ns_f64(latency_ns / 2.0) };
        let lookup = Duration::from_fs(latency.as_fs() - 2 * way.as_fs());
        Network { slices: 1, ways: vec![way; cores].into(), shortest: way, lookup, links: None }
    }

    /// A mesh that [checks](NocConfig::check), with this mean latency of a hit.
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

    /// The slice that a line belongs to.
    pub fn slice(&self, line: LineAddr) -> usize {
        if self.slices == 1 { 0 } else { (mix(line.0) % self.slices as u64) as usize }
    }

    /// One way between a core and a line's slice.
    pub fn way(&self, core: usize, line: LineAddr) -> Duration {
        self.ways[core * self.slices + self.slice(line)]
    }

    /// From a core's miss to the end of the slice's look-up.
    pub fn request(&self, core: usize, line: LineAddr) -> Duration {
        self.way(core, line) + self.lookup
    }

    /// The shortest of all ways: what a slice does now reaches no core sooner.
    pub fn shortest(&self) -> Duration {
        self.shortest
    }

    /// Whether lines may have to wait for links.
    pub fn has_links(&self) -> bool {
        self.links.is_some()
    }

    /// A slice has a line for a core, at `now`: how long it takes to the last stretch of its way, the wait for the slice's
    /// link included.
    pub fn to_last_stretch(&self, core: usize, line: LineAddr, now: Time) -> Duration {
        let way = self.way(core, line);
        let Some(links) = &self.links else { return way };
        let links = &mut *links.borrow_mut();
        let slice = &mut links.slices[self.slice(line)];
        let leaves = now.max(*slice);
        *slice = leaves + links.line;
        leaves.since(now) + Duration::from_fs(way.as_fs() - self.shortest.as_fs())
    }

    /// A line begins the last stretch of its way to a core at `now`, after all that come to it before this one: how long it
    /// waits for the core's link, and then takes.
    pub fn last_stretch(&self, core: usize, now: Time) -> Duration {
        let Some(links) = &self.links else { return Duration::ZERO };
        let links = &mut *links.borrow_mut();
        let comes = now + self.shortest;
        let arrives = comes.max(links.cores[core]);
        links.cores[core] = arrives + links.line;
        arrives.since(now)
    }

    /// Carries a line from its slice to the moment from which it takes a core the [shortest](Network::shortest) way.
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

    /// Six by five tiles, as wide as a hop takes one and as high as it takes two nanoseconds, and cores in two corners.
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
    fn a_way_grows_by_one_hop_for_each_tile_and_the_mean_is_as_said() {
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
    fn lines_are_spread_evenly_over_the_slices() {
        let network = Network::mesh(&mesh(0.0), 40.0);
        let mut held = [0; 30];
        (0..30_000).for_each(|line| held[network.slice(LineAddr(line))] += 1);
        assert!(held.iter().all(|held| (850..1150).contains(held)), "{held:?}");
    }

    /// When lines that slices have for cores at these times arrive, in picoseconds, if they are sent in this order.
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
    fn a_link_carries_one_line_in_its_time_and_not_a_moment_sooner() {
        let network = || Network::mesh(&mesh(3.0), 40.0);
        let near = lines_of_slice(&network(), 0).next().unwrap();
        let way = network().way(1, near).as_fs() / 1000;
        let found = arrivals(network(), &[(0, near, 1000), (1, near, 3999)]);
        assert_eq!(found[1] - 4000, way, "its slice's link is busy for one picosecond more");
        let found = arrivals(network(), &[(0, near, 1000), (1, near, 4000)]);
        assert_eq!(found[1] - 4000, way);
    }

    #[test]
    fn a_link_carries_lines_in_the_order_in_which_they_come_to_it() {
        let network = || Network::mesh(&mesh(3.0), 40.0);
        let [near, far] = [0, 29].map(|slice| lines_of_slice(&network(), slice).next().unwrap());
        let [short, long] = [near, far].map(|line| network().way(0, line).as_fs() / 1000);
        // The far one is sent first, and would come one nanosecond after the near one.
        let later = 1000 + long - short - 1000;
        let found = arrivals(network(), &[(0, far, 1000), (0, near, later)]);
        assert_eq!(found, [later + short + 3000, later + short], "the near one waits for nothing");
    }

    #[test]
    fn a_thousand_lines_take_a_link_a_thousand_times_the_time_of_one() {
        for line_ns in [2, 3] {
            let network = Network::mesh(&mesh(line_ns as f64), 40.0);
            let way = network.way(0, lines_of_slice(&network, 29).next().unwrap()).as_fs() / 1000;
            let sent: Vec<_> = lines_of_slice(&network, 29).take(1000).map(|line| (0, line, 0)).collect();
            assert_eq!(arrivals(network, &sent).last(), Some(&(way + line_ns * 999_000)));
        }
    }

    #[test]
    fn a_mesh_that_cannot_be_is_refused_with_the_rule() {
        let refused = |change: fn(&mut NocConfig), rule: &str| {
            let mut config = mesh(0.0);
            change(&mut config);
            let told = config.check(2, 40.0).unwrap_err();
            assert!(told.contains(rule), "{told}");
        };
        assert_eq!(mesh(0.0).check(2, 40.0), Ok(()));
        refused(|mesh| mesh.columns = 0, "noc.columns is 0");
        refused(|mesh| mesh.core_tiles = vec![0], "names 1 tiles: expected one for each of 2 cores");
        refused(|mesh| mesh.core_tiles = vec![0, 30], "has 30: expected 0 to 29");
        refused(|mesh| mesh.row_hop_ns = -1.0, "noc.row_hop_ns is -1");
        refused(|mesh| mesh.column_hop_ns = 10.0, "llc.latency_ns is 40, less than");
    }
}

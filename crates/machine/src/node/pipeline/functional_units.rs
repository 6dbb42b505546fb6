//! Functional units and ports, with their number and latency.

use crate::node::config::{FunctionalUnit, NodeConfig};
use crate::node::pipeline::plan::IssuePlan;
use crate::pool::Pool;
use isa::Class;

fn pool(unit: &FunctionalUnit) -> Pool {
    Pool::new(unit.count, unit.latency_cycles, unit.pipelined)
}

/// All units of one core.
#[derive(Clone, Debug)]
pub(in crate::node) struct UnitPools {
    int_alu: Pool,
    int_mul: Pool,
    int_div: Pool,
    fp_add: Pool,
    fp_mul: Pool,
    fp_div: Pool,
    branch: Pool,
    issue: Option<Pool>,
    completion: Option<Pool>,
    serial_latency: u64,
    pub(in crate::node) load_ports: Pool,
    pub(in crate::node) store_ports: Pool,
}

impl UnitPools {
    pub(in crate::node) fn new(config: &NodeConfig) -> UnitPools {
        let units = &config.units;
        UnitPools {
            int_alu: pool(&units.int_alu),
            int_mul: pool(&units.int_mul),
            int_div: pool(&units.int_div),
            fp_add: pool(&units.fp_add),
            fp_mul: pool(&units.fp_mul),
            fp_div: pool(&units.fp_div),
            branch: pool(&units.branch),
            issue: config.issue_width.map(Pool::ports),
            completion: config.complete_width.map(Pool::ports),
            serial_latency: config.serial_latency_cycles,
            load_ports: Pool::ports(config.load_ports),
            store_ports: Pool::ports(config.store_ports),
        }
    }

    /// Books the work of an instruction with known operands; returns its completion cycle.
    #[inline]
    pub(in crate::node) fn execute(&mut self, plan: &IssuePlan) -> u64 {
        let ready = plan.operands.max(plan.addresses);
        let done = if plan.plain {
            ready
        } else {
            let issued = self.issue(ready);
            self.complete(plan.class, issued)
        };
        self.completion(done.max(plan.stores))
    }

    /// Returns the cycle at which an instruction that is ready at `ready` starts: the limit on all instructions
    /// together, of any class.
    #[inline]
    pub(in crate::node) fn issue(&mut self, ready: u64) -> u64 {
        match &mut self.issue {
            Some(issue) => issue.start(ready),
            None => ready,
        }
    }

    /// Returns the cycle at which an instruction that is done at `done` completes: the limit on all instructions
    /// together, of any class.
    #[inline]
    fn completion(&mut self, done: u64) -> u64 {
        match &mut self.completion {
            Some(completion) => completion.start(done),
            None => done,
        }
    }

    /// Returns the cycle at which work of this class is done if its operands are ready at `ready`.
    #[inline]
    fn complete(&mut self, class: Class, ready: u64) -> u64 {
        let pool = match class {
            Class::Nop => return ready + 1,
            Class::Serial => return ready + self.serial_latency,
            Class::IntAlu => &mut self.int_alu,
            Class::IntMul => &mut self.int_mul,
            Class::IntDiv => &mut self.int_div,
            Class::FpAdd => &mut self.fp_add,
            Class::FpMul => &mut self.fp_mul,
            Class::FpDiv => &mut self.fp_div,
            Class::Branch => &mut self.branch,
        };
        pool.complete(ready)
    }
}

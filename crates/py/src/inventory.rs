//! Lists of the built-in designs, machines, workloads and attacks, and the layout of a design's metadata.

use crate::changes::KeyChanges;
use crate::{from_json, refused, to_json};
use catalogue::{Attack, Design, Loss, Verdict};
use protection::layout::{DataLines, LayoutReport};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::json;
use units::{Bytes, LINE_BYTES};
use workload::kernels::{self, Parameter};

/// The largest memory with a layout: 1 PB.
const MEMORY_MAX: Bytes = Bytes(1 << 50);

/// Layout of a design's data and metadata.
#[derive(Serialize)]
struct Laid {
    design: String,
    #[serde(flatten)]
    report: LayoutReport,
}

/// A design file, with its known weaknesses.
#[derive(Serialize)]
struct Described {
    #[serde(flatten)]
    design: Design,
    weaknesses: Vec<&'static str>,
}

fn describe(design: Design) -> Described {
    let weaknesses = design.parts.weaknesses();
    Described { design, weaknesses }
}

/// Lists all built-in designs.
#[pyfunction]
pub fn designs() -> PyResult<String> {
    to_json(&catalogue::designs().into_iter().map(describe).collect::<Vec<_>>())
}

/// One design, built in or in a file.
#[pyfunction]
pub fn design(name_or_path: &str) -> PyResult<String> {
    to_json(&describe(catalogue::design(name_or_path).map_err(refused)?))
}

/// All built-in machines, with every value.
#[pyfunction]
pub fn machines() -> PyResult<String> {
    to_json(&catalogue::machines())
}

/// All values of a machine or a design, built in or in a file, with the origin of each.
#[pyfunction]
pub fn settings(kind: &str, name_or_path: &str, changes: &str) -> PyResult<String> {
    let changes: KeyChanges = from_json(changes)?;
    let settings = match kind {
        "machine" => catalogue::machine_settings(name_or_path, &changes.of_machine(name_or_path)),
        _ => catalogue::design_settings(name_or_path, &changes.of_design(name_or_path)),
    };
    to_json(&settings.map_err(refused)?)
}

/// Lists all built-in workloads.
#[pyfunction]
pub fn workloads() -> PyResult<String> {
    let describe_parameter = |parameter: &Parameter| {
        json!({
            "name": parameter.name, "accepts": parameter.kind.to_string(), "default": parameter.default,
            "summary": parameter.summary,
        })
    };
    let describe = |kernel: &kernels::KernelInfo| {
        let parameters: Vec<_> = kernel.parameters.iter().map(describe_parameter).collect();
        json!({ "name": kernel.name, "summary": kernel.summary, "parameters": parameters })
    };
    to_json(&kernels::list().iter().map(describe).collect::<Vec<_>>())
}

/// Lists all attacks with their summaries.
#[pyfunction]
pub fn attacks() -> PyResult<String> {
    let describe = |attack: &Attack| {
        let (summary, hypothetical) = (attack.summary(), attack.is_hypothetical());
        json!({ "name": attack.name(), "summary": summary, "hypothetical": hypothetical })
    };
    to_json(&Attack::ALL.iter().map(describe).collect::<Vec<_>>())
}

/// All kinds of losses of power.
#[pyfunction]
pub fn losses() -> PyResult<String> {
    let describe = |loss: &Loss| json!({ "name": loss.name(), "summary": loss.summary() });
    to_json(&Loss::ALL.iter().map(describe).collect::<Vec<_>>())
}

/// All verdicts, from the best for the defender to the worst.
#[pyfunction]
pub fn verdicts() -> PyResult<String> {
    let describe = |verdict: &Verdict| json!({ "name": verdict.name(), "summary": verdict.summary(), "stopped": verdict.is_stopped() });
    to_json(&Verdict::ALL.iter().map(describe).collect::<Vec<_>>())
}

/// The layout of a design's data and metadata, in a memory of the machine's size or of the given size, and the data
/// that the design keeps on the chip.
#[pyfunction]
#[pyo3(signature = (machine, design, memory=None))]
pub fn layout(machine: &str, design: &str, memory: Option<&str>) -> PyResult<String> {
    let machine = catalogue::machine(machine).map_err(refused)?;
    let design = catalogue::design(design).map_err(refused)?;
    let size = memory.map_or(Ok(machine.memory.size), str::parse).map_err(refused)?;
    let length = machine.line_length();
    if size.0 == 0 || !size.0.is_multiple_of(LINE_BYTES as u64) || size > MEMORY_MAX {
        let most = MEMORY_MAX;
        return Err(refused(format!("a memory of {size}: expected whole lines of 64 bytes, at most {most}")));
    }
    let data = DataLines { count: length.lines_in(size), length };
    let report = design.parts.layout_report(data, machine.moving_chip()).map_err(refused)?;
    to_json(&Laid { design: design.name, report })
}

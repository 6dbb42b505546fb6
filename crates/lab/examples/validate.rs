//! Compares the machine with public simulators and prints the table: `validate [brief] [json]`.

use casemate_lab::validate::{Extent, Row, validate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked = |word: &str| std::env::args().any(|argument| argument == word);
    let extent = if asked("brief") { Extent::Brief } else { Extent::Full };
    if asked("json") {
        println!("{}", serde_json::to_string_pretty(&validate(extent, |_| {})?)?);
        return Ok(());
    }
    let report = validate(extent, print)?;
    println!("{}", if report.ok { "all within tolerance" } else { "NOT all within tolerance" });
    Ok(())
}

fn print(row: &Row) {
    let tolerance = row.tolerance_percent.map_or("-".to_owned(), |percent| format!("{percent:.0} %"));
    println!(
        "{:<13} {:<48} {:<44} {:>12.3} {:>12.3} {:>+7.1} % {:>5} {}",
        row.reference,
        row.subject,
        row.quantity,
        row.ours,
        row.theirs,
        row.difference_percent,
        tolerance,
        if row.ok { "ok" } else { "OFF" }
    );
}

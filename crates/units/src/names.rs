//! Suggestions for mistyped names.

/// The most similar name to `name` among `known`, if any is similar enough. Case does not count: data sheets write tRCD.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const SIMILAR: f64 = 0.7;
    let name = name.to_lowercase();
    let similarity = |candidate: &str| strsim::jaro_winkler(&name, &candidate.to_lowercase());
    let scored = known.into_iter().map(|candidate| (similarity(candidate), candidate));
    let (score, best) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score >= SIMILAR).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_name_is_recognised_and_an_unrelated_one_is_not() {
        let known = ["sc64-bmt", "ctr-mac", "none"];
        assert_eq!(nearest("sc64-btm", known), Some("sc64-bmt"));
        assert_eq!(nearest("SC64-BMT", known), Some("sc64-bmt"));
        assert_eq!(nearest("qqqq", known), None);
    }
}

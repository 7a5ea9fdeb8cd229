//! Does the judge accept what is right and reject what is wrong?

use std::collections::HashSet;

use fused_norm_testkit::judge::first_failure;
use fused_norm_testkit::properties::property;
use fused_norm_testkit::teeth::teeth_cases;
use fused_norm_testkit::{Scalar, catalogue, judge, properties, teeth};

#[test]
fn the_right_subject_passes_every_property_on_every_case() {
    let report = judge(&Scalar::right(), &catalogue(), &properties());
    println!("{report}");
    report.assert_passed();
}

#[test]
fn every_wrong_subject_is_rejected_by_the_property_it_names() {
    let cases = teeth_cases();
    let mut survivors = vec![];
    for tooth in teeth() {
        match first_failure(&*tooth.subject, &cases, &property(tooth.rejected_by)) {
            Some(failure) => println!("{:?}\n  {}", tooth.fault, failure.message),
            None => survivors.push(format!("{:?} passes {:?}", tooth.fault, tooth.rejected_by)),
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}

#[test]
fn every_property_rejects_something() {
    let used: HashSet<&str> = teeth().iter().map(|tooth| tooth.rejected_by).collect();
    for property in properties() {
        assert!(
            used.contains(property.name),
            "no tooth shows that {:?} can fail",
            property.name
        );
    }
}

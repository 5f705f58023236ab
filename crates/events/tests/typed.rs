//! A field of another family is a compile error.

#[test]
fn typed_views_have_the_fields_of_their_family_and_no_other() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/own_field.rs");
    cases.compile_fail("tests/ui/other_familys_field.rs");
}

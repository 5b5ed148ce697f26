//! `qlio mock`: files as an upstream for another qlio.

use qlio_testkit::client::{Request, fetch};
use serde_json::json;

use super::{PATIENCE, folder, run, start};

#[test]
fn it_names_its_address_and_serves_its_folder() {
    let folder = folder(&[("canned/s@q=mac.json", "[{\"n\": 1}]")]);
    let mock = start(&["mock", "canned", "--port", "0"], folder.path());
    let answer = fetch(mock.address(), &Request::get("/s?q=mac"), PATIENCE).unwrap();
    assert_eq!(answer.json().unwrap(), json!([{"n": 1}]));
    let script = format!(
        "create table s on select get from '{}/s?q={{q}}'\nreturn select n from s where q = 'mac'",
        mock.url()
    );
    let finished = run(&["run", "-"], folder.path(), &script);
    assert_eq!(finished.stdout.trim(), "[1]", "{}", finished.stderr);
    assert_eq!(mock.stop(PATIENCE).code(), Some(0));
}

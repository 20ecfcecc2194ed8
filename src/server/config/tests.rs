//! Order of force, unknown keys, problems all at once, secrets.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: ConfigArgs,
}

fn flags(flags: &[&str]) -> Layer {
    Cli::try_parse_from([&["handoffd"], flags].concat())
        .unwrap()
        .args
        .layer
}

fn file(text: &str) -> Layer {
    parse(Path::new("handoffd.toml"), text).unwrap()
}

fn laid(over: Layer, file: Layer, plain_url: Option<&str>) -> Config {
    over.over(file, plain_url.map(str::to_owned), Config::default())
}

#[test]
fn flags_outdo_the_file_and_the_file_the_defaults() {
    let file = file("[rules]\nlease = \"90s\"\npair_limit = 5\n");
    let config = laid(flags(&["--lease", "2m"]), file, None);
    assert_eq!(config.rules.lease, Span::seconds(120));
    assert_eq!(config.rules.pair_limit, 5);
    assert_eq!(config.rules.max_reminders, 3);
}

#[test]
fn a_named_database_outdoes_the_plain_url_and_that_the_file() {
    let file = || file("[database]\nurl = \"postgres://file/x\"\n");
    let plain = Some("postgres://plain/x");
    let url = |config: Config| config.database.url.to_string();

    assert_eq!(
        url(laid(Layer::default(), file(), None)),
        "postgres://file/x"
    );
    assert_eq!(
        url(laid(Layer::default(), file(), plain)),
        "postgres://plain/x"
    );
    let flag = flags(&["--database-url", "postgres://flag/x"]);
    assert_eq!(url(laid(flag, file(), plain)), "postgres://flag/x");
    let from_file = laid(flags(&["--database-url-file", "secret"]), file(), plain);
    assert!(from_file.database.url.is_empty());
    assert_eq!(from_file.database.url_file, Path::new("secret"));
}

#[test]
fn an_unknown_key_is_named_and_its_line_is_not_quoted() {
    let path = Path::new("handoffd.toml");
    let text = "[server]\n\n[database]\nuri = \"postgres://me:secret@db/x\"\n";
    let error = parse(path, text).unwrap_err().to_string();
    assert!(
        error.contains("line 4") && error.contains("`uri`"),
        "{error}"
    );
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn all_problems_are_told_at_once() {
    let layer = flags(&[
        "--listen",
        "0.0.0.0:7420",
        "--lease",
        "0s",
        "--log-filter",
        "a=b=c",
    ]);
    let error = laid(layer, Layer::default(), None).check().unwrap_err();
    let ConfigError::Invalid(Problems(problems)) = error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 4, "{problems:?}");
}

#[test]
fn beyond_loopback_only_when_allowed() {
    let url = ["--database-url", "postgres://db/x", "--listen", "[::]:7420"];
    assert!(laid(flags(&url), Layer::default(), None).check().is_err());
    let allowed = [&url[..], &["--allow-unauthenticated"]].concat();
    laid(flags(&allowed), Layer::default(), None)
        .check()
        .unwrap();
}

#[test]
fn what_is_printed_reads_back_and_hides_the_password() {
    let layer = flags(&[
        "--database-url",
        "postgres://me:secret@db/x",
        "--abandon-after",
        "36h",
    ]);
    let config = laid(layer, Layer::default(), None);
    let printed = config.to_toml().unwrap();
    assert!(!printed.contains("secret"), "{printed}");
    let again = laid(Layer::default(), file(&printed), None);
    assert_eq!(again.rules, config.rules);
    assert_eq!(again.server, config.server);
}

#[test]
fn a_url_comes_from_a_file_without_its_line_end() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("url");
    std::fs::write(&secret, "postgres://me:secret@db/x\n").unwrap();
    let args = ConfigArgs {
        config: None,
        layer: flags(&["--database-url-file", secret.to_str().unwrap()]),
    };
    let config = Config::load(args, None, Config::default()).unwrap();
    assert_eq!(config.database.url.expose(), "postgres://me:secret@db/x");
}

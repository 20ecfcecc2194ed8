//! A server that cannot begin says what is in the way, and what to do.

use std::net::TcpListener;
use std::process::Stdio;

use tokio::process::Command;

use crate::support::database::TestDatabase;

/// What `handoffd` says on standard error when it cannot use the database at `url`.
async fn refusal(command: &str, url: &str) -> String {
    let mut run = Command::new(env!("CARGO_BIN_EXE_handoffd"));
    run.args([command, "--database-url", url, "--listen", "127.0.0.1:0"]);
    let ran = run.stdin(Stdio::null()).kill_on_drop(true).output();
    let ran = ran.await.unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(!told.contains("secret"), "{told}");
    assert!(!told.contains("pool"), "{told}");
    told
}

#[tokio::test]
async fn a_database_where_nothing_listens_is_told_with_its_place() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = free.local_addr().unwrap();
    drop(free);
    let url = format!("postgres://me:secret@{place}/handoffd");
    for command in ["serve", "migrate"] {
        let told = refusal(command, &url).await;
        assert!(
            told.contains(&format!("nothing listens on `{place}`")),
            "{told}"
        );
        assert!(told.contains("start PostgreSQL"), "{told}");
    }
}

#[tokio::test]
async fn a_user_that_is_not_let_in_and_a_database_that_is_missing_are_told() {
    let database = TestDatabase::create().await;
    let stranger = database
        .url()
        .replace("://postgres@", "://stranger:secret@");
    assert_ne!(stranger, database.url());
    let told = refusal("serve", &stranger).await;
    assert!(told.contains("does not let user `stranger` in"), "{told}");

    let missing = database.url().replace(database.name(), "missing");
    let told = refusal("serve", &missing).await;
    assert!(
        told.contains("has no database `missing`; create it"),
        "{told}"
    );
}

/// Something that takes connections and is no PostgreSQL.
#[tokio::test]
async fn what_answers_otherwise_than_postgresql_is_told() {
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = other.local_addr().unwrap();
    let answering = async {
        loop {
            let (mut stream, _) = other.accept().await.unwrap();
            let greeting = b"220 mail.example ESMTP\r\n";
            // The peer may be gone already.
            drop(tokio::io::AsyncWriteExt::write_all(&mut stream, greeting).await);
        }
    };
    let url = format!("postgres://me:secret@{place}/handoffd?sslmode=disable");
    let told = tokio::select! {
        told = refusal("serve", &url) => told,
        () = answering => unreachable!("it never ends"),
    };
    assert!(told.contains(&place.to_string()), "{told}");
    assert!(told.contains("check host and port"), "{told}");
}

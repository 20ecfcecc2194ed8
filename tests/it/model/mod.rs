//! Random games against real servers: two of them on one database, runtimes that crash, a clock that
//! jumps, servers that are stopped and started. A reference in plain words plays along, and after each
//! move the public API must say what it says, and `CheckInvariants` must find nothing.
//!
//! A game that fails is made shorter and kept in `regressions.txt`, which is played first each time.
//! `HANDOFFD_MODEL_MINUTES=30 cargo test --test it model::` (`just model 30`) plays on for that long.

mod calls;
mod moves;
mod player;
mod reference;
mod repeats;
mod rules;
mod turns;
mod views;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use crate::support::with_server;
use moves::{Move, moves};
use player::Player;

/// Games, and moves of a game, where nobody asks for more.
const GAMES: u32 = 10;
const MOVES: usize = 60;
const LONG_GAME: usize = 300;

/// Plays one game; what it was is told where it fails.
async fn play(moves: &[Move]) {
    with_server(async |server| {
        let mut player = Player::begin(server).await;
        let game = AssertUnwindSafe(player.play(moves)).catch_unwind().await;
        if let Err(failure) = game {
            let failure = failure
                .downcast_ref::<String>()
                .cloned()
                .unwrap_or_default();
            panic!("{failure}\n\nwhat was played:\n{}", player.story());
        }
    })
    .await;
}

fn run(games: u32, most: usize) {
    let config = Config {
        cases: games,
        max_shrink_iters: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/it/model/regressions.txt",
        ))),
        ..Config::default()
    };
    let game = |moves: Vec<Move>| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(play(&moves));
        Ok(())
    };
    if let Err(failure) = TestRunner::new(config).run(&moves(most), game) {
        panic!("{failure}");
    }
}

#[test]
fn servers_do_what_the_reference_does_whatever_is_played() {
    let minutes = std::env::var("HANDOFFD_MODEL_MINUTES").ok();
    let minutes: u64 = minutes.map_or(0, |minutes| minutes.parse().unwrap());
    let end = Instant::now() + Duration::from_mins(minutes);
    run(GAMES, MOVES);
    while Instant::now() < end {
        run(1, LONG_GAME);
    }
}

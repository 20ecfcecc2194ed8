//! Moves without meaning yet: numbers that are resolved against what there is when they are made, so that
//! any sequence can be played, and a shorter one is as good.

use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Thread,
    Create,
    Send,
    Read,
    Ack,
    Claim,
    Beat,
    Append,
    Finish,
    Release,
    Cancel,
    Agent,
    Advance,
    Leases,
    Quiet,
    Due,
    Crash,
    Restart,
    Repeat,
}

/// How often each is made.
const WEIGHTS: [(u32, Verb); 19] = [
    (1, Verb::Thread),
    (9, Verb::Create),
    (12, Verb::Send),
    (7, Verb::Read),
    (5, Verb::Ack),
    (14, Verb::Claim),
    (4, Verb::Beat),
    (3, Verb::Append),
    (12, Verb::Finish),
    (2, Verb::Release),
    (4, Verb::Cancel),
    (3, Verb::Agent),
    (8, Verb::Advance),
    (5, Verb::Leases),
    (5, Verb::Quiet),
    (3, Verb::Due),
    (1, Verb::Crash),
    (1, Verb::Restart),
    (4, Verb::Repeat),
];

/// One move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move(pub(crate) Verb, pub(crate) [u8; 7]);

pub(crate) fn moves(most: usize) -> impl Strategy<Value = Vec<Move>> {
    let verbs = WEIGHTS
        .into_iter()
        .map(|(weight, verb)| (weight, Just(verb)));
    let verb = prop::strategy::Union::new_weighted(verbs.collect());
    let one = (verb, any::<[u8; 7]>()).prop_map(|(verb, dice)| Move(verb, dice));
    prop::collection::vec(one, 1..most)
}

/// The numbers of a move, each used once.
#[derive(Debug)]
pub(crate) struct Dice {
    faces: [u8; 7],
    next: usize,
}

impl Dice {
    pub(crate) fn new(faces: [u8; 7]) -> Self {
        Self { faces, next: 0 }
    }

    /// A number below `sides`. Zero is what a shrunk move ends at: make it the simplest choice.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        let face = usize::from(self.faces[self.next]);
        self.next = (self.next + 1) % self.faces.len();
        face % sides
    }

    pub(crate) fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.roll(items.len())])
    }
}

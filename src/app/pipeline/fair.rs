//! Who is next: namespaces in turn, each for what its items weigh.
//!
//! Deficit round robin (Shreedhar and Varghese, 1995): with each turn a namespace gets a credit, and
//! spends it on items in the order they came; what it could not spend it keeps, as long as it has
//! items. So one that sends large items gets as much of a lane as one that sends many, and one that
//! sends little waits for one turn of each other at most.

use std::collections::{HashMap, VecDeque};

use crate::domain::ids::Namespace;

/// What an item costs beside its bytes: its share of locks, rows and index entries.
const ITEM_WEIGHT: usize = 2 * 1024;
/// Credit of a turn: a full batch of small items.
const CREDIT: usize = 1024 * 1024;

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) items: usize,
    pub(super) bytes: usize,
}

impl Room {
    fn holds(self, items: usize, bytes: usize) -> bool {
        items < self.items && (items == 0 || bytes <= self.bytes)
    }
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The namespace has too much waiting.
    Namespace,
    /// All together have.
    All,
}

struct Item<T> {
    bytes: usize,
    item: T,
}

struct Tenant<T> {
    items: VecDeque<Item<T>>,
    bytes: usize,
    credit: usize,
}

impl<T> Default for Tenant<T> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            bytes: 0,
            credit: 0,
        }
    }
}

/// See the module.
pub(super) struct Fair<T> {
    tenants: HashMap<Namespace, Tenant<T>>,
    /// Namespaces with items, in the order they are served.
    turn: VecDeque<Namespace>,
    items: usize,
    bytes: usize,
}

impl<T> Default for Fair<T> {
    fn default() -> Self {
        Self {
            tenants: HashMap::new(),
            turn: VecDeque::new(),
            items: 0,
            bytes: 0,
        }
    }
}

impl<T> Fair<T> {
    /// Whether `bytes` more of `namespace` fit into the `own` room of a namespace and that of `all`.
    pub(super) fn has_room(
        &self,
        namespace: &Namespace,
        bytes: usize,
        own: Room,
        all: Room,
    ) -> Result<(), Full> {
        let (items, waiting) = self
            .tenants
            .get(namespace)
            .map_or((0, 0), |tenant| (tenant.items.len(), tenant.bytes));
        if !own.holds(items, waiting + bytes) {
            Err(Full::Namespace)
        } else if !all.holds(self.items, self.bytes + bytes) {
            Err(Full::All)
        } else {
            Ok(())
        }
    }

    /// Adds an item behind the others of its namespace.
    pub(super) fn push_back(&mut self, namespace: &Namespace, bytes: usize, item: T) {
        self.tenant(namespace, bytes)
            .items
            .push_back(Item { bytes, item });
    }

    /// Adds an item before the others of its namespace.
    pub(super) fn push_front(&mut self, namespace: &Namespace, bytes: usize, item: T) {
        self.tenant(namespace, bytes)
            .items
            .push_front(Item { bytes, item });
    }

    fn tenant(&mut self, namespace: &Namespace, bytes: usize) -> &mut Tenant<T> {
        self.items += 1;
        self.bytes += bytes;
        let tenant = self.tenants.entry(namespace.clone()).or_default();
        if tenant.items.is_empty() {
            self.turn.push_back(namespace.clone());
        }
        tenant.bytes += bytes;
        tenant
    }

    /// What goes together next: items of one namespace, `most` and `most_bytes` at most, but at least
    /// one; `None` where nothing waits.
    pub(super) fn take(&mut self, most: usize, most_bytes: usize) -> Option<(Namespace, Vec<T>)> {
        loop {
            let namespace = self.turn.pop_front()?;
            let Some(tenant) = self.tenants.get_mut(&namespace) else {
                continue;
            };
            tenant.credit += CREDIT;
            let (mut taken, mut bytes) = (Vec::new(), 0);
            while taken.len() < most {
                let credit = tenant.credit;
                let fits = tenant.items.front().is_some_and(|next| {
                    let small = taken.is_empty() || bytes + next.bytes <= most_bytes;
                    small && ITEM_WEIGHT + next.bytes <= credit
                });
                let Some(next) = fits.then(|| tenant.items.pop_front()).flatten() else {
                    break;
                };
                tenant.credit -= ITEM_WEIGHT + next.bytes;
                bytes += next.bytes;
                taken.push(next.item);
            }
            tenant.bytes -= bytes;
            self.bytes -= bytes;
            self.items -= taken.len();
            if tenant.items.is_empty() {
                self.tenants.remove(&namespace);
            } else {
                // More than a turn's credit cannot be saved by what a batch has no place for.
                tenant.credit = tenant.credit.min(CREDIT.max(tenant.weight_of_next()));
                self.turn.push_back(namespace.clone());
            }
            if !taken.is_empty() {
                return Some((namespace, taken));
            }
        }
    }
}

impl<T> Tenant<T> {
    fn weight_of_next(&self) -> usize {
        self.items
            .front()
            .map_or(0, |next| ITEM_WEIGHT + next.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;

    fn namespace(name: &str) -> Namespace {
        Namespace(name.to_owned())
    }

    /// Who is served, and how much of it, in `turns` turns.
    fn served(fair: &mut Fair<usize>, turns: usize) -> HashMap<String, usize> {
        let mut served = HashMap::new();
        for _ in 0..turns {
            let Some((namespace, taken)) = fair.take(256, MIB) else {
                break;
            };
            *served.entry(namespace.0).or_default() += taken.iter().sum::<usize>();
        }
        served
    }

    #[test]
    fn a_tenant_that_sends_little_waits_for_one_turn_of_each_other() {
        let mut fair = Fair::default();
        for tenant in ["a", "b"] {
            for at in 0..10_000 {
                fair.push_back(&namespace(tenant), 200, at);
            }
        }
        fair.push_back(&namespace("c"), 200, 1);
        let order: Vec<String> = (0..3).map(|_| fair.take(256, MIB).unwrap().0.0).collect();
        assert_eq!(order, ["a", "b", "c"]);
    }

    #[test]
    fn large_items_get_no_more_of_a_lane_than_small_ones() {
        let mut fair = Fair::default();
        for _ in 0..100 {
            fair.push_back(&namespace("large"), 4 * MIB, 4 * MIB);
        }
        for _ in 0..100_000 {
            fair.push_back(&namespace("small"), 200, ITEM_WEIGHT + 200);
        }
        let served = served(&mut fair, 50);
        let (large, small) = (served["large"], served["small"]);
        assert!(large <= 2 * small && small <= 2 * large, "{served:?}");
    }

    #[test]
    fn an_item_larger_than_a_batch_travels_alone_and_at_once_where_nobody_else_waits() {
        let mut fair = Fair::default();
        for at in 0..3 {
            fair.push_back(&namespace("a"), 3 * MIB, at);
        }
        for at in 0..3 {
            assert_eq!(fair.take(256, MIB), Some((namespace("a"), vec![at])));
        }
        assert_eq!(fair.take(256, MIB), None);
    }

    #[test]
    fn what_is_put_back_goes_first() {
        let mut fair = Fair::default();
        fair.push_back(&namespace("a"), 1, 2);
        fair.push_front(&namespace("a"), 1, 1);
        assert_eq!(fair.take(256, MIB), Some((namespace("a"), vec![1, 2])));
    }

    #[test]
    fn room_is_bounded_in_items_and_bytes_of_a_namespace_and_of_all() {
        let (own, all) = (
            Room {
                items: 2,
                bytes: MIB,
            },
            Room {
                items: 3,
                bytes: 2 * MIB,
            },
        );
        let mut fair = Fair::default();
        let (a, b) = (namespace("a"), namespace("b"));
        assert_eq!(
            fair.has_room(&a, 9 * MIB, own, all),
            Ok(()),
            "one always fits"
        );
        fair.push_back(&a, MIB, ());
        assert_eq!(fair.has_room(&a, 1, own, all), Err(Full::Namespace));
        fair.push_back(&b, 1, ());
        assert_eq!(fair.has_room(&b, MIB - 1, own, all), Ok(()));
        assert_eq!(
            fair.has_room(&namespace("c"), MIB, own, all),
            Err(Full::All)
        );
        fair.push_back(&b, 1, ());
        assert_eq!(fair.has_room(&b, 1, own, all), Err(Full::Namespace));
        assert_eq!(fair.has_room(&namespace("c"), 1, own, all), Err(Full::All));
        while fair.take(256, MIB).is_some() {}
        assert_eq!(fair.has_room(&a, 1, own, all), Ok(()));
    }
}

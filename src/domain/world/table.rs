//! Rows of one table as a batch sees and changes them.

use std::collections::BTreeMap;

/// Where the store keeps a row, and the version it had under the lock. Opaque to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Physical address; it cannot move while the row is locked.
    pub address: u64,
    /// Version; a write of another one is refused.
    pub version: i64,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracked<T> {
    /// As it is now.
    pub value: T,
    /// Where it came from; `None` for a row this batch made.
    pub stored: Option<Stored>,
    /// It differs from what was loaded.
    pub changed: bool,
}

/// The rows of a table that a batch locked or made, by id.
#[derive(Clone, Debug)]
pub struct Table<K, T> {
    rows: BTreeMap<K, Tracked<T>>,
}

impl<K: Ord, T> Default for Table<K, T> {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
        }
    }
}

impl<K: Ord, T> Table<K, T> {
    /// Takes in a locked row.
    pub fn load(&mut self, key: K, value: T, stored: Stored) {
        self.rows.insert(
            key,
            Tracked {
                value,
                stored: Some(stored),
                changed: false,
            },
        );
    }

    /// Takes in a new row.
    pub(super) fn create(&mut self, key: K, value: T) {
        self.rows.insert(
            key,
            Tracked {
                value,
                stored: None,
                changed: true,
            },
        );
    }

    /// The row as it is now.
    pub fn get(&self, key: &K) -> Option<&T> {
        self.rows.get(key).map(|row| &row.value)
    }

    /// The row, to change it.
    pub(in crate::domain) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        self.rows.get_mut(key).map(|row| {
            row.changed = true;
            &mut row.value
        })
    }

    /// Stored rows that changed, by id.
    pub fn updates(&self) -> impl Iterator<Item = (Stored, &T)> {
        self.rows
            .values()
            .filter(|row| row.changed)
            .filter_map(|row| row.stored.map(|stored| (stored, &row.value)))
    }

    /// New rows, by id.
    pub fn inserts(&self) -> impl Iterator<Item = &T> {
        self.rows
            .values()
            .filter(|row| row.stored.is_none())
            .map(|row| &row.value)
    }

    /// Whether a row is new or differs from what was loaded.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.rows.values().any(|row| row.changed)
    }

    /// All rows, by id.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.rows.values().map(|row| &row.value)
    }
}

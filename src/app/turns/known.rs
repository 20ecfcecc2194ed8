//! Runtimes that this server knows to be registered: that never becomes untrue.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use crate::domain::ids::Namespace;

/// Names remembered in all; beyond that all are forgotten, which costs a read each.
const NAMES: usize = 65_536;

/// See the module.
#[derive(Debug, Default)]
pub(in crate::app) struct KnownRuntimes {
    names: Mutex<(usize, HashMap<Namespace, HashSet<String>>)>,
}

impl KnownRuntimes {
    pub(super) fn contains(&self, namespace: &Namespace, runtime_id: &str) -> bool {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let of_namespace = names.1.get(namespace);
        of_namespace.is_some_and(|names| names.contains(runtime_id))
    }

    pub(super) fn insert(&self, namespace: &Namespace, runtime_id: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.0 >= NAMES {
            *names = (0, HashMap::new());
        }
        let of_namespace = names.1.entry(namespace.clone()).or_default();
        if of_namespace.insert(runtime_id.to_owned()) {
            names.0 += 1;
        }
    }
}

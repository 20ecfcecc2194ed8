//! The rules of coordination that an operator may set: leases, reminders, limits.

use super::settings::settings;
use super::values::Span;
use crate::domain::limits::Rules;

settings! {
    /// The rules of coordination that an operator may set.
    RuleSettings from RuleLayer {
        /// How long a running turn lives without a heartbeat [default: 1m]
        #[arg(long, env = "HANDOFFD_LEASE", value_name = "SPAN")]
        lease: Span = Span::seconds(60),

        /// How long an assigned turn waits for its first call [default: 10s]
        #[arg(long, env = "HANDOFFD_ASSIGN_LEASE", value_name = "SPAN")]
        assign_lease: Span = Span::seconds(10),

        /// Turns a thread may lose in a row before its mail is set aside [default: 3]
        #[arg(long, env = "HANDOFFD_MAX_LOST_TURNS", value_name = "COUNT")]
        max_lost_turns: u32 = 3,

        /// How long a child may be quiet before it is reminded [default: 30m]
        #[arg(long, env = "HANDOFFD_REMINDER_AFTER", value_name = "SPAN")]
        reminder_after: Span = Span::seconds(30 * 60),

        /// Time between two reminders of one handoff [default: 1h]
        #[arg(long, env = "HANDOFFD_REMINDER_INTERVAL", value_name = "SPAN")]
        reminder_interval: Span = Span::seconds(60 * 60),

        /// Reminders of one handoff at most; 0 switches them off [default: 3]
        #[arg(long, env = "HANDOFFD_MAX_REMINDERS", value_name = "COUNT")]
        max_reminders: u32 = 3,

        /// How long a child may be quiet before its handoff is abandoned [default: 7days]
        #[arg(long, env = "HANDOFFD_ABANDON_AFTER", value_name = "SPAN")]
        abandon_after: Span = Span::seconds(7 * 24 * 60 * 60),

        /// How long an idle child may be quiet before its work shows as stalled [default: 2m]
        #[arg(long, env = "HANDOFFD_STALL_AFTER", value_name = "SPAN")]
        stall_after: Span = Span::seconds(120),

        /// How long a live turn may show no activity before its work shows as stalled [default: 15m]
        #[arg(long, env = "HANDOFFD_NO_PROGRESS_AFTER", value_name = "SPAN")]
        no_progress_after: Span = Span::seconds(15 * 60),

        /// How long work may wait for a runtime before it shows as stalled [default: 1h]
        #[arg(long, env = "HANDOFFD_CLAIM_DEADLINE", value_name = "SPAN")]
        claim_deadline: Span = Span::seconds(60 * 60),

        /// How long the result of a RETURN handoff waits to be collected [default: 1h]
        #[arg(long, env = "HANDOFFD_COLLECTION_WINDOW", value_name = "SPAN")]
        collection_window: Span = Span::seconds(60 * 60),

        /// How long a parent may have no turn after an end was mailed before status says so [default: 1h]
        #[arg(long, env = "HANDOFFD_PARENT_IDLE_AFTER", value_name = "SPAN")]
        parent_idle_after: Span = Span::seconds(60 * 60),

        /// Messages of one sender to one recipient within the pair window [default: 12]
        #[arg(long, env = "HANDOFFD_PAIR_LIMIT", value_name = "COUNT")]
        pair_limit: u32 = 12,

        /// The rolling window of the pair limit [default: 5m]
        #[arg(long, env = "HANDOFFD_PAIR_WINDOW", value_name = "SPAN")]
        pair_window: Span = Span::seconds(300),

        /// Whether an agent that does not say accepts handoffs [default: false, in dev true]
        #[arg(
            long,
            env = "HANDOFFD_DEFAULT_ACCEPT_HANDOFFS",
            value_name = "BOOL",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "true",
            value_parser = clap::builder::BoolishValueParser::new()
        )]
        default_accept_handoffs: bool = false,
    }
}

impl RuleSettings {
    /// Adds what is wrong with these settings to `problems`.
    pub(super) fn check(&self, problems: &mut Vec<String>) {
        for (name, span) in [
            ("lease", self.lease),
            ("assign_lease", self.assign_lease),
            ("reminder_after", self.reminder_after),
            ("reminder_interval", self.reminder_interval),
            ("abandon_after", self.abandon_after),
            ("stall_after", self.stall_after),
            ("no_progress_after", self.no_progress_after),
            ("claim_deadline", self.claim_deadline),
            ("collection_window", self.collection_window),
            ("parent_idle_after", self.parent_idle_after),
            ("pair_window", self.pair_window),
        ] {
            if span.0.is_zero() {
                problems.push(format!("`{name}` is zero"));
            }
        }
        for (name, count) in [
            ("max_lost_turns", self.max_lost_turns),
            ("pair_limit", self.pair_limit),
        ] {
            if count == 0 {
                problems.push(format!("`{name}` is 0"));
            }
        }
    }
}

impl From<&RuleSettings> for Rules {
    fn from(settings: &RuleSettings) -> Self {
        Self {
            lease: settings.lease.0,
            assign_lease: settings.assign_lease.0,
            max_lost_turns: settings.max_lost_turns,
            reminder_after: settings.reminder_after.0,
            reminder_interval: settings.reminder_interval.0,
            max_reminders: settings.max_reminders,
            abandon_after: settings.abandon_after.0,
            stall_after: settings.stall_after.0,
            no_progress_after: settings.no_progress_after.0,
            claim_deadline: settings.claim_deadline.0,
            collection_window: settings.collection_window.0,
            parent_idle_after: settings.parent_idle_after.0,
            pair_limit: settings.pair_limit,
            pair_window: settings.pair_window.0,
            default_accept_handoffs: settings.default_accept_handoffs,
        }
    }
}

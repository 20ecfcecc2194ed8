//! Heartbeat: the pulses of many turns, and what each turn is told.

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::signals::TurnSignals;
use crate::domain::ids::{Namespace, TurnId};
use crate::domain::refusal::Refusal;
use crate::domain::turns::heartbeat::{Beat, Heartbeat, Pulse};
use crate::store::reads;

impl App {
    /// Beats for turns of a runtime, and answers in their order.
    ///
    /// # Errors
    /// The runtime is unknown; the database is away.
    pub async fn heartbeat(
        &self,
        request: Request,
        runtime_id: String,
        beats: Vec<Beat>,
    ) -> Result<Vec<(Pulse, TurnSignals)>, Error> {
        self.registered(&request.namespace, &runtime_id).await?;
        if beats.is_empty() {
            return Ok(Vec::new());
        }
        let namespace = request.namespace.clone();
        let turns: Vec<TurnId> = beats.iter().map(|beat| beat.turn_id).collect();
        let heartbeat = Heartbeat {
            runtime_id: Some(runtime_id),
            beats,
        };
        let pulses = self.submit(request, heartbeat).await?.0;
        let live = pulses
            .iter()
            .zip(&turns)
            .filter_map(|(pulse, id)| matches!(pulse, Pulse::Renewed { .. }).then_some(*id));
        let live: Vec<TurnId> = live.collect();
        let mut signals = self.signals(&namespace, &live).await?;
        Ok(pulses
            .into_iter()
            .zip(turns)
            .map(|(pulse, id)| (pulse, signals.remove(&id).unwrap_or_default()))
            .collect())
    }

    /// Checks that a runtime was ever registered. It stays so, hence it is asked once.
    pub(super) async fn registered(
        &self,
        namespace: &Namespace,
        runtime_id: &str,
    ) -> Result<(), Error> {
        if self.runtimes.contains(namespace, runtime_id) {
            return Ok(());
        }
        if reads::turns::is_registered(&self.pool, namespace, runtime_id).await? {
            self.runtimes.insert(namespace, runtime_id);
            Ok(())
        } else {
            Err(Refusal::RuntimeNotFound(runtime_id.to_owned()).into())
        }
    }
}

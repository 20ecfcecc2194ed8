//! Heartbeat: the pulses of many turns, and what each turn is told.

use std::sync::Arc;

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
        let pulses = self.pulses(request, runtime_id, beats).await?;
        let told = pulses.iter().zip(&turns).filter_map(|(pulse, id)| {
            matches!(pulse, Pulse::Renewed { is_told: true, .. }).then_some(*id)
        });
        let told: Vec<TurnId> = told.collect();
        let mut signals = self.signals(&namespace, &told).await?;
        Ok(pulses
            .into_iter()
            .zip(turns)
            .map(|(pulse, id)| (pulse, signals.remove(&id).unwrap_or_default()))
            .collect())
    }

    /// Beats the short way; what that leaves, such as the first beat of a turn, goes through the
    /// pipeline.
    async fn pulses(
        &self,
        request: Request,
        runtime_id: String,
        beats: Vec<Beat>,
    ) -> Result<Vec<Pulse>, Error> {
        let heartbeat = Arc::new(Heartbeat {
            runtime_id: Some(runtime_id),
            beats,
        });
        let pulses = self.beats.submit(&request, &heartbeat).await?;
        let left = pulses.iter().zip(&heartbeat.beats);
        let left = left.filter(|(pulse, _)| pulse.is_none());
        let left: Vec<Beat> = left.map(|(_, beat)| beat.clone()).collect();
        if left.is_empty() {
            return Ok(pulses.into_iter().flatten().collect());
        }
        let rest = Heartbeat {
            runtime_id: heartbeat.runtime_id.clone(),
            beats: left,
        };
        let mut rest = self.submit(request, rest).await?.0.into_iter();
        let in_order = pulses
            .into_iter()
            .map(|pulse| pulse.or_else(|| rest.next()));
        Ok(in_order.flatten().collect())
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
        if reads::turns::is_registered(&*self.pool.place().await?, namespace, runtime_id).await? {
            self.runtimes.insert(namespace, runtime_id);
            Ok(())
        } else {
            Err(Refusal::RuntimeNotFound(runtime_id.to_owned()).into())
        }
    }
}

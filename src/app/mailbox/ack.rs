//! AckMail: acknowledges, and tells what is left.

use crate::app::App;
use crate::app::error::Error;
use crate::app::pipeline::Request;
use crate::app::signals::TurnSignals;
use crate::domain::mailbox::ack::{AckMail, MailAcked};
use crate::store::reads;

impl App {
    /// Acknowledges mail and reports.
    ///
    /// # Errors
    /// See `Error`.
    pub async fn ack_mail(
        &self,
        request: Request,
        command: AckMail,
    ) -> Result<(MailAcked, TurnSignals), Error> {
        let (namespace, caller) = (request.namespace.clone(), command.caller);
        let mut acked = self.submit(request, command).await?;
        if acked.unread > 0 {
            // Numbers count what was taken out as well.
            let (thread, above) = (acked.thread_id, acked.consumed_through);
            let out = reads::mailbox::count_excepted(
                &*self.pool.place().await?,
                &namespace,
                thread,
                above,
            )
            .await?;
            acked.unread = acked.unread.saturating_sub(out);
        }
        let signals = self.signals_of(&namespace, caller).await?;
        Ok((acked, signals))
    }
}

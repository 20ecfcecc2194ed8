//! The commands that look for what is stuck, tell stories, and put right by hand.

use std::time::Duration;

use super::command::{handoffd, json, table};
use super::scene::{agent, hand_off, pull, report};
use crate::support::with_server;

#[tokio::test]
async fn what_is_stuck_is_shown_with_its_story_and_put_right() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "absent", None).await;
        agent(server, "busy", Some(0)).await;
        let parent = pull(server, "boss").await;
        let full = hand_off(server, &parent, "busy").await.handoff_id;
        let absent = hand_off(server, &parent, "absent").await.handoff_id;
        server.clock.advance(Duration::from_hours(2)).await;

        let stuck = json(server, &["stuck"]).await;
        let items = stuck["items"].as_array().unwrap();
        let kinds: Vec<&str> = items
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["STUCK_KIND_UNCLAIMED", "STUCK_KIND_SLOTS_SHORT"]);
        assert_eq!(items[0]["handoff_id"], absent.as_str());
        let shown = table(server, &["stuck"]).await;
        assert!(shown.contains("start runtime: "), "{shown}");
        let first = json(server, &["stuck", "--limit", "1"]).await;
        assert_eq!(first["items"].as_array().unwrap().len(), 1);

        let story = table(server, &["explain", &full]).await;
        for part in [
            "slots short",
            "raise slots: ",
            "next: look",
            "the work was accepted",
        ] {
            assert!(story.contains(part), "no `{part}` in\n{story}");
        }
        let story = json(server, &["explain", &absent]).await;
        assert_eq!(
            story["explanation"]["stuck"]["kind"],
            "STUCK_KIND_UNCLAIMED"
        );

        let refused = handoffd(server, &["force-end", &full]).await;
        assert_eq!(refused.code, 2, "nobody was there to confirm: {refused:?}");
        let ended = table(server, &["force-end", &full, "--yes", "--reason", "no use"]).await;
        assert!(ended.contains("is error"), "{ended}");
        let timeline = table(server, &["timeline", &full]).await;
        assert!(timeline.contains("force ended"), "{timeline}");
        let left = json(server, &["stuck"]).await;
        assert_eq!(left["items"].as_array().unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn many_are_shown_filtered_and_cancelled_together() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "worker", None).await;
        let parent = pull(server, "boss").await;
        let first = hand_off(server, &parent, "worker").await;
        let below = hand_off(server, &first.thread_id, "boss").await;
        let done = hand_off(server, &parent, "worker").await;
        report(server, &done.thread_id, "done").await;
        let ids = [
            first.handoff_id.as_str(),
            &below.handoff_id,
            &done.handoff_id,
        ];

        let both = json(server, &["status", ids[0], ids[2]]).await;
        let items = both["items"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[1]["snapshot"]["result"], "done");
        let unknown = "hnd_00000000000070008000000000000000";
        let some = handoffd(server, &["status", ids[0], unknown]).await;
        assert_eq!(some.code, 3, "{some:?}");
        assert!(
            some.out.contains(ids[0]) && some.out.contains(unknown),
            "{some:?}"
        );

        let shown = async |args: &[&str]| {
            let list = json(server, &[&["list"], args].concat()).await;
            let handoffs = list["handoffs"].as_array().unwrap().clone();
            let ids = handoffs
                .iter()
                .map(|it| it["handoff_id"].as_str().unwrap().to_owned());
            let mut ids: Vec<String> = ids.collect();
            ids.sort();
            ids
        };
        let sorted = |ids: &[&str]| {
            let mut ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
            ids.sort();
            ids
        };
        assert_eq!(shown(&["--tree", &parent]).await, sorted(&ids[..2]));
        assert_eq!(shown(&["--tree", &parent, "--all"]).await, sorted(&ids));
        assert_eq!(shown(&["--status", "completed"]).await, sorted(&ids[2..]));
        assert_eq!(
            shown(&["--live", "running", "--agent", "boss"]).await,
            sorted(&ids[1..2])
        );
        assert_eq!(shown(&["--text", "FOR boss"]).await, sorted(&ids[1..2]));
        assert_eq!(shown(&["--min-age", "1h"]).await, sorted(&[]));
        let wrong = handoffd(server, &["list", "--status", "nonsense"]).await;
        assert_eq!(wrong.code, 2, "{wrong:?}");

        let tree = table(server, &["tree", ids[0]]).await;
        let lines: Vec<&str> = tree.lines().collect();
        assert!(
            lines[1].starts_with("boss") && lines[1].contains("a root"),
            "{tree}"
        );
        assert!(
            lines[2].contains("└ worker") && lines[2].contains("<- this one"),
            "{tree}"
        );
        assert!(
            lines[3].contains("└ boss") && lines[3].contains(ids[1]),
            "{tree}"
        );
        let stats = json(server, &["stats"]).await;
        assert_eq!(stats["stats"]["open_count"], 2);
        let stats = table(server, &["stats"]).await;
        assert!(stats.contains("2 running"), "{stats}");

        let filter = ["bulk-cancel", "--tree", parent.as_str()];
        let dry = json(server, &[&filter[..], &["--dry-run"]].concat()).await;
        assert_eq!(dry["items"].as_array().unwrap().len(), 2);
        let asked = handoffd(server, &filter).await;
        assert_eq!(asked.code, 2, "nobody was there to confirm: {asked:?}");
        let gone = json(server, &[&filter[..], &["--yes"]].concat()).await;
        let items = gone["items"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert!(items.iter().all(|it| it["cancelled"] == true), "{gone}");
        assert_eq!(shown(&[]).await, sorted(&[]));
        let everything = handoffd(server, &["bulk-cancel", "--yes"]).await;
        assert_eq!(everything.code, 2, "{everything:?}");
    })
    .await;
}

//! Every RPC, as the descriptors list them, against input that no client of ours would send: the
//! answer is a reason, never a fault of the server.

use handoffd::proto::{FILE_DESCRIPTOR_SET, v1};
use prost::Message as _;
use prost::bytes::{Buf, BufMut};
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
    ReflectMessage as _, Value,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::handoffs::scene::{self, Worker};
use crate::support::{Clients, TestServer, told, with_server};

/// Bytes as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut bytes = vec![0; buffer.remaining()];
        buffer.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}

/// Every RPC of the product.
fn methods() -> Vec<MethodDescriptor> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let ours = pool
        .services()
        .filter(|it| it.package_name() == "handoff.v1");
    let methods: Vec<_> = ours
        .flat_map(|it| it.methods().collect::<Vec<_>>())
        .collect();
    assert!(methods.len() >= 25, "{} methods", methods.len());
    methods
}

/// Calls it in the default namespace, or another; `None` where it waited.
async fn call(
    clients: &Clients,
    method: &MethodDescriptor,
    namespace: Option<&str>,
    body: Vec<u8>,
) -> Option<Result<Vec<u8>, Status>> {
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    let mut request = Request::new(body);
    if let Some(namespace) = namespace {
        let metadata = request.metadata_mut();
        metadata.insert("handoffd-namespace", namespace.parse().unwrap());
    }
    let mut client = Grpc::new(clients.channel());
    client.ready().await.unwrap();
    let answer = client.unary(request, path.parse().unwrap(), Raw);
    let answer = tokio::time::timeout(Duration::from_millis(1_500), answer).await;
    Some(answer.ok()?.map(tonic::Response::into_inner))
}

/// A refusal that a client can act on, and that tells nothing of the inside.
fn check(what: &str, status: &Status) {
    let code = status.code();
    assert!(
        !matches!(code, Code::Internal | Code::Unknown),
        "{what}: {status:?}"
    );
    let details = status.get_error_details();
    let info = details
        .error_info()
        .unwrap_or_else(|| panic!("{what}: no reason: {status:?}"));
    assert_eq!(info.domain, "handoffd", "{what}");
    let known = v1::ErrorReason::from_str_name(&format!("ERROR_REASON_{}", info.reason));
    assert!(known.is_some(), "{what}: {}", info.reason);
    let text = format!(
        "{} {:?} {:?}",
        status.message(),
        info.metadata,
        details.bad_request()
    );
    for inside in [
        "SELECT ",
        "UPDATE ",
        "sqlx",
        "src/",
        ".rs:",
        "panicked",
        "relation \"",
        "/root",
    ] {
        assert!(!text.contains(inside), "{what}: {text}");
    }
    if info.reason == "INVALID_FIELD" {
        assert!(
            details.bad_request().is_some(),
            "{what}: no fields: {status:?}"
        );
    }
}

/// Ids of things that are there, so that random requests get beyond the first look.
async fn ids(server: &TestServer) -> Vec<String> {
    let parent = scene::boss(server).await;
    let handoff = scene::hand_off(server, scene::asking(&parent)).await;
    let worker = Worker::register(server, "worker").await;
    let turn = worker.begin().await;
    vec![parent, handoff.handoff_id, handoff.thread_id, turn.turn_id]
}

struct Dice<'a> {
    random: StdRng,
    ids: &'a [String],
}

impl Dice<'_> {
    fn text(&mut self) -> String {
        let texts = [
            "",
            "a\0b",
            "boss",
            "worker",
            "r1",
            "default",
            "*",
            "%",
            "'; --",
            "thr_",
            "hnd_zz",
            "thr_00000000000000000000000000000000",
            "\u{202e}\u{1b}[2J",
            "AAAA",
            "{}",
            "\n",
        ];
        match self.random.random_range(0..12) {
            0..=4 => texts[self.random.random_range(0..texts.len())].to_owned(),
            5..=8 => self.ids[self.random.random_range(0..self.ids.len())].clone(),
            9 => "x".repeat(self.random.random_range(1..300)),
            10 => "\u{1f600}".repeat(5_000),
            _ => self.ids[0].replace("thr_", "trn_"),
        }
    }

    fn number(&mut self) -> i128 {
        let numbers = [
            0,
            1,
            -1,
            2,
            100,
            500,
            501,
            i128::from(i32::MAX),
            i128::from(i32::MIN),
            i128::from(i64::MAX),
            i128::from(i64::MIN),
            i128::from(u64::MAX),
        ];
        numbers[self.random.random_range(0..numbers.len())]
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "any number will do"
    )]
    fn scalar(&mut self, kind: &Kind, depth: usize) -> Value {
        let number = self.number();
        match kind {
            Kind::Double | Kind::Float if matches!(kind, Kind::Float) => Value::F32(f32::NAN),
            Kind::Double | Kind::Float => Value::F64([f64::NAN, 1e308, -0.5][depth % 3]),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number as i64),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(number as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(number as u64),
            Kind::Bool => Value::Bool(number % 2 == 0),
            Kind::String => Value::String(self.text()),
            Kind::Bytes => Value::Bytes(self.text().into_bytes().into()),
            Kind::Message(message) => Value::Message(self.message(message, depth + 1)),
            Kind::Enum(_) => Value::EnumNumber(self.random.random_range(-1..12)),
        }
    }

    /// A span that is not waited for: nothing, negative, broken or beyond every limit.
    fn span(&mut self, descriptor: &MessageDescriptor) -> DynamicMessage {
        let spans = [
            (0, 0),
            (-1, 0),
            (0, -5),
            (1, -1),
            (i64::MAX, 1),
            (i64::MIN, 0),
            (0, i32::MAX),
        ];
        let (seconds, nanos) = spans[self.random.random_range(0..spans.len())];
        let mut span = DynamicMessage::new(descriptor.clone());
        span.set_field_by_name("seconds", Value::I64(seconds));
        span.set_field_by_name("nanos", Value::I32(nanos));
        span
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Value {
        if field.is_map() {
            return Value::Map(std::collections::HashMap::new());
        }
        let kind = field.kind();
        if field.is_list() {
            let count = [0, 1, 2, 3, 600][self.random.random_range(0..5)];
            let count = if depth > 1 { count.min(2) } else { count };
            return Value::List((0..count).map(|_| self.scalar(&kind, depth)).collect());
        }
        self.scalar(&kind, depth)
    }

    fn message(&mut self, descriptor: &MessageDescriptor, depth: usize) -> DynamicMessage {
        if ["google.protobuf.Duration", "google.protobuf.Timestamp"]
            .contains(&descriptor.full_name())
        {
            return self.span(descriptor);
        }
        let mut message = DynamicMessage::new(descriptor.clone());
        for field in descriptor.fields() {
            let waits = field.name() == "wait" || field.name() == "timeout";
            if depth > 40 || !(waits || self.random.random_range(0..10) < 6) {
                continue;
            }
            let value = self.field(&field, depth);
            message.set_field(&field, value);
        }
        message
    }
}

/// The server still serves, and nothing that a caller did broke it.
async fn serves(server: &TestServer) {
    server
        .agents()
        .list_agents(v1::ListAgentsRequest::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn every_rpc_answers_an_empty_request_with_a_reason_or_a_result() {
    with_server(async |server| {
        for method in methods() {
            if let Some(Err(status)) = call(server, &method, None, Vec::new()).await {
                check(method.full_name(), &status);
            }
        }
        serves(server).await;
    })
    .await;
}

#[tokio::test]
async fn every_rpc_answers_random_requests_with_a_reason_or_a_result() {
    with_server(async |server| {
        let ids = ids(server).await;
        for (seed, method) in (0_u64..).zip(methods()) {
            let random = StdRng::seed_from_u64(seed);
            let mut dice = Dice { random, ids: &ids };
            for _ in 0..24 {
                let request = dice.message(&method.input(), 0);
                let what = format!("{} {:.2000}", method.full_name(), request.to_string());
                let answer = call(server, &method, None, request.encode_to_vec()).await;
                if let Some(Err(status)) = answer {
                    check(&what, &status);
                }
            }
        }
        serves(server).await;
    })
    .await;
}

/// Bytes that are no message at all, invalid UTF-8 among them, or more than a message may have.
#[tokio::test]
async fn bytes_that_are_no_message_are_the_callers_mistake() {
    with_server(async |server| {
        let mut random = StdRng::seed_from_u64(7);
        for method in methods() {
            let large = call(server, &method, None, vec![0; 5_000_000]).await;
            let status = large.unwrap().unwrap_err();
            check(method.full_name(), &status);
            assert_eq!(status.code(), Code::InvalidArgument);
            let text = method.input().fields().find(|it| it.kind() == Kind::String);
            if let Some(number) = text.map(|it| u8::try_from(it.number()).unwrap()) {
                let broken = vec![number << 3 | 2, 2, 0xff, 0xfe];
                let answer = call(server, &method, None, broken).await;
                let status = answer.unwrap().unwrap_err();
                check(method.full_name(), &status);
                assert_eq!(status.code(), Code::InvalidArgument);
            }
            for _ in 0..10 {
                let bytes: Vec<u8> = (0..random.random_range(1..80))
                    .map(|_| random.random())
                    .collect();
                let answer = call(server, &method, None, bytes).await;
                if let Some(Err(status)) = answer {
                    check(method.full_name(), &status);
                }
            }
        }
        serves(server).await;
    })
    .await;
}

/// Oversize, deep and huge values in the fields that have limits.
#[tokio::test]
async fn what_is_too_long_too_deep_or_too_far_is_named() {
    with_server(async |server| {
        let ids = ids(server).await;
        let mut deep = prost_types::Value::default();
        for _ in 0..40 {
            let values = vec![deep];
            let list = prost_types::ListValue { values };
            deep = prost_types::Value {
                kind: Some(prost_types::value::Kind::ListValue(list)),
            };
        }
        let fields = [("a".to_owned(), deep)].into_iter().collect();
        let request = v1::CreateHandoffRequest {
            parent_thread_id: ids[0].clone(),
            task: "x".repeat(64_001),
            thread_title: "two\nlines".to_owned(),
            context_data: Some(prost_types::Struct { fields }),
            on_completion: 99,
            idempotency_key: Some("k".repeat(4_097)),
            ..v1::CreateHandoffRequest::default()
        };
        let told = told(server.handoffs().create_handoff(request).await);
        assert_eq!(told.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        for field in [
            "task",
            "thread_title",
            "context_data",
            "on_completion",
            "idempotency_key",
        ] {
            assert!(
                told.fields.iter().any(|it| it.starts_with(field)),
                "{field}: {told:?}"
            );
        }
    })
    .await;
}

/// Objects inside each other: the innermost is empty.
fn objects(levels: usize) -> prost_types::Struct {
    let mut outer = prost_types::Struct::default();
    for _ in 1..levels {
        let inner = prost_types::Value::from(outer.fields);
        let fields = [("a".to_owned(), inner)].into();
        outer = prost_types::Struct { fields };
    }
    outer
}

fn told_result(data: prost_types::Struct) -> v1::NewEvent {
    let result = v1::ToolResult {
        call_id: "1".to_owned(),
        data: Some(data),
        ..v1::ToolResult::default()
    };
    v1::NewEvent {
        kind: Some(v1::new_event::Kind::ToolResult(result)),
    }
}

/// The limit of depth can be reached everywhere, comes back, and is told as ours also where a message
/// nests so deep that its reader stops before.
#[tokio::test]
async fn json_may_be_as_deep_as_its_limit_and_is_named_by_its_field_beyond() {
    with_server(async |server| {
        let boss = scene::boss(server).await;
        let append = |depths: &[usize]| v1::AppendEventsRequest {
            thread_id: boss.clone(),
            events: depths.iter().map(|it| told_result(objects(*it))).collect(),
            ..v1::AppendEventsRequest::default()
        };
        let mut threads = server.threads();
        threads.append_events(append(&[32])).await.unwrap();
        let history = v1::ListEventsRequest {
            thread_id: boss.clone(),
            ..v1::ListEventsRequest::default()
        };
        let history = threads.list_events(history).await.unwrap().into_inner();
        let Some(v1::event::Kind::ToolResult(stored)) = &history.events[0].kind else {
            panic!("{history:?}");
        };
        assert_eq!(stored.data, Some(objects(32)));
        for levels in [33, 34, 60, 200] {
            let refused = told(threads.append_events(append(&[1, levels])).await);
            assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
            assert_eq!(refused.fields, ["events[1].tool_result.data"], "{levels}");
            assert!(refused.message.contains("32 levels"), "{refused:?}");
            let asking = v1::CreateHandoffRequest {
                context_data: Some(objects(levels)),
                ..scene::asking(&boss)
            };
            let refused = told(server.handoffs().create_handoff(asking).await);
            assert_eq!(refused.fields, ["context_data"], "{levels}");
        }
        let all = methods();
        let send = all.iter().find(|it| it.name() == "SendMessage").unwrap();
        let answer = call(server, send, None, field(11, &json_bytes(5_000))).await;
        let status = answer.unwrap().unwrap_err();
        check("5,000 levels", &status);
        assert!(
            status.message().contains("`data` may be 32 levels deep"),
            "{status:?}"
        );
        serves(server).await;
    })
    .await;
}

/// A field with a length, as bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

/// A struct with one member of so many lists inside each other; no stack could write it out of values.
fn json_bytes(levels: usize) -> Vec<u8> {
    let value = (0..levels).fold(Vec::new(), |value, _| field(6, &field(1, &value)));
    field(1, &[field(1, b"a"), field(2, &value)].concat())
}

#[tokio::test]
async fn a_value_without_a_kind_is_refused_with_its_place() {
    with_server(async |server| {
        let boss = scene::boss(server).await;
        let list = prost_types::Value::from(vec![prost_types::Value::default()]);
        let fields = [("a".to_owned(), list)].into();
        let asking = v1::CreateHandoffRequest {
            context_data: Some(prost_types::Struct { fields }),
            ..scene::asking(&boss)
        };
        let refused = told(server.handoffs().create_handoff(asking).await);
        assert_eq!(refused.fields, ["context_data"]);
        assert!(refused.message.ends_with("at `a[0]`"), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn nul_in_any_text_is_refused_by_the_name_of_its_field() {
    with_server(async |server| {
        for method in methods() {
            let mut request = DynamicMessage::new(method.input());
            let input = method.input();
            let texts = input.fields().filter(|it| it.kind() == Kind::String);
            let texts: Vec<_> = texts.filter(|it| !it.is_list()).collect();
            for field in &texts {
                request.set_field(field, Value::String("a\0b".to_owned()));
            }
            if texts.is_empty() {
                continue;
            }
            let answer = call(server, &method, None, request.encode_to_vec()).await;
            let status = answer.unwrap().unwrap_err();
            check(method.full_name(), &status);
            let details = status.get_error_details();
            let wrong: Vec<_> = details.bad_request().map_or_else(Vec::new, |it| {
                it.field_violations
                    .iter()
                    .map(|it| it.field.clone())
                    .collect()
            });
            for field in texts.iter().filter(|it| it.name() != "page_token") {
                let named = wrong.iter().any(|it| it == field.name());
                assert!(
                    named,
                    "{}: {} not in {wrong:?}",
                    method.full_name(),
                    field.name()
                );
            }
        }
        serves(server).await;
    })
    .await;
}

/// Case I1 as far as it is built: an id of another namespace is as unknown as any.
#[tokio::test]
async fn an_id_of_another_namespace_reads_like_one_that_never_was() {
    with_server(async |server| {
        let ids = ids(server).await;
        let unknown = |id: &str| format!("{}_{}", &id[..3], "0190".repeat(8));
        let mut met = 0;
        for method in methods() {
            let input = method.input();
            for id in &ids {
                let (mine, other) = (naming(&input, id), naming(&input, &unknown(id)));
                let (Some(mine), Some(other)) = (mine, other) else {
                    continue;
                };
                let foreign = call(server, &method, Some("elsewhere"), mine).await;
                let never = call(server, &method, Some("elsewhere"), other).await;
                let (Some(foreign), Some(never)) = (foreign, never) else {
                    continue;
                };
                match (foreign, never) {
                    (Err(foreign), Err(never)) => {
                        check(method.full_name(), &foreign);
                        let same = foreign.message().replace(id, &unknown(id));
                        assert_eq!(foreign.code(), never.code(), "{}", method.full_name());
                        assert_eq!(same, never.message(), "{}", method.full_name());
                        met += usize::from(foreign.code() == Code::NotFound);
                    }
                    (foreign, never) => {
                        assert_eq!(foreign.is_ok(), never.is_ok(), "{}", method.full_name());
                    }
                }
            }
        }
        assert!(
            met >= 12,
            "only {met} calls got as far as looking for the id"
        );
    })
    .await;
}

/// A request that is right but for its ids: every field of that kind of id holds this one.
fn naming(input: &MessageDescriptor, id: &str) -> Option<Vec<u8>> {
    let mut request = DynamicMessage::new(input.clone());
    let wanted = match &id[..3] {
        "thr" => ["thread_id", "parent_thread_id", "to_thread_id"].as_slice(),
        "hnd" => ["handoff_id"].as_slice(),
        _ => ["turn"].as_slice(),
    };
    let mut named = false;
    for field in input.fields().filter(|it| wanted.contains(&it.name())) {
        let value = match field.kind() {
            Kind::Message(turn) => {
                let mut name = DynamicMessage::new(turn);
                name.set_field_by_name("turn_id", Value::String(id.to_owned()));
                name.set_field_by_name("token", Value::U64(1));
                Value::Message(name)
            }
            _ => Value::String(id.to_owned()),
        };
        request.set_field(&field, value);
        named = true;
    }
    for (field, value) in [
        ("task", Value::String("do it".to_owned())),
        ("body", Value::String("hello".to_owned())),
        ("target_agent", Value::String("worker".to_owned())),
        ("received_through", Value::U64(0)),
        ("outcome", Value::EnumNumber(1)),
        ("next", Value::EnumNumber(1)),
    ] {
        let known = input.get_field_by_name(field);
        let fits = known.filter(|it| value.is_valid_for_field(it));
        if let Some(known) =
            fits.filter(|it| it.name() != "outcome" || input.name() == "FinishTurnRequest")
        {
            request.set_field(&known, value);
        }
    }
    debug_assert_eq!(request.descriptor(), *input);
    named.then(|| request.encode_to_vec())
}

//! The server: connections, their requests, and the end.
//!
//! All of it runs on one thread, which never waits for a single client: heads have [`HEAD_TIME`], a request has the limit of its own from its head to its
//! answer, and as long again has its client to take that. When a signal asks for the end, no connection is accepted any more, and requests whose head is
//! there are answered.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::pin::{self, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, HeaderValue, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout, timeout_at};

use super::connections::{Connections, Ticket};
use super::limits::{DRAIN_TIME, HEAD_TIME, LAST_HEADS_TIME, Limits};
use super::metrics::Metrics;
use super::patient::Patient;
use super::predictions::Predictions;
use super::refusal::Refusal;
use super::route::Route;
use super::workers::{self, Job};
use crate::terminal::interrupt;

/// How often it is looked for signals.
const EVERY: Duration = Duration::from_millis(25);
/// The longest head of a request, in bytes.
const LONGEST_HEAD: usize = 32 << 10;
/// How much of a body that is too long is listened to, in bytes.
const DRAINED: usize = 64 << 20;

const JSON: &str = "application/json";
/// Prometheus' own.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the server has done when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// How many requests it has answered or refused.
    pub requests: u64,
}

/// What all connections share.
struct Shared {
    limits: Limits,
    /// The answer to `GET /health`.
    health: Bytes,
    /// The answer to `GET /schema`.
    schema: Bytes,
    metrics: Metrics,
    connections: Connections,
    queue: SyncSender<Job>,
}

/// A whole response.
type Answered = Response<Full<Bytes>>;

/// Answers whoever connects, until a signal asks for the end.
pub fn serve(listener: TcpListener, predictions: &Predictions<'_>, health: &Value) -> io::Result<Served> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bytes = |value: &Value| Bytes::from(value.to_string());
    let (health, schema) = (bytes(health), bytes(&predictions.row_schema()));
    workers::beside(predictions, |queue| {
        let (metrics, connections) = (Metrics::default(), Connections::default());
        let shared = Arc::new(Shared { limits: *predictions.limits(), health, schema, metrics, connections, queue });
        runtime.block_on(accept(listener, &shared))?;
        // Nobody may be left who could send the workers anything.
        drop(runtime);
        Ok(Served { requests: shared.metrics.requests() })
    })
}

/// Accepts connections until the end, and waits for those that are in the middle of a request.
async fn accept(listener: TcpListener, shared: &Arc<Shared>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (end, ended) = watch::channel(());
    let mut tasks = JoinSet::new();
    let mut asked = pin!(asked_to_stop());
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    // A connection that broke at once, or too many open files: others may do better in a while.
                    sleep(EVERY).await;
                    continue;
                }
            },
            () = &mut asked => break,
        };
        while tasks.try_join_next().is_some() {}
        let open = &shared.connections;
        if open.count() >= shared.limits.connections && !open.close_slowest() {
            let full = "all connections are busy (--connections): ask again later";
            // It fits into any buffer, and whoever does not take it must do without.
            let _ = stream.try_write(&Refusal::new(StatusCode::SERVICE_UNAVAILABLE, full).response());
            continue;
        }
        let ticket = open.open();
        let id = ticket.id();
        let task = tasks.spawn(converse(stream, Arc::clone(shared), ticket, ended.clone()));
        open.closed_by(id, task);
    }
    drop(listener);
    let _ = end.send(());
    let finished = async |tasks: &mut JoinSet<()>| while tasks.join_next().await.is_some() {};
    if timeout(LAST_HEADS_TIME, finished(&mut tasks)).await.is_err() {
        shared.connections.close_without_head();
        // Twice: to be answered, and to take the answer.
        let _ = timeout(2 * shared.limits.time + EVERY, finished(&mut tasks)).await;
    }
    Ok(())
}

/// Ends when a signal asks for the end.
async fn asked_to_stop() {
    while !interrupt::asked() {
        sleep(EVERY).await;
    }
}

/// Answers the requests of a connection, one after the other.
async fn converse(stream: TcpStream, shared: Arc<Shared>, ticket: Ticket, mut ended: watch::Receiver<()>) {
    // Answers are written at once, so that there is nothing to be gained by waiting for more.
    let _ = stream.set_nodelay(true);
    let (limit, ticket) = (shared.limits.time, Arc::new(ticket));
    let traffic = Arc::clone(&ticket.traffic);
    let of_request = {
        let ticket = Arc::clone(&ticket);
        move |request| {
            let (shared, ticket) = (Arc::clone(&shared), Arc::clone(&ticket));
            Box::pin(async move { Ok::<_, Infallible>(respond(request, &shared, &ticket).await) })
        }
    };
    let io = TokioIo::new(Patient::new(stream, limit, Arc::clone(&traffic)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(LONGEST_HEAD);
    let mut connection = http.serve_connection(io, service_fn(of_request));
    let mut last = false;
    let done = loop {
        tokio::select! {
            done = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break done,
            _ = ended.changed(), if !last => {
                last = true;
                pin::Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let mut stream = connection.into_parts().io.into_inner();
    if done.is_err_and(|error| error.is_timeout()) && traffic.heard.load(Ordering::Relaxed) {
        let seconds = HEAD_TIME.as_secs();
        let message = format!("the head of the request did not come within {seconds} s: send it at once");
        let response = Refusal::new(StatusCode::REQUEST_TIMEOUT, message).response();
        let _ = timeout(EVERY, stream.write_all(&response)).await;
    }
    let _ = timeout(EVERY, stream.shutdown()).await;
}

/// Answers a request.
async fn respond(request: Request<Incoming>, shared: &Shared, ticket: &Ticket) -> Answered {
    let started = Instant::now();
    let route = Route::of(request.uri().path());
    let answer = match route.check(request.method(), request.uri().path()) {
        Ok(()) => answer(route, request, shared, ticket, started + shared.limits.time).await,
        Err(refusal) => Err(refusal),
    };
    let response = answer.unwrap_or_else(|refusal| refused(&refusal, route));
    shared.metrics.count(route, response.status(), started.elapsed());
    ticket.answered();
    response
}

/// The answer to a request that its route takes.
async fn answer(
    route: Route,
    request: Request<Incoming>,
    shared: &Shared,
    ticket: &Ticket,
    deadline: Instant,
) -> Result<Answered, Refusal> {
    match route {
        Route::Health => Ok(response(StatusCode::OK, JSON, shared.health.clone())),
        Route::Schema => Ok(response(StatusCode::OK, JSON, shared.schema.clone())),
        Route::Metrics => {
            let text = shared.metrics.text(shared.connections.count());
            Ok(response(StatusCode::OK, METRICS, text.into()))
        }
        Route::Predict => {
            ticket.wait_for_body();
            let body = body(request, &shared.limits, deadline).await?;
            ticket.work();
            let body = predict(body, shared, deadline).await?;
            Ok(response(StatusCode::OK, JSON, body.into()))
        }
        Route::Unknown => Err(Refusal::new(StatusCode::NOT_FOUND, "there is nothing here")),
    }
}

/// Has a worker predict the rows of a body.
async fn predict(body: Bytes, shared: &Shared, deadline: Instant) -> Result<String, Refusal> {
    let (answer, answered) = oneshot::channel();
    shared.queue.try_send(Job { body, deadline, answer }).map_err(|error| match error {
        TrySendError::Full(_) => {
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests wait to be answered: ask again later")
        }
        TrySendError::Disconnected(_) => Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is about to end"),
    })?;
    match timeout_at(deadline.into(), answered).await {
        Ok(Ok(answer)) => {
            let answer = answer?;
            shared.metrics.count_rows(answer.rows);
            Ok(answer.body)
        }
        Ok(Err(_)) | Err(_) => Err(workers::late(shared.limits.time)),
    }
}

/// The whole body of a request.
async fn body(request: Request<Incoming>, limits: &Limits, deadline: Instant) -> Result<Bytes, Refusal> {
    if request.headers().get(CONTENT_ENCODING).is_some_and(|coding| coding != HeaderValue::from_static("identity")) {
        let message = "the body is compressed: send it as it is, without content-encoding";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let asks_first = request.headers().contains_key(EXPECT);
    let mut incoming = request.into_body();
    let announced = incoming.size_hint().lower();
    if announced > limits.body as u64 {
        if !asks_first {
            drain(&mut incoming).await;
        }
        return Err(too_long(limits));
    }
    let mut bytes = Vec::with_capacity(announced as usize);
    loop {
        let frame = match timeout_at(deadline.into(), incoming.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Err(error))) => {
                let message = format!("the body broke off: {error}");
                return Err(Refusal::new(StatusCode::BAD_REQUEST, message));
            }
            Err(_) => {
                let seconds = limits.time.as_secs_f64();
                let message =
                    format!("the body did not come within {seconds} s (--request-time): send it faster, or fewer rows");
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, message));
            }
        };
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if bytes.len() + data.len() > limits.body {
            drain(&mut incoming).await;
            return Err(too_long(limits));
        }
        bytes.extend_from_slice(data);
    }
}

/// Listens to the rest of a body for a while: a connection that is closed on somebody who is sending loses the answer, too.
async fn drain(incoming: &mut Incoming) {
    let mut left = DRAINED;
    let rest = async {
        while let Some(Ok(frame)) = incoming.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _ = timeout(DRAIN_TIME, rest).await;
}

fn too_long(limits: &Limits) -> Refusal {
    let most = limits.body >> 20;
    let message = format!("the body is longer than {most} MiB (--max-body): send the rows in several requests");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
}

/// A refusal as a response.
fn refused(refusal: &Refusal, route: Route) -> Answered {
    let mut response = response(refusal.status, JSON, refusal.body().into());
    let more = match refusal.status {
        StatusCode::METHOD_NOT_ALLOWED => Some((ALLOW, HeaderValue::from_static(route.methods()))),
        StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, HeaderValue::from_static("1"))),
        _ => None,
    };
    response.headers_mut().extend(more);
    response
}

/// A response with a body of this type.
fn response(status: StatusCode, kind: &'static str, body: Bytes) -> Answered {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What `GET /health` says.
pub fn health(model: &str) -> Value {
    json!({ "status": "ok", "model": model, "version": env!("CARGO_PKG_VERSION") })
}

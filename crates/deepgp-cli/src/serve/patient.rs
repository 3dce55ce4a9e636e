//! A connection whose client may be slow to read an answer, but not for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A connection that breaks when an answer has been on its way for too long, however few bytes trickle.
#[derive(Debug)]
pub struct Patient {
    stream: TcpStream,
    limit: Duration,
    /// Runs from the first byte that the client did not take until all have gone.
    patience: Option<Pin<Box<Sleep>>>,
    traffic: Arc<Traffic>,
}

/// What a connection is up to, for whoever decides over its end.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Whether anything has come since the last answer.
    pub heard: AtomicBool,
    /// Whether the client is slow to take an answer.
    pub stalled: AtomicBool,
}

impl Patient {
    /// A connection with so much patience for each answer, which tells of its traffic.
    pub fn new(stream: TcpStream, limit: Duration, traffic: Arc<Traffic>) -> Self {
        Self { stream, limit, patience: None, traffic }
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.traffic.heard.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        let limit = self.limit;
        if written.is_pending() || self.patience.is_some() {
            self.traffic.stalled.store(true, Ordering::Relaxed);
            let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(limit)));
            if patience.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        written
    }

    /// Asked for when all that there was has been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.patience = None;
        self.traffic.stalled.store(false, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

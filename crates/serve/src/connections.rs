//! Connections: how many there are at a time, and how long one may stand still.
//!
//! Owns the bound on connections, beyond which new ones are closed at once, and the end of those whose other side does not read. How long requests may
//! take to come is the matter of who reads them. It refuses to know what goes over a connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum_server::accept::Accept;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Most connections at a time.
pub const MOST: usize = 4096;
/// Files that are open beside connections: of the store's handles, users, tokens and the runtime.
const OTHER_FILES: u64 = 128;

/// How long the other side of a connection may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until the head of a request is whole, and between two requests: longer than agents keep a connection that they do not use, which is 15 s, so
    /// that none is closed under a batch.
    pub headers: Duration,
    /// Until a body of batches is whole.
    pub body: Duration,
    /// Until any other body is whole.
    pub form: Duration,
    /// Until it reads more of an answer.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { headers: seconds(20), body: seconds(30), form: seconds(10), answer: seconds(30) }
    }
}

/// As many connections as there may be files, at most `most`.
pub(crate) fn bound(most: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    // What the system lets this process have is asked for; if it does not, the bound is lower.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    most.min(room.max(16))
}

/// Takes connections as long as there are fewer than its bound.
#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    room: Arc<Semaphore>,
    most: usize,
    answer: Duration,
    turned_away: Arc<AtomicU64>,
}

impl Bounded {
    pub(crate) fn new(most: usize, patience: Patience) -> Self {
        let room = Arc::new(Semaphore::new(most));
        Self { room, most, answer: patience.answer, turned_away: Arc::default() }
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.most - self.room.available_permits()
    }

    /// Connections that were closed because there were too many.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}

impl<S> Accept<TcpStream, S> for Bounded {
    type Stream = Connection;
    type Service = S;
    type Future = std::future::Ready<io::Result<(Connection, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        let taken = Arc::clone(&self.room).try_acquire_owned().map(|permit| Connection {
            stream,
            answer: self.answer,
            stuck: None,
            _held: permit,
        });
        std::future::ready(taken.map(|connection| (connection, service)).map_err(|_| {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            io::Error::other("too many connections")
        }))
    }
}

/// A connection that ends with an error when the other side does not read.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Duration,
    /// Since something waits to be written.
    stuck: Option<Pin<Box<Sleep>>>,
    _held: OwnedSemaphorePermit,
}

impl Connection {
    /// Waits for what is written, but not for ever.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let answer = self.answer;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(answer)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(written, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

//! The terminal while the view uses it: raw keys, the alternate screen, no cursor - and its
//! restoration afterwards.
//!
//! Owns entering and leaving, also by a panic (the hook restores before the message is printed) and
//! by SIGTERM and SIGINT (a flag that is read with the keys). Owns the wait for keys too
//! ([`Screen::keys`]), which all programs have. SIGHUP keeps its default: the terminal is gone,
//! there is nothing to restore.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute, queue};
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM, SIGTSTP};

/// A whole screen of changed cells is one write.
const BUFFER: usize = 64 * 1024;

/// Errors of a program on the terminal.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// No terminal for keys or cells.
    #[error("expected a terminal on standard input and output, found a file or a pipe")]
    NoTerminal,
    /// The process was asked to end; the terminal is restored.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// An error of the terminal.
    #[error("expected to draw on the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Effect of a key on the loop of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing changed.
    Nothing,
    /// Draw again.
    Draw,
    /// Leave the screen.
    Leave,
    /// Stop until the shell continues the process.
    Suspend,
}

/// Result of a wait for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing that changes the picture.
    Nothing,
    /// The picture has changed, or the size of the terminal.
    Changed,
    /// The process was stopped and has been continued: time has passed, and the picture is gone.
    Resumed,
    /// The user leaves.
    Leave,
}

type Hook = dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync;

/// The terminal, ours until this is dropped.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    asked: Arc<AtomicUsize>,
    signals: Vec<SigId>,
    hook: Option<Arc<Hook>>,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn enter() -> Result<Self, ScreenError> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Err(ScreenError::NoTerminal);
        }
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout()));
        let terminal = Terminal::new(backend)?;
        let hook: Arc<Hook> = Arc::from(panic::take_hook());
        let before = Arc::clone(&hook);
        panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
        // From here on dropping restores everything, also when a step below fails.
        let mut screen =
            Self { terminal, asked: Arc::default(), signals: Vec::new(), hook: Some(hook) };
        for signal in [SIGTERM, SIGINT] {
            let asked = Arc::clone(&screen.asked);
            let id = signal_hook::flag::register_usize(signal, asked, signal as usize)?;
            screen.signals.push(id);
        }
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        let all = Clear(ClearType::All);
        execute!(self.terminal.backend_mut(), EnterAlternateScreen, cursor::Hide, all)?;
        // Each of its two buffers becomes blank. `Terminal::clear` would request the cursor's
        // position, which not all terminals answer.
        self.terminal.swap_buffers();
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Draws the cells that `paint` sets; only changed ones are written, all at once.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        // Terminals that do not know synchronised updates ignore the request.
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| paint(frame.buffer_mut()))?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Waits for keys, at most so long, and gives each to `press`.
    pub(crate) fn keys(
        &mut self,
        wait: Duration,
        press: &mut dyn FnMut(KeyEvent) -> Action,
    ) -> Result<Heard, ScreenError> {
        let mut heard = Heard::Nothing;
        let mut ready = event::poll(wait)?;
        while ready {
            let action = match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => press(key),
                Event::Resize(..) => Action::Draw,
                _ => Action::Nothing,
            };
            match action {
                Action::Nothing => {}
                Action::Draw if heard == Heard::Resumed => {}
                Action::Draw => heard = Heard::Changed,
                Action::Leave => return Ok(Heard::Leave),
                Action::Suspend => {
                    self.suspend()?;
                    heard = Heard::Resumed;
                }
            }
            ready = event::poll(Duration::ZERO)?;
        }
        match self.signal() {
            Some(signal) => Err(ScreenError::Signal(signal)),
            None => Ok(heard),
        }
    }

    /// The signal that requests the end.
    fn signal(&self) -> Option<i32> {
        i32::try_from(self.asked.load(Ordering::Relaxed)).ok().filter(|&signal| signal > 0)
    }

    /// Back to the shell until it continues the process.
    fn suspend(&mut self) -> io::Result<()> {
        give_back();
        signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
        self.take()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        for id in self.signals.drain(..) {
            signal_hook::low_level::unregister(id);
        }
        // A panicking thread may not touch the hook; its own hook has already restored the
        // terminal.
        if std::thread::panicking() {
            return;
        }
        give_back();
        drop(panic::take_hook());
        if let Some(hook) = self.hook.take() {
            panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

/// Restores the terminal. Harmless when repeated; a failure cannot be reported any more.
fn give_back() {
    let mut out = io::stdout();
    let _ = execute!(out, EndSynchronizedUpdate, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

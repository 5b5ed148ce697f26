//! The thread that writes: requests hand lines over and never wait for the disk.

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use super::{Complaints, LogFile, file::RotatedFile};

/// Lines that wait for the disk; further ones are lost and counted.
const QUEUE_LINES_MAX: usize = 10_000;

enum Order {
    Write(LogFile, Vec<u8>),
    Finish,
}

pub(super) struct Writer {
    orders: SyncSender<Order>,
    lost: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(folder: &Path, complain: Complaints) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o755).create(folder)?;
        let mut files = Vec::with_capacity(LogFile::ALL.len());
        for file in LogFile::ALL {
            files.push(RotatedFile::open(folder.to_owned(), file.stem())?);
        }
        let (orders, inbox) = sync_channel(QUEUE_LINES_MAX);
        let lost = Arc::<AtomicU64>::default();
        let mut desk = Desk {
            files,
            lost: Arc::clone(&lost),
            is_failing: false,
            was_failing: false,
            complain,
        };
        let thread =
            thread::Builder::new().name("logs".to_owned()).spawn(move || desk.work(&inbox))?;
        Ok(Self { orders, lost, thread: Mutex::new(Some(thread)) })
    }

    /// Hands a line over.
    pub(super) fn write(&self, file: LogFile, line: Vec<u8>) {
        if self.orders.try_send(Order::Write(file, line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what was handed over is written.
    pub(super) fn finish(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && self.orders.send(Order::Finish).is_ok()
        {
            // It ends after this order; should it have panicked, there is nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// What the thread works with.
struct Desk {
    files: Vec<RotatedFile>,
    lost: Arc<AtomicU64>,
    /// Since the last flush.
    is_failing: bool,
    /// Before it.
    was_failing: bool,
    complain: Complaints,
}

impl Desk {
    fn work(&mut self, inbox: &Receiver<Order>) {
        while let Ok(order) = inbox.recv() {
            let mut next = Some(order);
            // Everything that is there is written before the files are flushed, so that a busy server
            // makes few writes and a quiet one has its lines on disk at once.
            while let Some(order) = next.take() {
                match order {
                    Order::Write(file, line) => self.write(file, &line),
                    Order::Finish => {
                        self.flush();
                        return;
                    }
                }
                next = inbox.try_recv().ok();
            }
            self.flush();
        }
    }

    fn write(&mut self, file: LogFile, line: &[u8]) {
        if let Err(error) = self.files[file as usize].write(line) {
            self.complain(&error);
        }
    }

    fn flush(&mut self) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let line = format!("{{\"clazz\":\"warn\",\"message\":{{\"lostLines\":{lost}}}}}\n");
            self.write(LogFile::Error, line.as_bytes());
        }
        for at in 0..self.files.len() {
            if let Err(error) = self.files[at].flush() {
                self.complain(&error);
            }
        }
        self.was_failing = std::mem::take(&mut self.is_failing);
    }

    /// Tells on the terminal when writing begins to fail; the server goes on without its log.
    fn complain(&mut self, error: &io::Error) {
        if !self.was_failing && !self.is_failing {
            (self.complain)(&format!("cannot write the log files: {error}"));
        }
        self.is_failing = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_find_the_queue_full_are_counted_in_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let writer = Writer::start(folder.path(), Box::new(|complaint| panic!("{complaint}")))
            .expect("started");
        writer.lost.store(3, Ordering::Relaxed);
        writer.write(LogFile::Main, b"{}\n".to_vec());
        writer.finish();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert_eq!(read("ql.io.log"), "{}\n");
        assert_eq!(read("error.log"), "{\"clazz\":\"warn\",\"message\":{\"lostLines\":3}}\n");
        assert_eq!(read("access.log"), "");
        writer.write(LogFile::Main, b"late\n".to_vec());
        writer.finish();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("written");
        assert!(Writer::start(&file.join("logs"), Box::new(|_| ())).is_err());
    }
}

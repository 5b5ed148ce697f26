//! The language service as plain C functions on texts, for editors that start no process.
//!
//! In: the files of an app, by their URIs, as whoever has them hands them in; then one message of the
//! Language Server Protocol at a time. Out: JSON lists of the messages that answer, UTF-8, the address
//! in the upper and the length in the lower half of a `u64`, to be given back to [`free`]. What the
//! service says is decided in `qlio_language`; here are only the app's files, and the memory that
//! texts pass through.

mod files;

use std::cell::RefCell;

use qlio_data::{Value, codec::json};
use qlio_language::Server;

use files::Files;

thread_local! {
    static SERVER: RefCell<Server<Files>> = RefCell::new(Server::new(Files::default(), ""));
}

/// Memory for `length` bytes of text.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Gives back memory from [`alloc`] or of an answer.
///
/// # Safety
/// `start` and `length` are those of one allocation that was not given back before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(start: *mut u8, length: usize) {
    // SAFETY: the caller gives back what `alloc` or `answer` made from a boxed slice of this length.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, length)) });
}

/// Takes a file of the app, new or changed. 1 if it is kept, 0 if files take too much memory already.
///
/// # Safety
/// Both parts lie in memory from [`alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn put_file(
    uri: *const u8,
    uri_length: usize,
    bytes: *const u8,
    bytes_length: usize,
) -> u32 {
    // SAFETY: as promised by the caller.
    let uri = unsafe { text(uri, uri_length) };
    // SAFETY: as promised by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, bytes_length) };
    with_files(|files| u32::from(files.put(&uri, bytes)))
}

/// Forgets a file, or a folder with all that lies below it.
///
/// # Safety
/// The text lies in memory from [`alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remove_file(uri: *const u8, uri_length: usize) {
    // SAFETY: as promised by the caller.
    let uri = unsafe { text(uri, uri_length) };
    with_files(|files| files.remove(&uri));
}

/// Takes one message.
///
/// # Safety
/// The text lies in memory from [`alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn handle(message: *const u8, length: usize) -> u64 {
    // SAFETY: as promised by the caller.
    let message = unsafe { text(message, length) };
    answer(SERVER.with_borrow_mut(|server| server.handle(&message)))
}

/// Does what was put off until no message waits.
#[unsafe(no_mangle)]
pub extern "C" fn settle() -> u64 {
    answer(SERVER.with_borrow_mut(Server::settle))
}

fn with_files<T>(change: impl FnOnce(&mut Files) -> T) -> T {
    SERVER.with_borrow_mut(|server| change(server.host_mut()))
}

/// # Safety
/// `length` bytes can be read at `start`.
unsafe fn text(start: *const u8, length: usize) -> String {
    // SAFETY: as promised by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Hands messages over; addresses have 32 bits where this runs.
fn answer(messages: Vec<String>) -> u64 {
    let list: Value = messages.into_iter().map(Value::from).collect();
    let bytes = json::to_string(&list).into_bytes().into_boxed_slice();
    let length = bytes.len() as u64;
    ((Box::into_raw(bytes).cast::<u8>() as u64) << 32) | length
}

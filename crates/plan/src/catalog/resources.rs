//! Files beside a declaration, behind a trait so that this crate does no I/O.

use super::{ModuleFolders, ScriptFile, Unreadable};

/// Files that tables refer to. Implementations resolve names relative to the table's file and
/// refuse paths that leave the tables' root (CON-8).
pub trait Resources {
    /// The text of a body template.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn template(&self, table_file: &str, name: &str) -> Result<String, Unreadable>;

    /// The file of a patch, auth or transformer module.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn module(&self, table_file: &str, name: &str) -> Result<ScriptFile, Unreadable>;

    /// The bytes of a schema file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn schema(&self, table_file: &str, name: &str) -> Result<Vec<u8>, Unreadable>;

    /// The folders in which `require` of a script finds modules.
    fn module_folders(&self) -> ModuleFolders {
        ModuleFolders::default()
    }
}

/// No files: for scripts sent by clients, which must not reach the disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoResources;

impl Resources for NoResources {
    fn template(&self, _: &str, _: &str) -> Result<String, Unreadable> {
        Err(Unreadable::Refused)
    }

    fn module(&self, _: &str, _: &str) -> Result<ScriptFile, Unreadable> {
        Err(Unreadable::Refused)
    }

    fn schema(&self, _: &str, _: &str) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::Refused)
    }
}

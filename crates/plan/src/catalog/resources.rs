//! Files beside a declaration, behind a trait so that this crate does no I/O.

use super::{ModuleFolders, ScriptFile};

/// Files that tables refer to. Implementations resolve names relative to the table's file and
/// refuse paths that leave the tables' root (CON-8).
pub trait Resources {
    /// The text of a body template.
    ///
    /// # Errors
    /// Why it cannot be read, in words for the operator.
    fn template(&self, table_file: &str, name: &str) -> Result<String, String>;

    /// The file of a patch, auth or transformer module.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn module(&self, table_file: &str, name: &str) -> Result<ScriptFile, String>;

    /// The bytes of a schema file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn schema(&self, table_file: &str, name: &str) -> Result<Vec<u8>, String>;

    /// The folders in which `require` of a script finds modules.
    fn module_folders(&self) -> ModuleFolders {
        ModuleFolders::default()
    }
}

/// No files: for scripts sent by clients, which must not reach the disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoResources;

const REFUSED: &str = "files are not available to scripts sent by clients";

impl Resources for NoResources {
    fn template(&self, _: &str, _: &str) -> Result<String, String> {
        Err(REFUSED.to_owned())
    }

    fn module(&self, _: &str, _: &str) -> Result<ScriptFile, String> {
        Err(REFUSED.to_owned())
    }

    fn schema(&self, _: &str, _: &str) -> Result<Vec<u8>, String> {
        Err(REFUSED.to_owned())
    }
}

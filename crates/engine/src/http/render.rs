//! Body templates to text (`connectors.md` 2.6).

use qlio_data::{Text, Value};
use qlio_plan::catalog::Body;

use super::Call;
use crate::error::RunError;

impl Call<'_> {
    /// Renders a template that is not a form.
    pub(super) async fn render_template(
        &self,
        body: &Body,
        own: &[(Text, Value)],
    ) -> Result<String, RunError> {
        let _ = (body, own);
        Err(RunError::internal("templates"))
    }
}

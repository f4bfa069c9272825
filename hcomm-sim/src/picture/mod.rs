//! Pictures of what was done when: Chrome trace events, and a report as one HTML file.

mod chrome;
mod html;

pub use chrome::{Selection, TRACE_EVENTS, Written, chrome_trace};
pub use html::{About, html_report};

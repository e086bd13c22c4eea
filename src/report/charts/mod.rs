//! Geometry of the report's charts. Lengths are percentages of the drawing's width or pixels of
//! its height, so that text keeps its size on a phone; the template draws them.

mod cases;
mod funnel;
mod scale;
mod trajectory;

pub(super) use cases::CaseChart;
pub(super) use funnel::Funnel;
pub(super) use trajectory::Trajectory;

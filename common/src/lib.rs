//! The road that every kernel takes: problem → kernel → device → check → time → report.

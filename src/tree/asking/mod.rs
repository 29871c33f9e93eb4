//! Scan paths: questions as directories, and their answers.

pub mod answer;
pub mod argument;
pub mod asked;
pub mod asked_list;
pub mod chosen;
pub mod count;
pub mod export;
pub mod marks;
pub mod question;
pub mod sample;
pub mod steps;

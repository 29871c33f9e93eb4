//! What the system lets this process have: descriptors.

mod descriptors;

pub use descriptors::raise_descriptors;

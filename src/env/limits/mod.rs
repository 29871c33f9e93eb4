//! What the system lets this process have: descriptors, and memory.

mod descriptors;
mod memory;

pub use descriptors::raise_descriptors;
pub use memory::memory;

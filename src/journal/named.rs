//! What is declared stands in the journal with the names of its fields (MessagePack): a release that knows one more
//! reads what has been written without it.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<T: Serialize, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    rmp_serde::to_vec_named(value).map_err(S::Error::custom)?.serialize(to)
}

pub(super) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    rmp_serde::from_slice(&Vec::<u8>::deserialize(from)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Then {
        name: String,
    }

    #[derive(Deserialize)]
    struct Now {
        #[serde(default)]
        note: Option<String>,
        name: String,
    }

    #[derive(Serialize)]
    struct Before(#[serde(serialize_with = "serialize")] Then, u32);

    #[derive(Deserialize)]
    struct After(#[serde(deserialize_with = "deserialize")] Now, u32);

    #[test]
    fn what_was_written_without_a_field_is_read() {
        let written = postcard::to_stdvec(&Before(Then { name: "t".to_owned() }, 7)).unwrap();
        let After(now, after) = postcard::from_bytes(&written).unwrap();
        assert_eq!((now.name.as_str(), now.note, after), ("t", None, 7));
    }
}

//! A whole recipe: keys of fields, fields of keys, and the keys that begin with some fields.

use super::digest;
use super::fields::Fields;
use super::part::{Part, ZERO, checked, wrong};
use crate::model::{RowKey, to_string_binary};
use crate::{Error, ErrorKind, Result};

/// Most parts of a recipe.
const PARTS_MAX: usize = 32;
/// Most brackets in each other: `desc(digits(NAME, W))` has two.
const DEPTH_MAX: usize = 8;

/// See the module of recipes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    parts: Vec<Part>,
}

impl Recipe {
    /// From its text. `IllegalArgument`: it makes no sense.
    pub fn parse(text: &str) -> Result<Self> {
        let parts = words(text)?.iter().map(|word| Part::parse(word)).collect::<Result<Vec<_>>>()?;
        let recipe = Self { parts };
        let names = recipe.names();
        if names.is_empty() || recipe.parts.len() > PARTS_MAX {
            return Err(wrong(format!("a recipe has a field, and {PARTS_MAX} parts at most")));
        }
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(wrong(format!("field {} stands in the recipe twice", twice.1)));
        }
        let is_spread = |part: &Part| matches!(part, Part::Salt(_) | Part::Hash(..));
        if recipe.parts.iter().skip(1).any(is_spread) {
            return Err(wrong("salt and hash stand in front, and one of them".to_owned()));
        }
        match recipe.parts.first() {
            Some(Part::Hash(Some(name), _)) if !names.contains(&name.as_str()) => {
                Err(wrong(format!("hash({name}, ...): the recipe has no field {name}")))
            }
            _ => Ok(recipe),
        }
    }

    /// Its fields, in order.
    pub fn names(&self) -> Vec<&str> {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Field(name, _) => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }

    /// How many salts there are.
    pub fn buckets(&self) -> Option<u16> {
        match self.parts.first() {
            Some(Part::Salt(buckets)) => Some(*buckets),
            _ => None,
        }
    }

    /// Bytes in front of a key that spread it, and are no field.
    pub fn spread_len(&self) -> usize {
        match self.parts.first() {
            Some(Part::Salt(_)) => 1,
            Some(Part::Hash(_, digits)) => *digits,
            _ => 0,
        }
    }

    /// The key of fields, given in any order. `IllegalArgument`: one is missing, unknown, or no such value.
    pub fn encode(&self, fields: &Fields) -> Result<RowKey> {
        self.check_known(fields)?;
        let names = self.names();
        if let Some(missing) = names.iter().find(|name| !fields.iter().any(|(known, _)| known == *name)) {
            return Err(wrong(format!("field {missing} is missing; the key has {}", names.join(", "))));
        }
        let (bytes, of_field) = self.body(fields, names.len())?;
        let spread = self.spread(&bytes, of_field.as_deref());
        checked([spread, bytes].concat())
    }

    /// What keys with these fields, the first ones of the recipe, begin with: one for each salt, in the order of salts.
    /// `IllegalArgument` besides: other fields stand before them; or all keys begin with a digest of what is not given.
    pub fn prefixes(&self, fields: &Fields) -> Result<Vec<Vec<u8>>> {
        let first = self.first(fields)?;
        if first == self.names().len() {
            return Ok(vec![self.encode(fields)?]);
        }
        let (bytes, of_field) = self.body(fields, first)?;
        Ok(match self.parts.first() {
            Some(Part::Salt(buckets)) => (0..*buckets).map(|salt| [&[salt as u8], bytes.as_slice()].concat()).collect(),
            Some(Part::Hash(..)) if first == 0 => vec![Vec::new()],
            Some(Part::Hash(Some(_), _)) if of_field.is_some() => {
                vec![[self.spread(&bytes, of_field.as_deref()), bytes].concat()]
            }
            Some(Part::Hash(..)) => {
                let text = "keys begin with a digest of more than these fields: give all that it is of";
                return Err(wrong(text.to_owned()));
            }
            _ => vec![bytes],
        })
    }

    /// What keys with these fields, the first ones of the recipe, have behind what spreads them.
    pub fn behind_spread(&self, fields: &Fields) -> Result<Vec<u8>> {
        let first = self.first(fields)?;
        Ok(self.body(fields, first)?.0)
    }

    /// How many fields are given, which are the first ones.
    fn first(&self, fields: &Fields) -> Result<usize> {
        self.check_known(fields)?;
        let names = self.names();
        let given = |name: &&str| fields.iter().any(|(known, _)| known == name);
        let first = names.iter().take_while(|name| given(name)).count();
        if first < fields.len() {
            let before = names[first];
            return Err(wrong(format!("field {before} is missing: keys are found by their first fields")));
        }
        Ok(first)
    }

    /// The fields of a key. `IllegalArgument`: the recipe makes no such key.
    pub fn decode(&self, key: &[u8]) -> Result<Fields> {
        let no_key = || wrong(format!("`{}` is no key of this recipe", to_string_binary(key)));
        let mut rest = key.get(self.spread_len()..).ok_or_else(no_key)?;
        let mut fields = Fields::new();
        for (at, part) in self.parts.iter().enumerate() {
            let len = match part {
                Part::Salt(_) | Part::Hash(..) => 0,
                // A text took it along.
                Part::Literal(_) if self.ends_text(at) => 0,
                Part::Literal(bytes) => rest.starts_with(bytes).then_some(bytes.len()).ok_or_else(no_key)?,
                Part::Field(name, coding) => {
                    let (value, len) = coding.decode(rest, self.stop(at)).ok_or_else(no_key)?;
                    fields.push((name.clone(), value));
                    len
                }
            };
            rest = &rest[len..];
        }
        // Not only what is left over: another salt would be another row.
        match rest.is_empty() && self.encode(&fields).is_ok_and(|made| made == key) {
            true => Ok(fields),
            false => Err(no_key()),
        }
    }

    fn check_known(&self, fields: &Fields) -> Result<()> {
        let names = self.names();
        match fields.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            Some((name, _)) => {
                Err(wrong(format!("there is no field {}; the key has {}", name.escape_debug(), names.join(", "))))
            }
            None => Ok(()),
        }
    }

    /// The bytes of the first fields, and those of the field that the digest is of, if it is among them.
    fn body(&self, fields: &Fields, first: usize) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let (mut bytes, mut of_field, mut seen) = (Vec::new(), None, 0);
        for (at, part) in self.parts.iter().enumerate() {
            match part {
                Part::Salt(_) | Part::Hash(..) => {}
                Part::Literal(_) if self.ends_text(at) => {}
                Part::Literal(literal) => bytes.extend_from_slice(literal),
                Part::Field(..) if seen == first => break,
                Part::Field(name, coding) => {
                    seen += 1;
                    let value = fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice());
                    let lacking = || Error::new(ErrorKind::IllegalArgument, format!("field {name} is missing"));
                    let own = coding.encode(name, value.ok_or_else(lacking)?, self.stop(at))?;
                    if matches!(self.parts.first(), Some(Part::Hash(Some(of), _)) if of == name) {
                        of_field = Some(own.clone());
                    }
                    bytes.extend(own);
                }
            }
        }
        Ok((bytes, of_field))
    }

    fn spread(&self, bytes: &[u8], of_field: Option<&[u8]>) -> Vec<u8> {
        match self.parts.first() {
            Some(Part::Salt(buckets)) => vec![digest::salt(bytes, *buckets)],
            Some(Part::Hash(_, digits)) => digest::digits(of_field.unwrap_or(bytes), *digits),
            _ => Vec::new(),
        }
    }

    /// What ends a text that stands here: the literal behind it, else a zero byte, nothing at the end.
    fn stop(&self, at: usize) -> &[u8] {
        match (&self.parts[at], self.parts.get(at + 1)) {
            (Part::Field(_, coding), _) if !coding.is_open() => &[],
            (_, None) => &[],
            (_, Some(Part::Literal(bytes))) => bytes,
            (_, Some(_)) => ZERO,
        }
    }

    /// Whether the literal that stands here ends a text.
    fn ends_text(&self, at: usize) -> bool {
        at > 0 && matches!(&self.parts[at - 1], Part::Field(_, coding) if coding.is_open())
    }
}

/// Words between blanks; those in brackets and quotes are none.
fn words(text: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut depth, mut quoted) = (Vec::new(), String::new(), 0_usize, false);
    for c in text.chars() {
        match c {
            '\'' if depth == 0 => quoted = !quoted,
            '(' if !quoted && depth == DEPTH_MAX => {
                return Err(wrong(format!("a recipe has {DEPTH_MAX} brackets in each other at most")));
            }
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.checked_sub(1).ok_or_else(|| unbalanced(text))?,
            _ => {}
        }
        if c.is_whitespace() && depth == 0 && !quoted {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        } else {
            word.push(c);
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    if depth > 0 || quoted { Err(unbalanced(text)) } else { Ok(words) }
}

fn unbalanced(text: &str) -> Error {
    wrong(format!("`{}`: a bracket or a quote is not closed", text.escape_debug()))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

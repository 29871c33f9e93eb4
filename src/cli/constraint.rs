//! create-check, drop-check.

use serde_json::json;

use super::Answer;
use super::args::{CreateCheckArgs, DropCheckArgs};
use super::given::open;
use crate::backend::Backend;
use crate::model::{ConstraintSchema, FamilySchema, Origin};
use crate::tree::schema::constraint as schema_constraint;
use crate::{Error, ErrorKind, Result};

pub fn create_check(args: &CreateCheckArgs) -> Result<Answer> {
    let mut constraint = ConstraintSchema::new(args.name.as_str());
    for (name, text) in [
        ("columns", &args.columns),
        ("type", &args.value_type),
        ("length", &args.length),
        ("required", &args.required),
        ("references", &args.references),
    ] {
        constraint.set_attribute(name, text.as_deref())?;
    }
    constraint.rule()?;
    if constraint.attributes().keys().all(|name| name == "columns") {
        let text = "a check asks for something: --type, --length, --required or --references";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let (backend, table) = open(&args.store, &args.table)?;
    let add = |catalogue: &crate::model::Catalogue| {
        schema_constraint::add(catalogue, &table, &args.family, constraint.clone())
    };
    backend.as_ref().alter_from(Origin::default(), &add)?;
    Ok(Answer::Yes)
}

pub fn drop_check(args: &DropCheckArgs) -> Result<Answer> {
    let (backend, table) = open(&args.store, &args.table)?;
    let remove =
        |catalogue: &crate::model::Catalogue| schema_constraint::remove(catalogue, &table, &args.family, &args.name);
    (backend.as_ref() as &dyn Backend).alter_from(Origin::default(), &remove)?;
    Ok(Answer::Yes)
}

/// A constraint as JSON.
pub fn described((family, constraint): (&FamilySchema, &ConstraintSchema)) -> serde_json::Value {
    json!({ "name": constraint.name, "family": family.name, "attributes": constraint.attributes() })
}

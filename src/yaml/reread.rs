//! Reparses one item from its own text, so that rarely needed data (metadata, shapes) need not stay in memory.

use std::sync::Arc;

use super::{Anchors, Form, Item, Node, Problem, Stop, each_item, json_items};

/// Parses JSON.
pub fn json(text: &str) -> Result<Arc<Node>, Problem> {
    reread(text, Form::Json, &Anchors::default())
}

/// Parses an item from the text of its span. `anchors` are those of the whole list.
pub fn reread(text: &str, form: Form, anchors: &Anchors<'_>) -> Result<Arc<Node>, Problem> {
    let mut found = None;
    let mut keep = |item: Item, _: &Anchors<'_>| {
        found = Some(item.node);
        Ok(())
    };
    let read = match form {
        Form::Block { column } => {
            let list = format!("-\n{:column$}{text}", "");
            each_item(&list, &mut Anchors::within(anchors), &mut keep)
        }
        Form::Flow => each_item(&format!("[{text}]"), &mut Anchors::within(anchors), &mut keep),
        Form::Json => json_items(&format!("[{text}]"), &mut keep),
    };
    match read {
        Ok(()) => found.ok_or_else(|| Problem::new(0, "has no item left")),
        Err(Stop::Problem(problem)) => Err(problem),
        Err(Stop::Caller(error)) => Err(Problem::new(0, error.to_string())),
    }
}

//! Compares values of metadata and objects. The order of mappings and sets is ignored, that of lists is not; as in
//! Python, an integer equals the float of the same value.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::yaml::Node;

/// Maximum length in bytes of an object's text that is parsed for comparison.
pub const MAX_LEN: u64 = 64 << 20;
/// Maximum number of nodes compared; aliases can multiply the nodes in the text.
const MAX_NODES: u64 = 20_000_000;

/// Receives the key, and its value on both sides.
pub type Each<'a> = &'a mut dyn FnMut(String, Option<Arc<Node>>, Option<Arc<Node>>) -> ControlFlow<()>;

/// Reports all differences; None if there is too much to compare.
pub fn compare(a: &Arc<Node>, b: &Arc<Node>, each: Each<'_>) -> Option<ControlFlow<()>> {
    compare_most(a, b, MAX_NODES, each)
}

fn compare_most(a: &Arc<Node>, b: &Arc<Node>, most: u64, each: Each<'_>) -> Option<ControlFlow<()>> {
    let mut comparing = Comparing { left: most, each };
    let flow = comparing.nodes(a, b, "");
    (comparing.left > 0).then_some(flow)
}

struct Comparing<'a> {
    left: u64,
    each: Each<'a>,
}

impl Comparing<'_> {
    fn nodes(&mut self, a: &Arc<Node>, b: &Arc<Node>, key: &str) -> ControlFlow<()> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return ControlFlow::Break(());
        }
        match (&**a, &**b) {
            (Node::Map(x), Node::Map(y)) => self.maps(x, y, key),
            (Node::Seq(x), Node::Seq(y)) => self.lists(x, y, key),
            (Node::Set(x), Node::Set(y)) => {
                let pairs = |items: &[Arc<Node>]| {
                    items.iter().map(|item| (item.clone(), item.clone())).collect::<Vec<_>>()
                };
                self.maps(&pairs(x), &pairs(y), key)
            }
            (x, y) if is_same(x, y) => ControlFlow::Continue(()),
            _ => (self.each)(key.to_owned(), Some(a.clone()), Some(b.clone())),
        }
    }

    fn maps(
        &mut self,
        a: &[(Arc<Node>, Arc<Node>)],
        b: &[(Arc<Node>, Arc<Node>)],
        path: &str,
    ) -> ControlFlow<()> {
        // The debug text of a key also distinguishes its type.
        let mut others: HashMap<String, &Arc<Node>> =
            b.iter().map(|(key, value)| (format!("{key:?}"), value)).collect();
        for (key, value) in a {
            match others.remove(&format!("{key:?}")) {
                Some(other) => self.nodes(value, other, &below(path, key))?,
                None => (self.each)(below(path, key), Some(value.clone()), None)?,
            }
        }
        for (key, value) in b {
            if others.remove(&format!("{key:?}")).is_some() {
                (self.each)(below(path, key), None, Some(value.clone()))?;
            }
        }
        ControlFlow::Continue(())
    }

    fn lists(&mut self, a: &[Arc<Node>], b: &[Arc<Node>], path: &str) -> ControlFlow<()> {
        for number in 0..a.len().max(b.len()) {
            let key = format!("{path}[{number}]");
            match (a.get(number), b.get(number)) {
                (Some(x), Some(y)) => self.nodes(x, y, &key)?,
                (x, y) => (self.each)(key, x.cloned(), y.cloned())?,
            }
        }
        ControlFlow::Continue(())
    }
}

fn below(path: &str, key: &Node) -> String {
    let name = match key {
        Node::Str(text) => text.lossy().into_owned(),
        other => crate::yaml::to_json(other).to_string(),
    };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

fn is_same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Float(x), Node::Float(y)) => x == y || x.is_nan() && y.is_nan(),
        (Node::Int(digits), Node::Float(number)) | (Node::Float(number), Node::Int(digits)) => {
            // Only integers that a float represents exactly.
            digits.parse::<i64>().is_ok_and(|whole| whole.unsigned_abs() < 1 << 53 && whole as f64 == *number)
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_not_called_the_same() {
        let ten = |item: Arc<Node>| Arc::new(Node::Seq(vec![item; 10]));
        let made = || (0..4).fold(Arc::new(Node::text("x")), |inner, _| ten(inner));
        let compared = |most| compare_most(&made(), &made(), most, &mut |_, _, _| ControlFlow::Break(()));
        assert_eq!(compared(20_000), Some(ControlFlow::Continue(())));
        assert_eq!(compared(10_000), None);
    }
}

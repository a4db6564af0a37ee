//! The order in which nodes can be measured, and the cycles where an array contains itself.

use super::{Edge, Ix, Node};

/// Every node after its parts, where possible.
pub fn order(nodes: &[Node]) -> Vec<Ix> {
    let mut order = Vec::with_capacity(nodes.len());
    let mut seen = vec![false; nodes.len()];
    for start in 0..nodes.len() {
        let mut stack = vec![(start, false)];
        while let Some((ix, is_done)) = stack.pop() {
            if is_done {
                order.push(ix);
                continue;
            }
            let Some(node) = nodes.get(ix).filter(|_| !seen.get(ix).copied().unwrap_or(true)) else {
                continue;
            };
            if let Some(seen) = seen.get_mut(ix) {
                *seen = true;
            }
            stack.push((ix, true));
            stack.extend(node.edges().into_iter().map(|edge| (edge.to, false)));
        }
    }
    order
}

/// The edges that refer to a node from within itself: both ends in one strongly connected component (Tarjan's
/// algorithm, without recursion).
pub fn circles(nodes: &[Node]) -> Vec<(Ix, Ix)> {
    const NEVER: usize = usize::MAX;
    let edges: Vec<Vec<Edge>> = nodes.iter().map(Node::edges).collect();
    let (mut number, mut low) = (vec![NEVER; nodes.len()], vec![NEVER; nodes.len()]);
    let (mut component, mut next) = (vec![NEVER; nodes.len()], 0);
    let (mut open, mut found) = (Vec::new(), 0);
    for start in 0..nodes.len() {
        let mut calls = if number[start] == NEVER { vec![(start, 0)] } else { Vec::new() };
        while let Some((ix, at)) = calls.pop() {
            if at == 0 {
                (number[ix], low[ix]) = (next, next);
                next += 1;
                open.push(ix);
            }
            if let Some(edge) = edges[ix].get(at) {
                calls.push((ix, at + 1));
                if number[edge.to] == NEVER {
                    calls.push((edge.to, 0));
                } else if component[edge.to] == NEVER {
                    low[ix] = low[ix].min(number[edge.to]);
                }
                continue;
            }
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[ix]);
            }
            if low[ix] == number[ix] {
                while let Some(member) = open.pop() {
                    component[member] = found;
                    if member == ix {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    let closes = |from: Ix, edge: &&Edge| edge.is_ref && component[from] == component[edge.to];
    (0..nodes.len())
        .flat_map(|from| {
            edges[from].iter().filter(move |edge| closes(from, edge)).map(move |edge| (from, edge.to))
        })
        .collect()
}

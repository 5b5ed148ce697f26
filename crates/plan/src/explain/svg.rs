//! Plans as SVG: boxes in rows, `return` on top, each row above what it waits for
//! (`docs/reference/plan.md`).
//!
//! The layout is that of layered graphs in its simplest form: a row per depth, boxes in the order of
//! those above them. It is linear in the picture but for the sorting of rows.

use std::fmt::Write;

use qlio_data::{Object, Value, codec::xml};

use super::{Edge, EdgeKind, Explanation, Latency, latency::milliseconds};

/// Width of a character of labels, in pixels.
const CHARACTER: usize = 7;
/// Height of a box.
const BOX_HEIGHT: usize = 30;
/// Blank on both sides of a label.
const PADDING: usize = 12;
/// Between two boxes of a row, and around the picture.
const GAP: usize = 24;
/// Between two rows.
const ROW_GAP: usize = 46;
/// The longest label that is drawn, in characters.
const LABEL_CHARACTERS_MAX: usize = 80;

/// A box of the picture.
#[derive(Clone, Default)]
struct Placed {
    left: usize,
    top: usize,
    width: usize,
    label: String,
}

/// Where all boxes stand.
pub(super) struct Picture {
    /// By position of the node.
    boxes: Vec<Placed>,
    /// Width and height.
    pub(super) size: [usize; 2],
}

impl Picture {
    /// The place of a box.
    pub(super) fn rectangle(&self, position: usize) -> Object {
        let Placed { left, top, width, .. } = self.boxes[position];
        let sides = [("x", left), ("y", top), ("width", width), ("height", BOX_HEIGHT)];
        sides.map(|(name, side)| (name, Value::from(side as u64))).into_iter().collect()
    }
}

/// Draws the picture; with a measured run, how long nodes took and the critical path in red.
pub fn to_svg(explanation: &Explanation, latency: Option<&Latency>) -> String {
    let Picture { boxes, size: [width, height] } = place_nodes(explanation, latency);
    let is_critical = latency.map(Latency::is_critical).unwrap_or_default();
    let is_critical = |position: usize| is_critical.get(position).copied().unwrap_or(false);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for edge in &explanation.edges {
        let is_on_path = is_critical(edge.from) && is_critical(edge.to);
        line(edge, &boxes[edge.from], &boxes[edge.to], is_on_path, &mut out);
    }
    for (position, placed) in boxes.iter().enumerate() {
        let (Placed { left, top, width, label }, node) = (placed, &explanation.nodes[position]);
        let border = if is_critical(position) {
            "stroke=\"#d00\" stroke-width=\"3\""
        } else {
            "stroke=\"#555\""
        };
        let (x, y) = (left + width / 2, top + BOX_HEIGHT / 2 + 4);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<g id=\"{}\"><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" \
             rx=\"3\" fill=\"#fff\" {border}/><text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text></g>",
            node.id,
            xml::escape(label)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// All boxes, by position, and the size of the picture.
pub(super) fn place_nodes(explanation: &Explanation, latency: Option<&Latency>) -> Picture {
    let rows = rows(explanation);
    let mut boxes: Vec<Placed> = (0..explanation.nodes.len())
        .map(|position| {
            let mut label = explanation.nodes[position].label();
            if let Some(measured) = latency.and_then(|latency| latency.measured(position)) {
                let _ = write!(label, " {}", milliseconds(measured.elapsed));
            }
            let label = shorten_label(label);
            // Characters beyond Latin letters may be as wide as two.
            let cells: usize = label.chars().map(|c| 1 + usize::from(c > '\u{2ff}')).sum();
            Placed { label, width: cells * CHARACTER + 2 * PADDING, ..Placed::default() }
        })
        .collect();
    let row_width = |row: &[usize], boxes: &[Placed]| -> usize {
        row.iter().map(|node| boxes[*node].width).sum::<usize>() + GAP * row.len().saturating_sub(1)
    };
    let widest = rows.iter().map(|row| row_width(row, &boxes)).max().unwrap_or_default();
    let mut top = GAP;
    for row in &rows {
        let mut left = GAP + (widest - row_width(row, &boxes)) / 2;
        for node in row {
            (boxes[*node].left, boxes[*node].top) = (left, top);
            left += boxes[*node].width + GAP;
        }
        top += BOX_HEIGHT + ROW_GAP;
    }
    Picture { boxes, size: [widest + 2 * GAP, top - ROW_GAP.min(top) + GAP] }
}

/// Positions by their distance from `return`, the longest way counted; in a row those with parents more
/// to the left come first.
fn rows(explanation: &Explanation) -> Vec<Vec<usize>> {
    let edges = explanation.edges_by_node();
    let order = explanation.top_down();
    let count = explanation.nodes.len();
    let mut parents = vec![0_usize; count];
    for edge in &explanation.edges {
        parents[edge.to] += 1;
    }
    let mut ready: Vec<usize> = order.iter().copied().filter(|node| parents[*node] == 0).collect();
    let mut depth = vec![0_usize; count];
    let mut next = 0;
    while let Some(node) = ready.get(next).copied() {
        next += 1;
        for edge in edges[node] {
            depth[edge.to] = depth[edge.to].max(depth[node] + 1);
            parents[edge.to] -= 1;
            if parents[edge.to] == 0 {
                ready.push(edge.to);
            }
        }
    }
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for node in order {
        if rows.len() <= depth[node] {
            rows.resize_with(depth[node] + 1, Vec::new);
        }
        rows[depth[node]].push(node);
    }
    // Twice the mean place of those above, seen so far, keeps whole numbers.
    let mut sum = vec![(0_usize, 0_usize); count];
    for row in &mut rows {
        row.sort_by_key(|node| (2 * sum[*node].0).checked_div(sum[*node].1).unwrap_or(usize::MAX));
        for (place, node) in row.iter().enumerate() {
            for edge in edges[*node] {
                sum[edge.to] = (sum[edge.to].0 + place, sum[edge.to].1 + 1);
            }
        }
    }
    rows
}

/// A curve from the lower edge of a box to the upper edge of another.
fn line(edge: &Edge, from: &Placed, to: &Placed, is_critical: bool, out: &mut String) {
    let (x1, y1) = (from.left + from.width / 2, from.top + BOX_HEIGHT);
    let (x2, y2) = (to.left + to.width / 2, to.top);
    let bend = ROW_GAP / 2;
    let style = match edge.kind {
        EdgeKind::Dependency => "stroke=\"#555\"",
        EdgeKind::Orphan => "stroke=\"#bbb\"",
        EdgeKind::Fallback => "stroke=\"#555\" stroke-dasharray=\"6 4\"",
        EdgeKind::Scope(_) => "stroke=\"#555\" stroke-dasharray=\"1 4\"",
    };
    let style = if is_critical {
        "stroke=\"#d00\" stroke-width=\"3\"".to_owned()
    } else {
        style.to_owned()
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<path class=\"{}\" d=\"M{x1} {y1}C{x1} {} {x2} {} {x2} {y2}\" fill=\"none\" {style} \
         marker-end=\"url(#a)\"/>",
        edge.kind.as_str(),
        y1 + bend,
        y2.saturating_sub(bend)
    );
    if let EdgeKind::Scope(_) = edge.kind {
        let (x, y) = (usize::midpoint(x1, x2), usize::midpoint(y1, y2));
        let branch = edge.kind.as_str().trim_start_matches("scope-");
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#777\">{branch}</text>"
        );
    }
}

fn shorten_label(label: String) -> String {
    match label.char_indices().nth(LABEL_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &label[..end]),
        None => label,
    }
}

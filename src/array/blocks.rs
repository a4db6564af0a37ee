//! Divides arrays into blocks that can be read in long runs in both C and F order.

/// The shape of blocks of at most `most` elements for walking a C-order and an F-order array side by side: up to `run`
/// elements along the last axes (contiguous in C order), then as many as fit along the first ones (contiguous in F
/// order).
pub fn sizes(shape: &[u64], run: u64, most: u64) -> Vec<u64> {
    let mut sizes = vec![1; shape.len()];
    let mut grow = |axes: &mut dyn Iterator<Item = usize>, until: u64| {
        for axis in axes {
            let product: u64 = sizes.iter().product();
            if let (Some(size), Some(whole)) = (sizes.get_mut(axis), shape.get(axis)) {
                *size = (*size * (until / product).max(1)).min(*whole).max(1);
            }
        }
    };
    grow(&mut (0..shape.len()).rev(), run.min(most));
    grow(&mut (0..shape.len()), most);
    sizes
}

/// Moves `start` to the next block, the last axis fastest; returns false after the last block.
pub fn advance(start: &mut [u64], sizes: &[u64], shape: &[u64]) -> bool {
    for ((at, size), whole) in start.iter_mut().zip(sizes).zip(shape).rev() {
        *at += size;
        if *at < *whole {
            return true;
        }
        *at = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_whole_once() {
        for shape in [vec![7, 5, 3], vec![1, 9], vec![2000, 3], vec![3, 2000], vec![40, 1, 50, 2]] {
            let sizes = super::sizes(&shape, 512, 64);
            assert!(sizes.iter().product::<u64>() <= 64, "{shape:?}: {sizes:?}");
            let (mut start, mut covered) = (vec![0; shape.len()], 0);
            loop {
                let counts =
                    start.iter().zip(&sizes).zip(&shape).map(|((at, most), size)| *most.min(&(size - at)));
                covered += counts.product::<u64>();
                if !advance(&mut start, &sizes, &shape) {
                    break;
                }
            }
            assert_eq!(covered, shape.iter().product::<u64>());
        }
        assert_eq!(super::sizes(&[10_000, 10_000], 512, 1 << 18), [512, 512]);
    }
}

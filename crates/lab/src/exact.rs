//! A sum of products in twice the bits of f64: the error of each product and of each sum is kept.

/// The sum, and that of the products' absolute values.
pub fn exact(factors: impl Iterator<Item = (f64, f64)>) -> [f64; 2] {
    let (mut sum, mut rest, mut size) = (0.0f64, 0.0, 0.0);
    for (a, b) in factors {
        let product = a * b;
        let next = sum + product;
        let back = next - sum;
        rest += a.mul_add(b, -product) + (sum - (next - back)) + (product - back);
        (sum, size) = (next, size + product.abs());
    }
    [sum + rest, size]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_f64_would_round_is_kept() {
        let small = 2f64.powi(-60);
        // In f64, the second and the third summand would be nothing beside the first.
        assert_eq!(exact([(1.0, 1.0), (small, 1.0), (small, 1.0), (-1.0, 1.0)].into_iter()), [2.0 * small, 2.0]);
        let near = 1.0 + 2f64.powi(-40);
        assert_eq!(exact([(near, near), (-near, 1.0)].into_iter())[0], 2f64.powi(-40) + 2f64.powi(-80));
    }
}

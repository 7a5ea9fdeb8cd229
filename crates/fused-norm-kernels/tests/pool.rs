//! In a process of its own: what is too small for a second thread does not start rayon's pool, so that
//! the user can still configure it.

use fused_norm_kernels::Problem;
use fused_norm_kernels::cpu::{self, Affine, Rows, Wanted};

#[test]
fn small_problems_leave_the_global_pool_alone() {
    for (rows, row_len) in [(1, 4), (1, 1_000_000), (31, 4096)] {
        let problem = Problem::new(rows, row_len, row_len, 1e-5).unwrap();
        let mut x = vec![1.0_f32; rows * row_len];
        let rows = Rows::dense(&x, row_len);
        let (_, rstd) = cpu::forward_with_rstd(&problem, rows, Affine::None).unwrap();
        let wanted = Wanted {
            dx: true,
            dgamma: false,
            dbeta: true,
        };
        cpu::backward(&problem, rows, rows, &rstd, None, wanted).unwrap();
        cpu::forward_in_place(&problem, &mut x, Affine::None).unwrap();
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build_global();
    assert!(pool.is_ok(), "{pool:?}");
}

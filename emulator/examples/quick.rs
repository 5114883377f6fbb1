use emulator::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: usize = args[1].parse().unwrap();
    let f = |s: usize, d: usize| (0..s).map(|i| ((i * 7919 + d * 13) % 17) as f32 - 8.0).collect::<Vec<f32>>();
    let (a, b) = (f(n * n, 1), f(n * n, 2));
    for (file, entry, bm, bn, th) in [
        ("l0float", "gemm_naive", 16, 16, (16, 16)),
        ("l1float", "gemm_tiled", 16, 16, (16, 16)),
        ("l2float", "gemm_register", 32, 32, (32, 1)),
        ("l2bigfloat", "gemm_register", 128, 128, (256, 1)),
        ("l3float", "gemm_double_buffer", 32, 32, (32, 1)),
        ("l3bigfloat", "gemm_double_buffer", 128, 128, (256, 1)),
    ] {
        let text = std::fs::read_to_string(format!("/tmp/proto/{file}.ptx")).unwrap();
        let t = Instant::now();
        let module = Module::parse(&text).unwrap();
        let kernel = module.kernel(entry).unwrap();
        let decode = t.elapsed();
        for sanitize in [false, true] {
            let mut d = Device::new();
            let (ba, bb, bc) = (d.alloc("A", 4 * n * n), d.alloc("B", 4 * n * n), d.alloc("C", 4 * n * n));
            let bytes = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
            d.write(ba, &bytes(&a)).unwrap();
            d.write(bb, &bytes(&b)).unwrap();
            d.write(bc, &vec![0xff; 4 * n * n]).unwrap();
            let mut l = Launch::new(Dim3::xy(n.div_ceil(bn) as u32, n.div_ceil(bm) as u32), Dim3::xy(th.0, th.1));
            l.sanitize = sanitize;
            let dims = Argument::U32(n as u32);
            let t = Instant::now();
            let r = d.launch(
                &kernel,
                l,
                &[Argument::Buffer(ba), Argument::Buffer(bb), Argument::Buffer(bc), dims, dims, dims],
            );
            let e = t.elapsed();
            let r = match r {
                Ok(r) => r,
                Err(e) => {
                    println!("{file}: {e}");
                    continue;
                }
            };
            let mut out = vec![0; 4 * n * n];
            d.read(bc, &mut out).unwrap();
            let mut bad = 0;
            for i in (0..n).step_by(n / 16 + 1) {
                for j in (0..n).step_by(n / 16 + 1) {
                    let want: f32 = (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
                    let got = f32::from_le_bytes(out[4 * (i * n + j)..][..4].try_into().unwrap());
                    if got != want {
                        bad += 1
                    }
                }
            }
            println!(
                "{file:12} sanitize {sanitize:5} {:8.1} ms {:6.2} GFLOP/s {:6.2} G thread instr/s, bad {bad}, decode {:?}, gld {:?} sld {:?}",
                e.as_secs_f64() * 1e3,
                2.0 * (n as f64).powi(3) / e.as_secs_f64() / 1e9,
                r.total.thread_instructions() as f64 / e.as_secs_f64() / 1e9,
                decode,
                (r.total.global_load.requests, r.total.global_load.sectors),
                (r.total.shared_load.requests, r.total.shared_load.wavefronts)
            );
        }
    }
}

//! Launches in clusters: which shapes there are, what the special registers say, that as many run together as fit, and that
//! nothing depends on the number of this machine's threads.

use emulator::gpu::{A100, H200};
use emulator::occupancy::{cluster_occupancy, occupancy};
use emulator::{Argument, Device, Dim3, Launch, LaunchError, Module, Report, Schedule};

/// A kernel with a buffer of words, `%out`, and the linear number of its block, `%block`.
fn kernel(directives: &str, body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) {directives}\n{{\n\
         .shared .align 128 .b8 tile[1024];\n.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b32 %block; .reg .b64 %d<9>; .reg .b64 %out;\n\
         ld.param.u64 %out, [out];\nmov.u32 %r20, %ctaid.x;\nmov.u32 %r21, %ctaid.y;\nmov.u32 %r22, %ctaid.z;\n\
         mov.u32 %r23, %nctaid.x;\nmov.u32 %r24, %nctaid.y;\nmad.lo.u32 %r21, %r22, %r24, %r21;\nmad.lo.u32 %block, %r21, %r23, %r20;\n\
         {body}\nret;\n}}\n"
    )
}

fn launch_on(device: &mut Device, text: &str, launch: Launch, words: usize) -> Result<(Vec<u32>, Report), LaunchError> {
    let kernel = Module::parse(text).and_then(|module| module.kernel("k")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let out = device.alloc("out", 4 * words);
    device.write(out, &vec![0; 4 * words]).expect("it has this size");
    let report = device.launch(&kernel, launch, &[Argument::Buffer(out)])?;
    let mut bytes = vec![0; 4 * words];
    device.read(out, &mut bytes).expect("it has this size");
    let word = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("4 bytes"));
    Ok((bytes.chunks_exact(4).map(word).collect(), report))
}

fn run(text: &str, launch: Launch, words: usize) -> Result<(Vec<u32>, Report), LaunchError> {
    launch_on(&mut Device::new(), text, launch, words)
}

fn refusal(directives: &str, launch: Launch) -> String {
    match run(&kernel(directives, ""), launch, 1) {
        Err(LaunchError::Refused(why)) => why.to_string(),
        other => panic!("{:?}", other.map(|(_, report)| report)),
    }
}

const OF_TWO: &str = ".explicitcluster .reqnctapercluster 2, 1, 1";

#[test]
fn impossible_clusters_are_refused_by_what_is_wrong() {
    let launch = |grid: u32| Launch::new(grid, 32);
    assert_eq!(refusal(OF_TWO, launch(3)), "a grid of (3,1) thread blocks is no whole number of clusters of (2,1)");
    let six = Launch::new((4, 3), 32).cluster(2, 2, 1);
    assert_eq!(refusal("", six), "a grid of (4,3) thread blocks is no whole number of clusters of (2,2)");
    let wide = refusal("", launch(32).cluster(16, 1, 1));
    assert_eq!(wide, "clusters of (16,1) are 16 thread blocks, of 1 to 8 that a cluster may have");
    let none = refusal("", launch(32).cluster(0, 1, 1));
    assert_eq!(none, "clusters of (0,1) are 0 thread blocks, of 1 to 8 that a cluster may have");
    let limited = refusal(".maxclusterrank 2", launch(32).cluster(4, 1, 1));
    assert_eq!(limited, "clusters of (4,1) are 4 thread blocks, of 1 to 2 that a cluster may have");
    let other = refusal(OF_TWO, launch(4).cluster(4, 1, 1));
    assert_eq!(other, "clusters of (4,1) thread blocks, and k needs .reqnctapercluster (2,1)");
    let old = refusal(OF_TWO, launch(4).architecture(80));
    assert_eq!(old, "clusters of (2,1) thread blocks on sm_80: the first GPUs that have them are of sm_90");
    let unnamed = refusal(".explicitcluster", launch(4));
    assert!(unnamed.starts_with("k is compiled for clusters of a size that the launch names, and it names none"));
    let large = launch(4).cluster(u32::MAX, u32::MAX, u32::MAX);
    assert!(refusal("", large).contains("thread blocks, of 1 to 8"), "{}", refusal("", large));
}

#[test]
fn special_registers_say_where_a_block_is() {
    let names = [
        "%clusterid.x",
        "%clusterid.y",
        "%clusterid.z",
        "%nclusterid.x",
        "%nclusterid.y",
        "%nclusterid.z",
        "%cluster_ctaid.x",
        "%cluster_ctaid.y",
        "%cluster_ctaid.z",
        "%cluster_nctaid.x",
        "%cluster_nctaid.y",
        "%cluster_nctaid.z",
        "%cluster_ctarank",
        "%cluster_nctarank",
    ];
    let mut body = String::from("mad.wide.u32 %out, %block, 64, %out;\n");
    for (n, name) in names.iter().enumerate() {
        body += &format!("mov.u32 %r1, {name};\nst.global.u32 [%out+{}], %r1;\n", 4 * n);
    }
    body += "mov.pred %p1, %is_explicit_cluster;\nselp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%out+56], %r1;";
    let text = kernel("", &body);
    let grid = Dim3 { x: 4, y: 6, z: 2 };
    for (explicit, [x, y, z]) in [(true, [2, 3, 1]), (true, [1, 3, 2]), (true, [4, 1, 2]), (false, [1, 1, 1])] {
        let cluster = Dim3 { x, y, z };
        let size = if explicit { cluster } else { Dim3 { x: 1, y: 1, z: 1 } };
        let launch = Launch::new(grid, 1);
        let launch = if explicit { launch.cluster(cluster.x, cluster.y, cluster.z) } else { launch };
        let (words, _) = run(&text, launch, 16 * 48).expect("it runs");
        for block in 0..48u32 {
            let at = [block % 4, block / 4 % 6, block / 24];
            let size = [size.x, size.y, size.z];
            let grid = [4, 6, 2];
            let mut wanted = Vec::new();
            wanted.extend((0..3).map(|n| at[n] / size[n]));
            wanted.extend((0..3).map(|n| grid[n] / size[n]));
            let within: Vec<u32> = (0..3).map(|n| at[n] % size[n]).collect();
            wanted.extend(&within);
            wanted.extend(size);
            wanted.push(within[0] + size[0] * (within[1] + size[1] * within[2]));
            wanted.push(size.iter().product());
            wanted.push(explicit.into());
            assert_eq!(words[16 * block as usize..][..15], wanted, "block {block}");
        }
    }
}

const SYNC: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

/// Each block adds its number to a word of rank 0, which puts the sum into its cluster's word.
fn sums() -> String {
    kernel(
        "",
        &format!(
            "mov.u32 %r1, %cluster_ctarank;\nmov.u32 %r2, %tid.x;\nor.b32 %r3, %r1, %r2;\nsetp.eq.u32 %p1, %r3, 0;\n\
             setp.eq.u32 %p2, %r2, 0;\n@%p1 st.shared.u32 [tile], 0;\n{SYNC}\
             mapa.shared::cluster.u32 %r4, tile, 0;\n@%p2 red.shared::cluster.add.u32 [%r4], %block;\n{SYNC}\
             mov.u32 %r5, %clusterid.x;\nmad.wide.u32 %d1, %r5, 4, %out;\n@!%p1 bra DONE;\n\
             ld.shared.u32 %r6, [tile];\nst.global.u32 [%d1], %r6;\nDONE:"
        ),
    )
}

#[test]
fn nothing_depends_on_the_number_of_threads_or_on_the_order() {
    for size in [1, 2, 4, 8] {
        let sum = |cluster: u32| (0..size).map(|rank| cluster * size + rank).sum::<u32>();
        let wanted: Vec<u32> = (0..64 / size).map(sum).collect();
        let launch = Launch::new(64, 64).cluster(size, 1, 1);
        let mut first: Option<Report> = None;
        for threads in [1, 2, 7] {
            let mut device = Device::new();
            device.set_threads(Some(threads));
            let (words, report) = launch_on(&mut device, &sums(), launch, 64 / size as usize).expect("it runs");
            assert_eq!(words, wanted, "{size} blocks, {threads} threads");
            assert_eq!(*first.get_or_insert(report.clone()), report, "{size} blocks, {threads} threads");
        }
        for schedule in Schedule::ALL {
            let (words, report) = run(&sums(), launch.schedule(schedule), 64 / size as usize).expect("it runs");
            assert_eq!((words, Some(report)), (wanted.clone(), first.clone()), "{size} blocks, {schedule:?}");
        }
    }
}

#[test]
fn waiting_counts_once_and_peers_memory_apart() {
    let (_, report) = run(&sums(), Launch::new(4, 32).cluster(4, 1, 1), 1).expect("it runs");
    // Two barriers, each an arrival and a wait, in four warps.
    assert_eq!(report.total.class(emulator::Class::Barrier).warp, 4 * 4);
    assert_eq!((report.total.peer_shared.requests, report.total.peer_shared.bytes), (3, 12), "rank 0 is at home");
    assert_eq!((report.total.shared_load.requests, report.total.shared_store.requests), (1, 1));
}

#[test]
fn a_cluster_starts_as_a_whole_whatever_the_gpu_holds() {
    for blocks in [1, 3, 4, 5, 9] {
        let launch = Launch::new(16, 32).cluster(4, 1, 1).resident_blocks(blocks);
        assert!(run(&sums(), launch, 4).is_ok(), "{blocks}");
    }
}

/// All blocks of the grid meet at a counter in global memory, behind a cluster barrier.
fn grid_barrier() -> String {
    kernel(
        "",
        &format!(
            "{SYNC}fence.acq_rel.gpu;\nmov.u32 %r7, %nctaid.x;\natom.global.add.u32 %r1, [%out], 1;\n\
             AGAIN:\nld.acquire.gpu.global.u32 %r2, [%out];\nsetp.lt.u32 %p1, %r2, %r7;\n@%p1 bra AGAIN;\n{SYNC}"
        ),
    )
}

#[test]
fn a_grid_barrier_of_clusters_needs_them_all_on_the_gpu() {
    let launch = Launch::new(16, 1).cluster(4, 1, 1);
    assert!(run(&grid_barrier(), launch, 1).is_ok());
    assert!(run(&grid_barrier(), launch.resident_blocks(16), 1).is_ok());
    for blocks in [12, 15] {
        let Err(LaunchError::Fault(fault)) = run(&grid_barrier(), launch.resident_blocks(blocks), 1) else {
            panic!("{blocks} blocks of 16 pass a barrier of all");
        };
        assert!(fault.message.contains("4 start only when one of these has ended"), "{}", fault.message);
    }
}

#[test]
fn a_cluster_fits_into_a_gpc() {
    // One block an SM: 132 SMs are six GPCs of 16 and two of 18.
    let clusters = |size| cluster_occupancy(&H200, 1024, 64, 200 * 1024, size);
    assert_eq!([1, 2, 4, 8, 16].map(clusters), [Some(132), Some(66), Some(32), Some(16), Some(8)]);
    assert_eq!(clusters(18), Some(2));
    assert_eq!((clusters(19), clusters(0)), (Some(0), None));
    let per_sm = occupancy(&H200, 256, 32, 0).blocks_per_sm;
    assert_eq!(cluster_occupancy(&H200, 256, 32, 0, 1), Some(132 * per_sm));
    assert_eq!(cluster_occupancy(&A100, 256, 32, 0, 2), None);
}

#[test]
fn kernels_wait_for_the_grid_before_them_and_take_four_kilobytes_by_value() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .visible .entry k(.param .align 64 .b8 p[4096], .param .u64 out)\n{\n\
        .reg .b32 %r<4>; .reg .b64 %d<6>;\ngriddepcontrol.wait;\nmov.u32 %r1, %tid.x;\nmov.b64 %d1, p;\ncvta.param.u64 %d5, %d1;\n\
        mul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\nld.param.u32 %r2, [%d3];\nld.param.u64 %d4, [out];\n\
        add.s64 %d4, %d4, %d2;\nst.global.u32 [%d4], %r2;\ngriddepcontrol.launch_dependents;\nret;\n}\n";
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let kernel = module.kernel("k").unwrap_or_else(|error| panic!("{error}"));
    let parameters = module.parameters("k").expect("it is there");
    assert_eq!((parameters[0].bytes, parameters[0].alignment), (4096, 64));
    let mut device = Device::new();
    let out = device.alloc("out", 4096);
    let value: Vec<u8> = (0..1024u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    let arguments = [Argument::Bytes(value.clone()), Argument::Buffer(out)];
    device.launch(&kernel, Launch::new(1, 1024), &arguments).expect("it runs");
    let mut bytes = vec![0; 4096];
    device.read(out, &mut bytes).expect("it has this size");
    assert_eq!(bytes, value);
}

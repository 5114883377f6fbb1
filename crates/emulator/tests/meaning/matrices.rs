//! `ldmatrix` and `stmatrix`: which lane's row they read and write, what they count, with whom they race, and what nobody wrote.

use emulator::FaultKind;

use crate::run::Kernel;

/// Lane `n` of the first warp names the row at `16 * (n * 5 % 32)`.
const ROWS: &str = "mov.u32 %r100, tile;\nmul.lo.u32 %r101, %t, 5;\nand.b32 %r101, %r101, 31;\nmad.lo.u32 %r101, %r101, 16, %r100;\nmad.lo.u32 %r102, %t, 16, %r100;\nmad.wide.u32 %d100, %t, 16, %out;\n";

fn list(count: u32) -> String {
    let names: Vec<String> = (0..count).map(|n| format!("%r{}", 10 + n)).collect();
    format!("{{{}}}", names.join(", "))
}

/// The element of the tile's row and column, 32 rows of 8.
fn element(row: u32, column: u32) -> u32 {
    row * 100 + column + 1
}

fn fill() -> String {
    // Lane n fills row n.
    let mut text = String::from(ROWS);
    for column in 0..8 {
        text += &format!("mad.lo.u32 %r1, %t, 100, {};\nst.shared.u16 [%r102+{}], %r1;\n", column + 1, 2 * column);
    }
    text + "bar.sync 0;\n"
}

#[test]
fn each_lane_gets_two_elements_of_each_matrix() {
    for (count, transposed) in [(1, false), (2, false), (4, false), (1, true), (2, true), (4, true)] {
        for space in [".shared", ""] {
            let trans = if transposed { ".trans" } else { "" };
            let address = if space.is_empty() { "%d1" } else { "%r101" };
            let stores: String =
                (0..count).map(|n| format!("st.global.u32 [%d100+{}], %r{};\n", 4 * n, 10 + n)).collect();
            let body = format!(
                "{}cvt.u64.u32 %d1, %r101;\ncvta.shared.u64 %d1, %d1;\n.loc 1 5 0\nldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {}, [{address}];\n.loc 1 6 0\n{stores}",
                fill(),
                list(count)
            );
            let outcome = Kernel::new(32, &body).run().expect("it is right");
            for lane in 0..32u32 {
                for matrix in 0..count {
                    let of = |n: u32| {
                        let (row, column) = (lane / 4, 2 * (lane % 4) + n);
                        let (row, column) = if transposed { (column, row) } else { (row, column) };
                        element((8 * matrix + row) * 5 % 32, column)
                    };
                    let at = (16 * lane + 4 * matrix) as usize;
                    let got =
                        (0..4).fold(0, |all, b| all | u32::from(outcome.bytes[at + b].expect("written")) << (8 * b));
                    assert_eq!(got, of(1) << 16 | of(0), "x{count}{trans}{space}, lane {lane}, matrix {matrix}");
                }
            }
            let counters = &outcome.report.lines.iter().find(|line| line.line == 5).expect("it ran").counters;
            let load = counters.shared_load;
            let bytes = u64::from(8 * 16 * count);
            assert_eq!((load.requests, load.bytes, load.unique_bytes), (1, bytes, bytes), "x{count}{trans}{space}");
            assert_eq!(counters.shared_store.requests, 0);
        }
    }
}

#[test]
fn a_store_of_matrices_is_a_load_backwards() {
    for (count, transposed) in [(1u32, false), (2, false), (4, false), (1, true), (4, true)] {
        let trans = if transposed { ".trans" } else { "" };
        let values: String = (0..count)
            .map(|n| format!("mad.lo.u32 %r{}, %t, 0x20002, {};\n", 10 + n, 0x1_0000 + 0x100_0100 * n))
            .collect();
        let body = format!(
            "{ROWS}mov.u32 %r1, 0;\nst.shared.v4.u32 [%r102], {{%r1, %r1, %r1, %r1}};\nbar.sync 0;\n{values}.loc 1 5 0\nstmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r101], {};\n\
             .loc 1 6 0\nbar.sync 0;\nld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%r102];\nst.global.v4.u32 [%d100], {{%r1, %r2, %r3, %r4}};",
            list(count)
        );
        let outcome = Kernel::new(32, &body).run().expect("it is right");
        let mut wanted = vec![0u16; 256];
        for matrix in 0..count {
            for lane in 0..32u32 {
                for n in 0..2u32 {
                    let (row, column) = (lane / 4, 2 * (lane % 4) + n);
                    let (row, column) = if transposed { (column, row) } else { (row, column) };
                    let value = lane * 0x20002 + 0x1_0000 + 0x100_0100 * matrix;
                    wanted[(8 * ((8 * matrix + row) * 5 % 32) + column) as usize] = (value >> (16 * n)) as u16;
                }
            }
        }
        for (at, wanted) in wanted.iter().enumerate() {
            let got = u16::from_le_bytes([0, 1].map(|b| outcome.bytes[2 * at + b].expect("written")));
            assert_eq!(got, *wanted, "x{count}{trans}, element {at}");
        }
        let store = outcome.report.lines.iter().find(|line| line.line == 5).expect("it ran").counters.shared_store;
        let bytes = u64::from(8 * 16 * count);
        assert_eq!((store.requests, store.bytes, store.unique_bytes), (1, bytes, bytes), "x{count}{trans}");
    }
}

/// Two warps: the first does `first`, the second `second`, with `between` between them.
fn two(first: &str, between: &str, second: &str, watch: &str) -> Kernel {
    let body = format!(
        "{ROWS}and.b32 %r103, %t, 31;\nmad.lo.u32 %r104, %r103, 16, %r100;\nmov.u32 %r1, 0;\nst.shared.v4.u32 [%r102], {{%r1, %r1, %r1, %r1}};\nbar.sync 0;\n\
         mov.u32 %r10, %t;\nmov.u32 %r11, %t;\nmov.u32 %r12, %t;\nmov.u32 %r13, %t;\nsetp.lt.u32 %p1, %t, 32;\n@!%p1 bra BETWEEN;\n{first}\nBETWEEN: {between}\n@%p1 bra END;\n{second}\nEND: {watch}"
    );
    Kernel::new(64, &body)
}

#[test]
fn matrices_race_by_the_lane_that_names_the_row() {
    let (load, store) = (
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r20, %r21}, [%r104];",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r104], {%r10, %r11};",
    );
    let (read, write) = ("ld.shared.u16 %r22, [tile+176];", "st.shared.u16 [tile+176], %r103;");
    let write = format!("setp.eq.u32 %p3, %r103, 9;\n@%p3 {write}");
    let read = format!("setp.eq.u32 %p3, %r103, 9;\n@%p3 {read}");
    // Row 11 of 16, at 176; the other access is by lane 9.
    for watch in ["", "bar.sync 1, 64;", "fence.acq_rel.gpu;\nred.shared.add.u32 [tile+3000], 0;"] {
        for (first, second, lanes, race) in [
            (load, write.as_str(), (11, 9), true),
            (write.as_str(), load, (9, 11), true),
            (store, write.as_str(), (11, 9), true),
            (write.as_str(), store, (9, 11), true),
            (store, read.as_str(), (11, 9), true),
            (read.as_str(), store, (9, 11), true),
            (load, read.as_str(), (11, 9), false),
            (load, load, (0, 0), false),
            (load, store, (0, 0), true),
            (store, load, (0, 0), true),
        ] {
            let name = format!("{first} -- {second} -- {watch}");
            assert!(two(first, "bar.sync 0;", second, watch).run().is_ok(), "{name}: a barrier lies between");
            match two(first, "", second, watch).run() {
                Ok(_) => assert!(!race, "{name}"),
                Err(fault) => {
                    assert!(race && fault.kind == FaultKind::Race, "{name}: {fault}");
                    let parties = (
                        fault.other.as_ref().map(|(_, site)| (site.warp, site.lane)),
                        (fault.site.warp, fault.site.lane),
                    );
                    assert_eq!(parties, (Some((0, lanes.0)), (1, lanes.1)), "{name}: {fault}");
                    let offset = if lanes == (0, 0) { 0 } else { 176 };
                    assert!(
                        fault.message.starts_with(&format!("race on tile (shared memory) at offset {offset}:")),
                        "{name}: {fault}"
                    );
                }
            }
        }
    }
}

#[test]
fn unwritten_elements_of_a_matrix_stay_unwritten() {
    // Row 3 of the second matrix lacks an element.
    for (transposed, lane, half, lacks) in
        [(false, 4 * 3 + 2, 1, 5), (true, 4 * 5 + 1, 1, 5), (false, 4 * 3 + 2, 0, 4), (true, 4 * 4 + 1, 1, 4)]
    {
        let trans = if transposed { ".trans" } else { "" };
        let mut body = String::from(ROWS);
        body += "setp.ne.u32 %p1, %t, 11;\nmov.u32 %r1, 1;\n";
        for column in 0..8 {
            body +=
                &format!("{}st.shared.u16 [%r102+{}], %r1;\n", if column == lacks { "@%p1 " } else { "" }, 2 * column);
        }
        body += &format!(
            "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x2{trans}.shared.b16 {{%r10, %r11}}, [%r102];\nst.global.v2.u32 [%d100], {{%r10, %r11}};"
        );
        let outcome = Kernel::new(32, &body).run().expect("a copy may be stored");
        for at in 0..32 * 8 {
            let byte = 16 * (at / 8) + at % 8;
            let missing = at / 8 == lane && (at % 8) / 2 == 2 + half;
            assert_eq!(outcome.bytes[byte].is_none(), missing, "{trans} lane {}, byte {}", at / 8, at % 8);
        }
        let compute = Kernel::new(32, &format!("{body}\nadd.u32 %r11, %r11, 1;\nst.global.u32 [%d100], %r11;")).fault();
        assert_eq!((compute.kind, compute.site.lane as usize), (FaultKind::Uninitialised, lane), "{compute}");
        assert!(
            compute.message.contains(&format!("tile (shared memory) at offset {}, which", 16 * 11 + 2 * lacks)),
            "{compute}"
        );
    }
}

#[test]
fn rows_lie_within_shared_memory_and_on_their_boundary() {
    for (what, kind, lane) in [("8", FaultKind::Misaligned, 6), ("4096", FaultKind::OutOfBounds, 6)] {
        for text in [
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r102];",
            "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r102], {%r1};",
        ] {
            let body = format!("{}setp.eq.u32 %p1, %t, 6;\n@%p1 add.u32 %r102, %r100, {what};\n{text}", fill());
            let fault = Kernel::new(32, &body).fault();
            assert_eq!((fault.kind, fault.site.lane), (kind, lane), "{text}: {fault}");
            // Lanes beyond the rows may hold anything.
            let beyond = body.replace("setp.eq.u32 %p1, %t, 6;", "setp.eq.u32 %p1, %t, 8;");
            assert!(Kernel::new(32, &beyond).run().is_ok(), "{text}: lane 8 names no row");
        }
    }
}

#[test]
fn a_warp_that_has_filled_its_rows_may_load_them_behind_its_own_barrier() {
    let body = format!(
        "{ROWS}mov.u32 %r1, 3;\nst.shared.v4.u32 [%r102], {{%r1, %r1, %r1, %r1}};\nmov.u32 %r2, 0xffffffff;\nbar.warp.sync %r2;\n\
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r102];\nadd.u32 %r10, %r10, 1;\nst.global.u32 [%d100], %r10;"
    );
    assert_eq!(Kernel::new(32, &body).words(1), [4]);
    let unwritten = body.replace("st.shared.v4.u32 [%r102], {%r1, %r1, %r1, %r1};", "");
    assert_eq!(Kernel::new(32, &unwritten).fault().kind, FaultKind::Uninitialised);
}

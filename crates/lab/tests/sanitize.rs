//! `lab sanitize`: kernels that are no product, right and wrong, from their shipped PTX; what is said, in every form.

mod lab;

use std::fs;

use device::nvrtc;

use lab::{lab, refused, root, scratch};
use serde_json::Value;

/// Every kernel with the flags that it carries: what is said, and the exit code.
#[test]
fn kernels_are_judged() {
    let mut all = String::new();
    for (kernel, code) in [
        ("block-sum", 0),
        ("block-sum-unsynced", 1),
        ("scan", 0),
        ("scan-in-place", 1),
        ("transpose", 0),
        ("transpose-square", 1),
        ("place-by-turn", 0),
        ("weighted-sum", 0),
        ("tile-by-tma", 0),
        ("stage-without-fence", 0),
        ("store-without-fence", 1),
    ] {
        let output = lab(&format!("sanitize kernels/{kernel}.cu"));
        assert_eq!((output.code, output.stderr.as_str()), (code, ""), "{kernel}: {output:?}");
        all += &format!("# {kernel}\n{}\n", output.stdout);
    }
    insta::assert_snapshot!("exhibits", all);
}

#[test]
fn json_says_it_all() {
    let mut all = String::new();
    for kernel in ["scan-in-place", "place-by-turn", "stage-without-fence"] {
        let output = lab(&format!("sanitize kernels/{kernel}.cu --json"));
        serde_json::from_str::<Value>(&output.stdout).unwrap();
        all += &format!("# {kernel}\n{}\n", output.stdout);
    }
    insta::assert_snapshot!("json", all);
}

/// A name, what must be there, and what may be, with the object that it is.
type Object = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

/// Objects of the standard's schema (sarif-schema-2.1.0.json): what each must have, and what else it may have of what this program
/// writes, each with the object that stands there. No object of the schema may have more than it names.
const SCHEMA: [Object; 12] = [
    ("sarifLog", &["version", "runs"], &[("$schema", ""), ("version", ""), ("runs", "run")]),
    ("run", &["tool"], &[("tool", "tool"), ("results", "result"), ("columnKind", "")]),
    ("tool", &["driver"], &[("driver", "toolComponent")]),
    ("toolComponent", &["name"], &[("name", ""), ("version", ""), ("rules", "reportingDescriptor")]),
    ("reportingDescriptor", &["id"], &[("id", ""), ("shortDescription", "multiformatMessageString")]),
    ("multiformatMessageString", &["text"], &[("text", "")]),
    (
        "result",
        &["message"],
        &[
            ("ruleId", ""),
            ("ruleIndex", ""),
            ("level", ""),
            ("message", "message"),
            ("locations", "location"),
            ("relatedLocations", "location"),
            ("properties", ""),
        ],
    ),
    // One of `text` and `id` must be there.
    ("message", &["text"], &[("text", "")]),
    ("location", &[], &[("physicalLocation", "physicalLocation"), ("message", "message")]),
    // One of `artifactLocation` and `address` must be there.
    ("physicalLocation", &["artifactLocation"], &[("artifactLocation", "artifactLocation"), ("region", "region")]),
    ("artifactLocation", &["uri"], &[("uri", "")]),
    ("region", &["startLine"], &[("startLine", "")]),
];

fn fits_the_standard(kind: &str, value: &Value) {
    let Some((_, must, may)) = SCHEMA.iter().find(|(name, ..)| *name == kind) else { return };
    let object = value.as_object().unwrap_or_else(|| panic!("{kind}: {value}"));
    must.iter().for_each(|name| assert!(object.contains_key(*name), "{kind} lacks {name}: {value}"));
    for (name, inner) in object {
        let known = may.iter().find(|(known, _)| known == name);
        let (_, inner_kind) = known.unwrap_or_else(|| panic!("{kind} has no {name}: {value}"));
        match inner {
            Value::Array(all) => all.iter().for_each(|inner| fits_the_standard(inner_kind, inner)),
            inner => fits_the_standard(inner_kind, inner),
        }
    }
}

/// What the standard demands of a log, as far as this program writes it.
#[test]
fn sarif_is_whole() {
    let mut all = String::new();
    for (kernel, results) in [("scan-in-place", 1), ("place-by-turn", 1), ("stage-without-fence", 1), ("scan", 0)] {
        let output = lab(&format!("sanitize kernels/{kernel}.cu --sarif"));
        let log: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(log["version"], "2.1.0");
        fits_the_standard("sarifLog", &log);
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let found = run["results"].as_array().unwrap();
        assert!(found.len() >= results && (results > 0 || found.is_empty()), "{kernel}: {output:?}");
        for result in found {
            assert_eq!(rules[result["ruleIndex"].as_u64().unwrap() as usize]["id"], result["ruleId"]);
            assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], format!("kernels/{kernel}.cu"));
            let line = &place["region"]["startLine"];
            assert!(line.is_null() && result["level"] != "error" || line.as_u64().unwrap() > 0);
        }
        if results > 0 {
            all += &format!("# {kernel}\n{}\n", output.stdout);
        }
    }
    insta::assert_snapshot!("sarif", all);
}

#[test]
fn the_command_line_comes_after_the_file() {
    let none = lab("sanitize kernels/scan.cu --arg in:u32[384]=zeros --print out[127]");
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.stdout.contains("out[127]=128: 1 of 1 are otherwise, the first at 127: 0 instead of 128"), "{none:?}");
    let narrow = lab("sanitize kernels/scan.cu --shared 1000");
    assert!(narrow.code == 1 && narrow.stdout.contains("fault"), "{narrow:?}");
    let other = lab("sanitize kernels/block-sum.cu --set n=100 --expect total=4950");
    assert!(other.stdout.contains("total=4950: so it is") && other.code == 1, "the file expects another: {other:?}");
}

#[test]
fn what_depends_on_the_order_is_a_fault_if_asked_for() {
    let output = lab("sanitize kernels/place-by-turn.cu --deterministic");
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.contains("verdict   FAULT"), "{output:?}");
}

#[test]
fn a_buffer_that_keeps_unwritten_bytes_is_a_fault_unless_it_has_a_content() {
    let words = |content: &str| format!("sanitize kernels/scan.cu --arg out:u32[400]{content}");
    let kept = lab(&words(""));
    assert_eq!(kept.code, 1, "{kept:?}");
    assert!(
        kept.stdout.contains("64 of the 1600 bytes of out were never written, the first in element 384"),
        "{kept:?}"
    );
    let filled = lab(&words("=zeros"));
    assert_eq!(filled.code, 0, "{filled:?}");
}

#[test]
fn ptx_runs_as_it_is_and_contents_come_from_files() {
    let folder = lab::scratch("sanitize");
    let (numbers, bytes) = (folder.join("numbers.txt"), folder.join("sums.bin"));
    fs::write(&numbers, "5 6\n7").unwrap();
    fs::write(&bytes, 18i32.to_le_bytes()).unwrap();
    let words = format!(
        "sanitize kernels/ptx/block-sum.ptx --grid 1 --block 256 --arg in:i32[3]=@{} --arg out:i32[1] --arg 3 --expect out=@{}",
        numbers.display(),
        bytes.display()
    );
    let output = lab(&words);
    assert_eq!(output.code, 0, "{output:?}");
}

#[test]
fn headers_and_macros_reach_the_compiler() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC: headers are not included");
    }
    let folder = lab::scratch("headers");
    fs::create_dir(folder.join("inside")).unwrap();
    fs::write(folder.join("inside/twice.h"), "__device__ int twice(int x) { return FACTOR * x; }\n").unwrap();
    let kernel =
        "#include \"twice.h\"\nextern \"C\" __global__ void k(int* out) { out[threadIdx.x] = twice(threadIdx.x); }\n";
    fs::write(folder.join("k.cu"), kernel).unwrap();
    let words =
        format!("sanitize {}/k.cu --grid 1 --block 4 --arg out:i32[4] --expect out={{0,2,4,6}}", folder.display());
    let without = lab(&format!("{words} --define FACTOR=2"));
    assert!(without.code == 2 && without.stderr.contains("twice.h"), "{without:?}");
    let with = lab(&format!("{words} --define FACTOR=2 --include {}/inside", folder.display()));
    assert_eq!(with.code, 0, "{with:?}");
}

/// A kernel in `k.cu` of a new folder, with what else lies there: the command that runs 32 threads of it on `a`, of 32 numbers.
fn written(folder: &str, kernel: &str, header: &str) -> String {
    let folder = lab::scratch(folder);
    fs::write(folder.join("k.cu"), kernel).unwrap();
    fs::write(folder.join("next.h"), header).unwrap();
    format!("sanitize {0}/k.cu --include {0} --grid 1 --block 32 --arg a:i32[32]=range", folder.display())
}

#[test]
fn a_fault_in_a_header_is_told_at_the_line_that_calls_it() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC: headers are not included");
    }
    let header = "__device__ int follows(const int* a, int i) {\n    return a[i + 1];\n}\n";
    let kernel = "#include \"next.h\"\n__device__ int both(const int* a, int i) {\n    return a[i] + follows(a, i);\n}\n\
                  extern \"C\" __global__ void k(int* a) {\n    int sum = both(a, threadIdx.x);\n    __syncthreads();\n    a[threadIdx.x] = sum;\n}\n";
    let words = written("chain", kernel, header);
    let said = lab(&words).stdout;
    let lines: Vec<&str> = said.lines().skip_while(|line| !line.contains("-->")).take(3).map(str::trim).collect();
    assert!(lines[0].ends_with("k.cu:3   return a[i] + follows(a, i);"), "{said}");
    assert_eq!(lines[1], "|  in follows, next.h:2   return a[i + 1];", "{said}");
    assert_eq!(lines[2], "|  in both, called at k.cu:6   int sum = both(a, threadIdx.x);", "{said}");
    let log: Value = serde_json::from_str(&lab(&format!("{words} --sarif")).stdout).unwrap();
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
    let frames = result["stacks"][0]["frames"].as_array().unwrap();
    let lines = frames.iter().map(|frame| frame["location"]["physicalLocation"]["region"]["startLine"].clone());
    assert_eq!(lines.collect::<Vec<_>>(), [2, 3, 6]);
}

#[test]
fn what_the_compiler_made_a_trap_of_is_told_as_it_is_written() {
    if nvrtc::find().is_err() {
        return level_tests::skipped("no NVRTC: nothing is compiled");
    }
    let kernel = |last: &str| {
        format!(
            "extern \"C\" __global__ void k(int* a) {{\n    int own[4] = {{1, 2, 3, 4}};\n    {last}\n    a[threadIdx.x] = own[0];\n}}\n"
        )
    };
    let said = lab(&written("trap", &kernel("atomicAdd(own + a[0] % 4, 1);"), ""));
    assert!(said.code == 1 && said.stdout.contains("k.cu:3   atomicAdd"), "{said:?}");
    assert!(said.stdout.contains("of local memory") && said.stdout.contains("made a `trap` of it"), "{said:?}");
    // A trap that stands there is one.
    let said = lab(&written("own-trap", &kernel("__trap();"), ""));
    assert!(said.code == 1 && said.stdout.contains("k.cu:3   __trap();"), "{said:?}");
    assert!(!said.stdout.contains("made a `trap` of it"), "{said:?}");
}

#[test]
fn what_cannot_be_run_is_refused_in_one_line() {
    let scan = "sanitize kernels/ptx/scan.ptx";
    let args = "--arg in:u32[384]=ones --arg out:u32[384]";
    for (words, answer) in [
        ("sanitize nonesuch.cu", "cannot read nonesuch.cu"),
        (&format!("{scan} {args} --block 128"), "--grid is missing for scan"),
        (&format!("{scan} --grid 3 --block 128"), "scan takes 2 arguments, and 0 are given"),
        (&format!("{scan} --grid 3 --block 128 --arg in:u32[4] --arg in:u32[4]"), "in is there already"),
        (&format!("{scan} --grid 3 --block 128 --arg in:u32[4] --arg out"), "`out` is no u64"),
        (
            &format!("{scan} --grid 3 --block 128 --arg in:u32[4] --arg n:i32=3"),
            "it has 4 bytes, and the parameter is u64",
        ),
        (&format!("{scan} --grid 3 --block 128 --arg in:u32[4] --arg out:u32[n]"), "`n` is unknown"),
        (
            &format!("{scan} --grid 3 --block 128 --arg in:u32[4] --arg out:u32[99999999999]"),
            "more than 1024 MiB: `--memory 381470` allows it",
        ),
        (&format!("{scan} --grid 3 --block 128 --arg in:u8[4]=256 --arg out:u32[4]"), "256 does not fit into u8"),
        (&format!("{scan} --grid 0 --block 128 {args}"), "--grid: `0` is 0"),
        (&format!("{scan} --grid 3 --block 2048 {args}"), "2048 threads per block are more than 1024"),
        (&format!("{scan} --grid 3 --block 128 --shared 999999999 {args}"), "shared memory"),
        (&format!("{scan} --launch other --grid 3 --block 128 {args}"), "no kernel `other`"),
        (&format!("{scan} --grid 3 --block 128 --shared 1024 {args} --print sums"), "there is no buffer `sums`"),
        (&format!("{scan} --grid 3 --block 128 --shared 1024 {args} --print out[9..500]"), "500 is not in 0..384"),
        (&format!("{scan} --grid 3 --block 128 --shared 1024 {args} --expect out=many"), "`many` is no u32"),
        (&format!("{scan} --grid 3 --block 128 --variable w:f32 {args}"), "there is no variable `w`"),
        (&format!("{scan} --set n --grid 3 --block 128 {args}"), "--set n: there is no `=`"),
    ] {
        refused(words, answer);
    }
}

/// Arguments before the first `--launch` are every launch's: the buffers that they describe come to be once.
#[test]
fn buffers_that_launches_have_in_common_are_one() {
    let common = "sanitize kernels/ptx/scan.ptx --shared 1024 --block 128 --arg in:u32[384]=ones --arg out:u32[384]";
    let twice = lab(&format!("{common} --launch scan --grid 3 --launch scan --grid 3 --print in[0..1]"));
    assert_eq!(twice.code, 0, "{twice:?}");
    let other = "--launch scan --grid 3 --arg in:u32[384]=range --arg out";
    refused(&format!("{common} --launch scan --grid 3 {other}"), "scan takes 2 arguments, and 4 are given");
    let own = "sanitize kernels/ptx/scan.ptx --shared 1024 --block 128 --grid 3";
    let first = "--launch scan --arg in:u32[384]=ones --arg out:u32[384]";
    refused(&format!("{own} {first} {other}"), "in is there already");
}

const TILE: &str = "sanitize kernels/tile-by-tma.cu --set rows=44 --set columns=52";

#[test]
fn a_tensor_map_is_made_of_its_words_or_refused_in_one_line() {
    let words = |map: &str| format!("{TILE} --arg {map} --arg out:f32[rows*columns] --arg rows --arg columns");
    for (map, answer) in [
        ("in:f32[2288]", "it has 8 bytes, and the parameter is 128 bytes of b8"),
        (
            "in:map(f32[44x52],box=16x64,swizzle=128)",
            "a box whose rows have 256 bytes, and the swizzle takes at most 128",
        ),
        ("in:map(f32[44x50],box=16x32)", "a stride of 200 bytes in dimension 1: a map takes multiples of 16"),
        ("in:map(f32[44x52],box=16x32,swizzle=256)", "swizzle=256: there is none, 32, 64, 128"),
        ("in:map(f32[99999x99999],box=16x32,strides=399996)", "a stride of 399996 bytes in dimension 1"),
        ("in:map(f32[99999x99996],box=16x32)", "the buffers take more than 1024 MiB"),
        ("in:map(float[44x52],box=16x32)", "`float` is no type"),
    ] {
        refused(&words(map), answer);
    }
    // Rows of 64 floats, of which the tensor has 52; the pattern is another than the kernel's.
    let wide =
        lab(&words("in:map(f32[44x52],strides=256,box=16x32,swizzle=128)=range --print out[0..3] --expect out=0"));
    assert!(wide.stdout.contains("[0] 0 64 128\n"), "{wide:?}");
    let plain = lab(&words("in:map(f32[44x52],box=16x32)=range"));
    assert!(plain.code == 1 && plain.stdout.contains("verdict   FAULT"), "{plain:?}");
}

/// The kernel's first two arguments are one buffer: a map of it, and a pointer to it, through which it writes nothing.
#[test]
fn a_buffer_may_be_a_map_and_a_pointer() {
    let words = "sanitize kernels/ptx/tile-by-tma.ptx --grid 1 --block 128";
    let both = lab(&format!("{words} --arg in:map(f32[16x32],box=16x32,swizzle=128)=range --arg in --arg 0 --arg 0"));
    assert!(both.code == 0 && both.stdout.contains("[0] 0 1 2 3 4 5 6 7"), "{both:?}");
    let again = "--launch turn --arg in:f32[512]=range --arg in --arg 0 --arg 0";
    refused(&format!("{words} {again}"), "it has 8 bytes, and the parameter is 128 bytes of b8");
    // A later launch may have a map of what an earlier one wrote.
    let first =
        "--launch turn --arg in:map(f32[16x32],box=16x32,swizzle=128)=range --arg out:f32[512] --arg 16 --arg 32";
    let second = "--launch turn --arg map(out[16x32],box=16x32,swizzle=128) --arg back:f32[512] --arg 16 --arg 32";
    let twice = lab(&format!("{words} {first} {second} --expect back[0..3]={{0,2,4}}"));
    assert!(twice.code == 0, "{twice:?}");
    let larger = second.replace("16x32],box", "17x32],box");
    refused(&format!("{words} {first} {larger}"), "the tensor takes 544 elements, and out has 512");
    let filled = second.replace("swizzle=128)", "swizzle=128)=ones");
    refused(&format!("{words} {first} {filled}"), "out has its content already");
    let nameless = second.replace("map(out", "map(f32");
    refused(&format!("{words} {first} {nameless}"), "a tensor in a new buffer needs a name, as in `a:map(…)`");
}

#[test]
fn every_kernel_for_sanitize_is_tested() {
    let text = fs::read_to_string(root().join("crates/lab/tests/sanitize.rs")).unwrap();
    for entry in fs::read_dir(root().join("kernels")).unwrap() {
        let path = entry.unwrap().path();
        let carries = fs::read_to_string(&path).is_ok_and(|text| text.contains("// lab sanitize: "));
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(!carries || text.contains(&format!("(\"{stem}\", ")), "{stem} is not in the table");
    }
}

/// The last row of a matrix of more than 2^31 bytes, by an index of 32 bits, or of 64.
const LAST_ROW: &str = "\
.version 8.0
.target sm_75
.address_size 64
.visible .entry narrow(.param .u64 out, .param .u32 rows, .param .u32 width)
{
.reg .b32 %r<5>;
.reg .b64 %d<4>;
ld.param.u64 %d0, [out];
ld.param.u32 %r0, [rows];
ld.param.u32 %r1, [width];
sub.s32 %r0, %r0, 1;
mov.u32 %r2, %tid.x;
mad.lo.s32 %r3, %r0, %r1, %r2;
cvt.s64.s32 %d1, %r3;
add.s64 %d1, %d0, %d1;
mov.u32 %r4, 7;
st.global.u8 [%d1], %r4;
ret;
}
";

#[test]
fn an_index_beyond_31_bits_is_found_without_so_much_memory() {
    let wide = LAST_ROW.replace("narrow(", "wide(").replace(
        "mad.lo.s32 %r3, %r0, %r1, %r2;\ncvt.s64.s32 %d1, %r3;",
        "mul.wide.s32 %d1, %r0, %r1;\ncvt.s64.s32 %d2, %r2;\nadd.s64 %d1, %d1, %d2;",
    );
    let folder = scratch("last-row");
    let run = |text: &str, more: &str| {
        let file = folder.join("last-row.ptx");
        fs::write(&file, text).unwrap();
        let arguments = "--arg out:i8[rows*width] --arg rows --arg width --set rows=2200 --set width=1000000";
        lab(&format!("sanitize {} --grid 1 --block 32 {arguments} {more}", file.display()))
    };
    let narrow = run(LAST_ROW, "");
    assert!(narrow.code == 1 && narrow.stdout.contains("before the start of out"), "{narrow:?}");
    let right = run(&wide, "--expect out[2198999999..2199000033]={0,7,7} --print out[2198999999..2199000003]");
    assert!(right.code == 1 && right.stdout.contains("0 7 7 7"), "{right:?}");
    assert!(right.stderr.contains("out takes memory only where it is accessed"), "{right:?}");
    let all = run(&wide, "--expect out=zeros");
    assert!(all.code == 2 && all.stderr.contains("2200000000 bytes are more than 1073741824"), "{all:?}");
    refused(
        "sanitize kernels/ptx/scan.ptx --grid 1 --block 128 --memory 0 --arg in:u32[4]=ones --arg out:u32[4]",
        "`--memory 1`",
    );
}

//! What is chosen runs on the card that it is chosen for.

use std::collections::{BTreeMap, BTreeSet};

use device::nvrtc::nowhere;
use emulator::Module;
use emulator::gpu::GPUS;
use gemm::fit::{Card, misfit};
use gemm::form::{Form, Layout};
use gemm::kernel::shipped;
use gemm::{Build, Dtype, Shape};
use predict::models;
use summit::KERNELS;
use summit::choice::Chooser;
use summit::tuned::records;

const SIZES: [[u32; 3]; 6] =
    [[64, 64, 64], [512, 512, 512], [1024, 1024, 1024], [4096, 4096, 4096], [128, 128, 16384], [4096, 8, 4096]];

#[test]
fn on_every_card_and_in_every_type_and_form_it_can_run() {
    let forms = [Layout::Rows, Layout::Columns]
        .into_iter()
        .flat_map(|layout| [0.0, 1.0].map(|beta| Form { beta, layout, ..Form::PLAIN }));
    let forms: Vec<Form> = forms.collect();
    let mut found: BTreeMap<String, (Build, BTreeSet<u32>)> = BTreeMap::new();
    // The modelled cards, and architectures of which none is modelled.
    let modelled = GPUS.iter().map(|gpu| (gpu.sm(), gpu.sms));
    for (sm, sms) in modelled.chain([(86, 82), (100, 148), (120, 170)]) {
        let chooser = Chooser::of(models(), records(), &KERNELS, (sm, sms), nowhere);
        for (dtype, form) in Dtype::ALL.into_iter().flat_map(|(_, dtype)| forms.iter().map(move |form| (dtype, form))) {
            for [m, n, k] in SIZES {
                let shape = Shape { m, n, k };
                let chosen = chooser.best(&shape, dtype, form);
                if let Some(build) = &chosen {
                    assert_eq!(build.configuration.specialization, form.specialization());
                    let cards = found.entry(build.to_string()).or_insert((build.clone(), BTreeSet::new()));
                    cards.1.insert(sm);
                }
                let usual = [Dtype::F32, Dtype::F64].contains(&dtype) && (form.is_plain() && sm >= 60 || sm >= 80);
                assert!(!usual || chosen.is_some(), "sm_{sm} has nothing for {dtype} at {shape}, {form}");
            }
        }
    }
    // By its instructions, on the oldest card and the newest for which it was chosen.
    for (build, cards) in found.values() {
        for &sm in cards.first().into_iter().chain(cards.last()) {
            assert_eq!(misfit(build, &Card::of_architecture(sm)), None, "{build} on sm_{sm}");
        }
    }
    assert!(found.len() > 30, "only {} builds were chosen", found.len());
}

/// What a shipped file says of itself is asked first: it must be what its instructions need. That they are as old as its `.target` is a
/// test of each kernel; this is of the shared memory.
#[test]
fn what_a_file_says_of_its_shared_memory_is_what_its_variables_take() {
    for build in KERNELS.into_iter().flat_map(|kernel| kernel.dtypes().map(|dtype| kernel.default_build(dtype))) {
        let (header, ptx) = shipped(&build).unwrap();
        let program = Module::parse(ptx).and_then(|module| module.kernel(build.level.entry)).unwrap();
        let said: Vec<u32> = header.resources.values().map(|needs| needs.shared_bytes).collect();
        assert!(!said.is_empty() && said.iter().all(|&bytes| bytes >= program.static_shared()), "{build}: {said:?}");
    }
}

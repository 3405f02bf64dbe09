//! The program of `cargo bench -p spiece-stages`.

fn main() {
    let mut criterion = criterion::Criterion::default().configure_from_args();
    spiece_stages::run(&mut criterion);
    criterion.final_summary();
}

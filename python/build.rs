//! Sets the flags of PyO3, such as `Py_GIL_DISABLED` for an interpreter without a global lock.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}

//! Arrays of numbers that Python sees as buffers, and fast conversions of Python objects to numbers
//! and texts.
//!
//! **Why this module may use `unsafe`.** PyO3 has no safe function for three things:
//!
//! 1. *Exporting a buffer* (PEP 3118). The exporter hands out a raw pointer. It is sound here
//!    because the vector is never changed after the object is made (the class is frozen and has no
//!    method that does), an empty vector has a valid pointer, and each view holds a reference to
//!    the object, which Python drops when it releases the view.
//! 2. *Reading an integer without an error object for each that does not fit.* For exact integers
//!    `PyLong_AsLongAndOverflow` neither fails nor runs Python code, and the list holds a reference
//!    to the object: where the interpreter has a global lock, nothing else runs between the two
//!    calls; elsewhere the caller takes a reference.
//! 3. *The bytes of the texts of a tuple, for as long as the tuple lives.* A reference for each
//!    text, taken and dropped, costs a quarter of encoding a short line. A tuple never changes and
//!    holds its items; `str` and `bytes` never change either, and a `str` keeps its UTF-8 form as
//!    long as it lives. [`TupleTexts`] and [`TextTuple`] hold the tuple, and lend the bytes for
//!    their own lifetime only.
//!
//! No other module of this crate uses `unsafe`; a lint denies it.
#![expect(unsafe_code, reason = "see the page of the module")]

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyList, PyString, PyTuple};
use pyo3::{PyClass, ffi};

/// The element types of buffers.
#[derive(Debug)]
enum Elements {
    Int32(Vec<i32>),
    Uint32(Vec<u32>),
    Int64(Vec<i64>),
}

/// A read-only array of numbers with the buffer protocol: `numpy.frombuffer`, `pyarrow.py_buffer`
/// and `memoryview` use its memory without a copy.
#[pyclass(module = "spiece", name = "VectorBuffer", frozen)]
#[derive(Debug)]
pub struct VectorBuffer {
    elements: Elements,
}

impl VectorBuffer {
    pub fn of_i32(elements: Vec<i32>) -> VectorBuffer {
        VectorBuffer {
            elements: Elements::Int32(elements),
        }
    }

    pub fn of_u32(elements: Vec<u32>) -> VectorBuffer {
        VectorBuffer {
            elements: Elements::Uint32(elements),
        }
    }

    pub fn of_i64(elements: Vec<i64>) -> VectorBuffer {
        VectorBuffer {
            elements: Elements::Int64(elements),
        }
    }

    /// The pointer, the number of bytes, the size of an element and its format.
    fn parts(&self) -> (*const c_void, usize, usize, &'static CStr) {
        match &self.elements {
            Elements::Int32(values) => (values.as_ptr().cast(), size_of_val(&values[..]), 4, c"i"),
            Elements::Uint32(values) => (values.as_ptr().cast(), size_of_val(&values[..]), 4, c"I"),
            Elements::Int64(values) => (values.as_ptr().cast(), size_of_val(&values[..]), 8, c"q"),
        }
    }
}

#[pymethods]
impl VectorBuffer {
    /// The number of elements.
    fn __len__(&self) -> usize {
        match &self.elements {
            Elements::Int32(values) => values.len(),
            Elements::Uint32(values) => values.len(),
            Elements::Int64(values) => values.len(),
        }
    }

    /// The address of the first element; the reference's class has it.
    fn data_address(&self) -> usize {
        self.parts().0.addr()
    }

    /// Fills `view` with the memory of the array.
    ///
    /// # Safety
    /// Python calls this with a pointer to a `Py_buffer` that it owns.
    unsafe fn __getbuffer__(
        slf: PyRef<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let (data, bytes, size, format) = slf.parts();
        let bytes = isize::try_from(bytes).map_err(|_| PyBufferError::new_err("too large"))?;
        let py = slf.py();
        let object = slf.into_pyobject(py)?;
        // SAFETY: `view` is valid for writing, and `data` points to `bytes` bytes that live as long
        // as the object, to which PyBuffer_FillInfo takes a reference. It refuses a request for a
        // writable buffer.
        let code = unsafe {
            ffi::PyBuffer_FillInfo(view, object.as_ptr(), data.cast_mut(), bytes, 1, flags)
        };
        if code != 0 {
            return Err(PyErr::fetch(py));
        }
        let size = isize::try_from(size).unwrap_or(1);
        // SAFETY: the fields are those of a filled buffer of one dimension. `internal` points to a
        // shape that is freed in __releasebuffer__; format and strides are static or fields of the
        // view itself.
        unsafe {
            (*view).itemsize = size;
            if flags & ffi::PyBUF_FORMAT == ffi::PyBUF_FORMAT {
                (*view).format = format.as_ptr().cast_mut();
            }
            if flags & ffi::PyBUF_ND == ffi::PyBUF_ND {
                let shape = Box::new(bytes / size);
                (*view).shape = Box::into_raw(shape);
                (*view).internal = (*view).shape.cast();
            }
            if flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES {
                (*view).strides = &raw mut (*view).itemsize;
            }
        }
        Ok(())
    }

    /// Frees what `__getbuffer__` allocated.
    ///
    /// # Safety
    /// Python calls this once for each view that `__getbuffer__` filled.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: `internal` is null or the pointer of the box that `__getbuffer__` made for this
        // view.
        unsafe {
            let shape = (*view).internal.cast::<isize>();
            if !shape.is_null() {
                drop(Box::from_raw(shape));
                (*view).internal = std::ptr::null_mut();
            }
        }
    }
}

/// An integer of Python as `i32`, without running Python code: `None` if the object is not of
/// exactly this type or does not fit.
#[inline(always)]
fn exact_i32(item: *mut ffi::PyObject) -> Option<i32> {
    let mut overflow: c_int = 0;
    // SAFETY: `item` is a reference to a live object and this thread is attached. For an exact
    // integer PyLong_AsLongAndOverflow neither fails nor runs Python code.
    let value = unsafe {
        if ffi::PyLong_CheckExact(item) == 0 {
            return None;
        }
        ffi::PyLong_AsLongAndOverflow(item, &raw mut overflow)
    };
    (overflow == 0).then(|| i32::try_from(value).ok()).flatten()
}

/// Appends the integers of a list. False if an item of the list is not an exact integer of 32 bits;
/// `numbers` is then unchanged.
pub fn append_exact_ints(list: &Bound<'_, PyList>, numbers: &mut Vec<i32>) -> bool {
    let start = numbers.len();
    numbers.reserve(list.len());
    for index in 0..list.len() {
        let Some(number) = exact_item(list, index) else {
            numbers.truncate(start);
            return false;
        };
        numbers.push(number);
    }
    true
}

/// The item of a list as an exact integer of 32 bits.
#[cfg(not(Py_GIL_DISABLED))]
#[inline(always)]
fn exact_item(list: &Bound<'_, PyList>, index: usize) -> Option<i32> {
    let index = isize::try_from(index).ok()?;
    // SAFETY: this thread is attached, so that no other one changes the list before the number is
    // read; `index` is below the length of the list, because nothing ran since the length was asked
    // for.
    let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), index) };
    if item.is_null() {
        return None;
    }
    exact_i32(item)
}

/// The item of a list as an exact integer of 32 bits. Another thread may have made the list
/// shorter.
#[cfg(Py_GIL_DISABLED)]
#[inline]
fn exact_item(list: &Bound<'_, PyList>, index: usize) -> Option<i32> {
    list.get_item(index).ok().as_ref().and_then(exact_int)
}

/// An exact integer of 32 bits.
#[inline(always)]
pub fn exact_int(object: &Bound<'_, PyAny>) -> Option<i32> {
    exact_i32(object.as_ptr())
}

/// A list of references to the integers of `table` at these indexes, which must be below its
/// length.
pub fn list_of<'py>(
    py: Python<'py>,
    table: &[Py<PyInt>],
    indexes: impl ExactSizeIterator<Item = usize>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, indexes.map(|index| table[index].bind_borrowed(py)))
}

/// A slice with another lifetime.
///
/// # Safety
/// The memory lives, unchanged, for as long as the result is used.
unsafe fn lengthened(text: &[u8]) -> &'static [u8] {
    // SAFETY: pointer and length are those of a slice.
    unsafe { std::slice::from_raw_parts(text.as_ptr(), text.len()) }
}

/// The texts of some items of a tuple; `None` if one of them is neither `str` nor `bytes`, or has a
/// lone surrogate.
///
/// # Safety
/// The slices are memory of items of the tuple, or of their UTF-8 form: they are used only as long
/// as the tuple lives. See the page of the module.
unsafe fn item_texts(
    tuple: &Bound<'_, PyTuple>,
    items: Range<usize>,
) -> Option<Vec<&'static [u8]>> {
    let mut texts = Vec::with_capacity(items.len());
    for index in items {
        let item = tuple.get_borrowed_item(index).ok()?;
        // SAFETY: the caller uses the slices as long as the tuple lives.
        let text = unsafe {
            match item.cast::<PyString>() {
                Ok(text) => lengthened(text.to_str().ok()?.as_bytes()),
                Err(_) => lengthened(item.cast::<PyBytes>().ok()?.as_bytes()),
            }
        };
        texts.push(text);
    }
    Some(texts)
}

/// A tuple of texts that lends their bytes, some items at a time.
pub struct TextTuple(Py<PyTuple>);

impl TextTuple {
    pub fn new(tuple: Bound<'_, PyTuple>) -> TextTuple {
        TextTuple(tuple.unbind())
    }

    pub fn tuple<'py>(&self, py: Python<'py>) -> &Bound<'py, PyTuple> {
        self.0.bind(py)
    }

    /// The texts of some items; `None` if one of them is neither `str` nor `bytes`, or has a lone
    /// surrogate.
    pub fn texts(&self, py: Python<'_>, items: Range<usize>) -> Option<Vec<&[u8]>> {
        // SAFETY: the result borrows from `self`, which holds the tuple.
        unsafe { item_texts(self.0.bind(py), items) }
    }
}

/// The texts of a tuple, in UTF-8, without a reference for each text.
pub struct TupleTexts {
    /// Slices of memory that the items of `tuple` own.
    texts: Vec<&'static [u8]>,
    /// Holds the items.
    tuple: Py<PyTuple>,
}

impl TupleTexts {
    /// The texts of a tuple; `None` if an item is neither `str` nor `bytes`, or has a lone
    /// surrogate.
    pub fn of(tuple: Bound<'_, PyTuple>) -> Option<TupleTexts> {
        // SAFETY: the slices are lent for the lifetime of a value that holds the tuple.
        let texts = unsafe { item_texts(&tuple, 0..tuple.len()) }?;
        Some(TupleTexts {
            texts,
            tuple: tuple.unbind(),
        })
    }

    /// The texts.
    pub fn texts(&self) -> &[&[u8]] {
        &self.texts
    }

    /// Reverses the order of the texts.
    pub fn reverse(&mut self) {
        self.texts.reverse();
    }

    /// Whether the first item of the tuple is `bytes`.
    pub fn begins_with_bytes(&self, py: Python<'_>) -> bool {
        let first = self.tuple.bind(py).get_borrowed_item(0);
        first.is_ok_and(|item| item.is_instance_of::<PyBytes>())
    }
}

/// A compile-time check that the class can be shared among threads.
const fn is_shared<T: PyClass + Sync>() {}
const _: () = is_shared::<VectorBuffer>();

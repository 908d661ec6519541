/* In every extension that is built ahead of time: PyTorch is imported when the extension's library is loaded, so that
 * it doesn't matter which of them a program imports first. Its libraries are found by the library's own search path.
 */
#include <Python.h>

namespace {

struct ImportTorch {
  ImportTorch() {
    if (!Py_IsInitialized() || !PyGILState_Check()) return; /* loaded by something else than an import */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *torch = PyImport_ImportModule("torch");
    Py_XDECREF(torch);
    if (!torch) PyErr_Clear(); /* whatever the extension does then says it */
    PyErr_Restore(type, value, traceback);
  }
} import_torch;

}  // namespace

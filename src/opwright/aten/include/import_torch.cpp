/* In every extension that is built ahead of time: PyTorch is imported when the extension's library is loaded, so that
 * it doesn't matter which of them a program imports first. Its libraries are found by the library's own search path.
 */
#include <Python.h>
#include <dlfcn.h>

namespace {

/* Whether this thread may use Python. Asked for by name, since a library for every Python (py_limited_api) must not need
 * a function that later ones needn't have; where there is none, PyTorch isn't imported. To wait for Python instead would
 * be to wait with the loader's lock held. */
bool allowed() {
  void *check = dlsym(RTLD_DEFAULT, "PyGILState_Check");
  return check && reinterpret_cast<int (*)()>(check)();
}

struct ImportTorch {
  ImportTorch() {
    if (!Py_IsInitialized() || !allowed()) return; /* loaded by something else than an import */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *torch = PyImport_ImportModule("torch");
    Py_XDECREF(torch);
    if (!torch) PyErr_Clear(); /* whatever the extension does then says it */
    PyErr_Restore(type, value, traceback);
  }
} import_torch;

}  // namespace

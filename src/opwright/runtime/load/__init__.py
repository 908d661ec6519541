"""Loading of sources and installed packages as namespaces of operators; reloading, watching and pickling them."""

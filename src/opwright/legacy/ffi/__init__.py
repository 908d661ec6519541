"""``create_extension``: makes a Python package from C sources and headers."""

NO_CFFI = "torch.utils.ffi requires the cffi package\n  likely fix: pip install cffi, or opwright[legacy]"

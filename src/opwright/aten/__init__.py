"""The front end for C++ and CUDA that is written against ATen: built, imported, and made first-class operators."""

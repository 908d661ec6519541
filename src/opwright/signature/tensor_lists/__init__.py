"""Lists of tensors: their lengths, the signature of a call in which each tensor is named, and its derivative."""

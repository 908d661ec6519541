"""The build cache: its folder, its entries, its locks and its size."""

"""Results of a benchmark: measurements, reports, tables and pictures."""

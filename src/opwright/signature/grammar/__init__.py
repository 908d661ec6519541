"""The notation's parser: tokens, parameters, whole signatures, and the rules beyond the grammar."""

/* Nothing: a source that registers operators isn't compiled with this (opwright/aten/headers.py), and PyTorch's types.h
 * includes it for no reason of its own. */
#pragma once

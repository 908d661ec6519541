"""PyTorch's CUDA extensions without a GPU: a device of type ``cuda`` whose memory is the host's, and emulated kernels.

PyTorch's build for the CPU has all of autograd, the dispatcher and the Python API for CUDA; what it lacks is the device
itself. ``csrc`` provides that: an allocator, a guard, hooks, generators, and a fallback that calls PyTorch's operators
for the CPU on the same memory. ``torch_cuda`` provides the functions behind ``torch.cuda``. Extensions are compiled for
the emulator, and linked to it and to the device.
"""

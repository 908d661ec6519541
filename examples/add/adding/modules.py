"""The Function as a module."""

from torch.nn import Module

from .functional import add


class MyAddModule(Module):
    """Adds its inputs."""

    def forward(self, input1, input2):
        return add(input1, input2)

"""The Functions as modules: a module defines only forward."""

from functions.add import MyAdd, MyAddFunction
from torch.nn import Module


class MyAddModule(Module):
    """Adds its inputs with the older-style Function."""

    def forward(self, input1, input2):
        return MyAddFunction()(input1, input2)


class MyStaticAddModule(Module):
    """Adds its inputs with the newer-style Function."""

    def forward(self, input1, input2):
        return MyAdd.apply(input1, input2)

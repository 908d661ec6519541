"""The C functions as autograd Functions, in the two historical styles."""

import torch
from _ext import my_lib
from torch.autograd import Function


class MyAddFunction(Function):
    """The older style, with one instance per call: `MyAddFunction()(input1, input2)`."""

    def forward(self, input1, input2):
        output = input1.new()
        if not my_lib.my_lib_add_forward(input1, input2, output):
            raise ValueError("MyAddFunction: the sizes of its inputs differ")
        self.size = input1.size()  # any value that backward needs
        return output

    def backward(self, grad_output):
        assert grad_output.size() == self.size
        grad_input = grad_output.new()
        my_lib.my_lib_add_backward(grad_output, grad_input)
        return grad_input, grad_input.clone()


class MyAdd(Function):
    """The newer style, of PyTorch 0.2 and later: `MyAdd.apply(input1, input2)`."""

    @staticmethod
    def forward(ctx, input1, input2):
        output = torch.empty(0)
        if not my_lib.my_lib_add_forward(input1, input2, output):
            raise ValueError("MyAdd: the sizes of its inputs differ")
        return output

    @staticmethod
    def backward(ctx, grad_output):
        grad_input = torch.empty(0)
        my_lib.my_lib_add_backward(grad_output, grad_input)
        return grad_input, grad_input.clone()

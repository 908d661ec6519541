"""Compares both modules, forward and backward, with PyTorch's +: `opwright run test.py`."""

import torch
from _ext import my_lib
from modules.add import MyAddModule, MyStaticAddModule
from torch.autograd import Variable

for module in (MyAddModule(), MyStaticAddModule()):
    input1 = Variable(torch.randn(5, 5), requires_grad=True)
    input2 = Variable(torch.randn(5, 5).t(), requires_grad=True)
    weight = torch.randn(5, 5)
    output = module(input1, input2)
    assert torch.equal(output, input1 + input2)
    output.backward(weight)
    assert torch.equal(input1.grad, weight)
    assert torch.equal(input2.grad, weight)
    print(type(module).__name__, "is right")

assert torch.allclose(my_lib.my_lib_sum_rows(input1.data), input1.data.sum(1))

try:
    my_lib.my_lib_sum_rows(torch.ones(3))
except torch.FatalError as error:
    print(error)

if torch.cuda.is_available():
    a, b, c = torch.randn(3, 4).cuda(), torch.randn(3, 4).cuda(), torch.randn(0).cuda()
    assert my_lib.my_lib_add_forward_cuda(a, b, c)
    assert torch.equal(c, a + b)
    print("CUDA is right")

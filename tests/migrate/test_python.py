from __future__ import annotations

from pathlib import Path

import pytest

from opwright.migrate import Examined, examine

REWRITTEN = [
    ("x = x.cuda(async=True)", "x = x.cuda(non_blocking=True)"),
    ("y.copy_(x, async = flag)", "y.copy_(x, non_blocking = flag)"),
    ("print loss.data[0]", "print loss.item()"),
    ("total += self.g_loss.data[0] * n", "total += self.g_loss.item() * n"),
    ("x, y = self.saved_variables", "x, y = self.saved_tensors"),
    ("loss.backward(g, retain_variables=True)", "loss.backward(g, retain_graph=True)"),
    ("x.cuda(f(g(0)), async=True)", "x.cuda(f(g(0)), non_blocking=True)"),
    ("loss.backward(g(), retain_variables=True)", "loss.backward(g(), retain_graph=True)"),
    ("if loss.data[0] == 3: pass", "if loss.item() == 3: pass"),
    ("y = loss.data[0] ** 2", "y = loss.item() ** 2"),
    ("flags = ''' -std=c++11 -O3'''.split()", "flags = ''' -std=c++20 -O3'''.split()"),
    ("flags = ['-std=c++17', '--std=gnu++1z']", "flags = ['-std=c++20', '--std=gnu++20']"),
    ("flags = ['-O3', '-std=c++11', \"-std=gnu++14\"]", "flags = ['-O3', '-std=c++20', \"-std=gnu++20\"]"),
]
LEFT: list[tuple[str, list[str]]] = [
    ("# x.cuda(async=True), '-std=c++11'", []),
    ('"""x.cuda(async=True)\nloss.data[0]"""', []),
    ("async def f(): pass\nrun(async_=True)", []),
    ("y = x.data[0]", [".data[0]"]),
    ("loss.data[0] = 1", []),
    ("loss.data[0][1]", []),
    ("self.data[0]", [".data[0]"]),
    ("losses.data[0]", [".data[0]"]),
    ("loss.data[0] += 1", [".data[0]"]),
    ("self.loss.data[0] //= 2", [".data[0]"]),
    ("del self.loss.data[0]", [".data[0]"]),
    ('''def f():\n    """Pass -std=c++11, or sm_35."""''', []),
    ("if type(x).__name__ == 'torch.cuda.LongTensor': pass", ["type(x).__name__"]),
    ("if x.__class__.__name__ in ('LongTensor', 'IntTensor'): pass", ["type(x).__name__"]),
    ("if type(x).__name__ == 'Parameter': pass\nt = 'LongTensor'", []),
    ("if x.type() == 'torch.LongTensor': pass", []),
    ("y = x.long() / 2", ["/ of integer tensors"]),
    ("_, index = scores.view(-1).topk(3)\nrow = index / width", ["/ of integer tensors"]),
    ("best, at = torch.max(x, 1)\nat /= 4\nbest / 2\nself.at / 2", ["/ of integer tensors"]),
    ("n = x.size(0).long()\ny = n // 2 + m / n", []),
    ("n = x.long() * 0.5\ny = n / 2", []),
    ("from torch.utils.ffi import create_extension", ["torch.utils.ffi"]),
    ("import torch.utils.ffi", ["torch.utils.ffi"]),
    ("setup(cffi_modules=['build.py:ffi'])", ["cffi_modules"]),
    ("x = Variable(y, volatile=True)", ["Variable(...)", "volatile="]),
    ("class Variable(object): pass", []),
    ("class F(Function):\n    def forward(self, x): return x", ["F, a Function with state"]),
    ("class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x", []),
    (
        "class A(Function):\n  @staticmethod\n  def forward(ctx): pass\nclass B(Function):\n  def forward(self): pass",
        ["B, a Function with state"],
    ),
    (
        "class F(Function):\n @staticmethod\n @torch.amp.custom_fwd(cast_inputs=torch.half)\n def forward(ctx): pass",
        [],
    ),
    ("class F(Function):\n    def forward(ctx, x): return x\n    forward = staticmethod(forward)", []),
    (
        (
            "class F(Function):\n def forward(a): 1\nclass G(Function):\n def forward(a): 1\n "
            "forward = staticmethod(forward)"
        ),
        ["F, a Function with state"],
    ),
    ("class M(nn.Module):\n    def forward(self, x): return x", []),
    ("'-gencode', 'arch=compute_35,code=sm_35', 'sm_90'", ["compute_35", "sm_35"]),
    ("'-std=c++20 -std=c11 -std=c++2a -std=c++23'", []),
    ("'-D_GLIBCXX_USE_CXX11_ABI=0'", ["-D_GLIBCXX_USE_CXX11_ABI=0"]),
    ("from torch.testing import get_all_dtypes", ["torch.testing.get_all_dtypes"]),
    ("from torch._thnn import type2backend", ["torch._thnn", "torch._thnn"]),
]


@pytest.mark.parametrize(("before", "after"), REWRITTEN, ids=range(len(REWRITTEN)))
def test_what_is_understood_is_rewritten(before: str, after: str, tmp_path: Path) -> None:
    result = judged(before, tmp_path)
    assert result.after.decode() == after
    assert not any(finding.by_hand for finding in result.findings)


@pytest.mark.parametrize(("text", "names"), LEFT, ids=range(len(LEFT)))
def test_what_is_not_is_left_alone(text: str, names: list[str], tmp_path: Path) -> None:
    result = judged(text, tmp_path)
    assert result.after.decode() == text
    assert [finding.name for finding in result.findings] == names


def test_scripts_and_makefiles_are_reported_and_left(tmp_path: Path) -> None:
    text = "# -arch=sm_35\nall:\n\tnvcc -std=c++11 -arch=sm_52 -gencode arch=compute_80,code=sm_80 a.cu # sm_20\n"
    for name in ("Makefile", "make.sh", "CMakeLists.txt", "rules.cmake"):
        result = judged(text, tmp_path, name)
        assert result.after == result.before
        assert [(f.line, f.name, f.by_hand) for f in result.findings] == [
            (3, "-std=c++11", True),
            (3, "sm_52", True),
        ]


def judged(text: str, folder: Path, name: str = "setup.py") -> Examined:
    path = folder / name
    path.write_text(text)
    return examine(path)

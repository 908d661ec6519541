"""What a container allows, in made-up roots; the layouts are those that container engines and systemd make."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from opwright.errors import ToolchainError
from opwright.toolchain.build import limits

GIB = 1 << 30
V1_NONE = str(9223372036854771712)
V2 = "31 23 0:29 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    return tmp_path


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def machine(root: Path, cgroup: str, *mounts: str) -> None:
    write(root / "proc" / "self", cgroup=cgroup, mountinfo="22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + "\n".join(mounts))


def test_a_container_with_a_name_space_of_its_own(root: Path) -> None:
    machine(root, "0::/", V2)
    stat = f"anon 5\ninactive_file {GIB}\nactive_file {GIB // 2}\nshmem 7"
    group = root / "sys/fs/cgroup"
    write(group, cpu__max="150000 100000", memory__max=str(4 * GIB), memory__current=str(2 * GIB), memory__stat=stat)
    assert limits.cgroup_cores(root) == 2
    assert limits.cgroup_memory(root) == 4 * GIB - GIB // 2


def test_the_narrowest_group_around_counts(root: Path) -> None:
    machine(root, "0::/user.slice/a.scope", V2)
    group = root / "sys/fs/cgroup/user.slice"
    write(group, cpu__max="800000 100000", memory__max=str(GIB), memory__current=str(GIB // 4))
    write(group / "a.scope", cpu__max="400000 100000", memory__max=str(2 * GIB), memory__current=str(GIB // 4))
    assert limits.cgroup_cores(root) == 4
    assert limits.cgroup_memory(root) == GIB - GIB // 4


def test_version_1_shows_a_container_its_own_part(root: Path) -> None:
    part = "/docker/0123"
    machine(
        root,
        f"4:memory:{part}\n2:cpu,cpuacct:{part}/below\n1:name=systemd:{part}\n0::/",
        f"32 31 0:30 {part} /sys/fs/cgroup/cpu\\040and rw - cgroup cgroup rw,cpu,cpuacct",
        f"33 31 0:31 {part} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
    )
    cpu, memory = root / "sys/fs/cgroup/cpu and", root / "sys/fs/cgroup/memory"
    write(cpu, cpu__cfs_quota_us="250000", cpu__cfs_period_us="50000")
    write(cpu / "below", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    stat = f"inactive_file 1\ntotal_inactive_file {GIB}\ntotal_active_file 0"
    write(memory, memory__limit_in_bytes=str(3 * GIB), memory__usage_in_bytes=str(2 * GIB), memory__stat=stat)
    assert limits.cgroup_cores(root) == 5
    assert limits.cgroup_memory(root) == 2 * GIB


def test_no_limit(root: Path) -> None:
    machine(root, "4:memory:/\n1:cpu:/\n0::/", V2, "32 31 0:30 / /memory rw - cgroup cgroup rw,memory")
    write(root / "sys/fs/cgroup", cpu__max="max 100000", memory__max="max", memory__current="5")
    write(root / "memory", memory__limit_in_bytes=V1_NONE, memory__usage_in_bytes="5")
    assert (limits.cgroup_cores(root), limits.cgroup_memory(root)) == (None, None)


def test_more_is_used_than_allowed(root: Path) -> None:
    machine(root, "0::/", V2)
    write(root / "sys/fs/cgroup", cpu__max="1000 100000", memory__max="5", memory__current="7")
    assert (limits.cgroup_cores(root), limits.cgroup_memory(root)) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["", "\n", "0", "0:", "::", "0::/\nx", "0::" + "/.." * 30, "0::/\udcff"])
def test_whatever_the_files_hold(broken: str, root: Path) -> None:
    assert (limits.cgroup_cores(root), limits.cgroup_memory(root)) == (None, None)
    mounts = [V2, "- cgroup2", "1 2 - cgroup", "1 2 3 / /sys/fs/cgroup - cgroup x cpu,memory", ""]
    for mount, value in itertools.product(mounts, ["", "x", "0 0", "-5 9", "5", "\x00"]):
        machine(root, "0::/", mount)
        (root / "proc" / "self" / "cgroup").write_text(broken, errors="surrogateescape")
        write(root / "sys/fs/cgroup", cpu__max=value, memory__max=value, memory__current=value, memory__stat=value)
        assert limits.cgroup_cores(root) is None
        assert limits.cgroup_memory(root) in (None, 0)


def test_compilers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAX_JOBS", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(16)))
    monkeypatch.setattr(limits, "_machine_memory", lambda: 64 * GIB)
    found: dict[str, int | None] = {"cores": None, "free_memory": None}
    monkeypatch.setattr(limits, "cgroup_cores", lambda: found["cores"])
    monkeypatch.setattr(limits, "cgroup_memory", lambda: found["free_memory"])
    for cores, memory, jobs in [(None, None, 16), (3, None, 3), (None, 5 * GIB, 5), (99, 99 * GIB, 16), (4, 0, 1)]:
        found.update(cores=cores, free_memory=memory)
        assert limits.jobs() == jobs


def test_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_cores", lambda: 8)
    monkeypatch.setattr(limits, "free_memory", lambda: 3 << 30)
    assert limits.jobs() == 3
    monkeypatch.setattr(limits, "free_memory", lambda: 1 << 20)
    assert limits.jobs() == 1
    monkeypatch.setattr(limits, "free_memory", lambda: 1 << 40)
    assert limits.jobs() == 8
    monkeypatch.setenv("MAX_JOBS", "17")
    assert limits.jobs() == 17
    for wrong in ("0", "-1", "many", "1.5"):
        monkeypatch.setenv("MAX_JOBS", wrong)
        with pytest.raises(ToolchainError, match=f"MAX_JOBS='{wrong}': expected a positive whole number"):
            limits.jobs()


def test_memory_and_cores_are_read() -> None:
    assert limits._cores() >= 1
    assert limits.free_memory() > 1 << 20


def test_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits.time_limit() >= 600
    monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", "2.5")
    assert limits.time_limit() == 2.5
    for wrong in ("0", "-3", "soon", "nan", "inf"):
        monkeypatch.setenv("OPWRIGHT_COMPILE_TIMEOUT", wrong)
        with pytest.raises(ToolchainError, match=f"OPWRIGHT_COMPILE_TIMEOUT='{wrong}': expected seconds"):
            limits.time_limit()

"""Stands for the process that runs NVRTC, and is killed, for want of memory, say."""

import os
import signal

os.kill(os.getpid(), signal.SIGKILL)

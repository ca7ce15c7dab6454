"""Training processes on this machine, which end with the test."""

import os
import pickle
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

TIMEOUT = 20
"""Seconds after which a process that waits for another gives up."""


def launch(work, world, folder, *arguments, fails=False):
    """Run a function in some processes; return what each returned, or None if it died.

    It is called with the number of the process, the number of processes, and the arguments.
    """
    context = mp.get_context("spawn")
    store = folder / f"store-{len(list(folder.iterdir()))}"
    processes = [
        context.Process(target=_enter, args=(work, rank, world, store, arguments), daemon=True)
        for rank in range(world)
    ]
    try:
        for process in processes:
            process.start()
        for process in processes:
            process.join(90)
            assert not process.is_alive(), "a process did not end"
    finally:
        for process in processes:
            process.kill()
    found = [_result(store, rank) for rank in range(world)]
    if not fails:
        for one in found:
            assert not isinstance(one, str) or not one.startswith("Traceback"), one
    return found


def _result(store, rank):
    path = store.with_name(f"{store.name}-{rank}")
    return pickle.loads(path.read_bytes()) if path.exists() else None


def _enter(work, rank, world, store, arguments):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    path = store.with_name(f"{store.name}-{rank}")
    try:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{store}",
            rank=rank,
            world_size=world,
            timeout=timedelta(seconds=TIMEOUT),
        )
        result = work(rank, world, *arguments)
        dist.destroy_process_group()
    except Exception:
        result = traceback.format_exc()
    path.write_bytes(pickle.dumps(result))

"""Memory that two processes share: mapped files on the CPU, CUDA IPC on a GPU.

The referee exports, a child imports. An importer can write to the whole of what it maps, so every
buffer is an allocation that holds nothing else. Each buffer is seen as a flat uint8 tensor; `codec.view`
makes typed tensors of it.
"""
import ctypes
import mmap
import os

import torch

# The driver cuts smaller allocations out of shared 2 MiB blocks, and IPC maps the whole block.
CUDA_GRANULE = 2 << 20
_IPC_HANDLE_BYTES = 64
_LAZY_PEER_ACCESS = 1
_CUDA_OUT_OF_MEMORY = 2


class OutOfMemory(Exception):
    """`wanted` bytes could not be had."""

    def __init__(self, wanted):
        super().__init__(f"{wanted} bytes could not be allocated")
        self.wanted = wanted


class Buffer:
    """`memory` is a flat uint8 tensor of `size` bytes; `where` is how another process finds it."""

    def __init__(self, memory, size, where, close):
        self.memory, self.size, self.where = memory, size, where
        self._close = close

    def describe(self, number):
        return {"buffer": number, "bytes": self.size, **self.where}

    def close(self):
        """Gives the memory back; tensors made of it must not be touched afterwards."""
        self.memory = None
        close, self._close = self._close, lambda: None
        close()


# ------------------------------------------------------------------------------------------ mapped files
def _map_file(path, size):
    with open(path, "r+b") as file:
        mapping = mmap.mmap(file.fileno(), size)
    # The tensor keeps the mapping alive; it is unmapped when the last view of it is gone.
    return torch.frombuffer(mapping, dtype=torch.uint8, count=size)


class FileExporter:
    """Buffers as files in `folder`, removed when they are closed."""

    def __init__(self, folder):
        self._folder = folder
        self._made = 0

    def allocate(self, size):
        size = max(size, 1)
        path = os.path.join(self._folder, f"buffer-{os.getpid()}-{self._made}")
        self._made += 1
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.posix_fallocate(fd, 0, size)  # a full disk is an error here and not a SIGBUS later
            memory = _map_file(path, size)
        except OSError:
            os.unlink(path)
            raise OutOfMemory(size) from None
        finally:
            os.close(fd)
        return Buffer(memory, size, {"path": path}, lambda: os.unlink(path))


# ----------------------------------------------------------------------------------------------- CUDA IPC
class _IpcHandle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * _IPC_HANDLE_BYTES)]


class _Driver:
    """The few calls of the CUDA driver that torch does not offer."""

    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")

    def _check(self, name, code):
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        code = self._library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
        if code == _CUDA_OUT_OF_MEMORY:
            raise OutOfMemory(size)
        self._check("cuMemAlloc", code)
        return pointer.value

    def free(self, pointer):
        self._check("cuMemFree", self._library.cuMemFree_v2(ctypes.c_uint64(pointer)))

    def export_handle(self, pointer):
        handle = _IpcHandle()
        code = self._library.cuIpcGetMemHandle(ctypes.byref(handle), ctypes.c_uint64(pointer))
        self._check("cuIpcGetMemHandle", code)
        return ctypes.string_at(ctypes.byref(handle), _IPC_HANDLE_BYTES).hex()

    def open_handle(self, text):
        handle, pointer = _IpcHandle.from_buffer_copy(bytes.fromhex(text)), ctypes.c_uint64()
        code = self._library.cuIpcOpenMemHandle_v2(ctypes.byref(pointer), handle, ctypes.c_uint(_LAZY_PEER_ACCESS))
        self._check("cuIpcOpenMemHandle", code)
        return pointer.value

    def close_handle(self, pointer):
        self._check("cuIpcCloseMemHandle", self._library.cuIpcCloseMemHandle(ctypes.c_uint64(pointer)))


class _DeviceBytes:
    """Raw device memory in the form that torch.as_tensor understands."""

    def __init__(self, pointer, size):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (pointer, False),
            "strides": None,
            "version": 3,
        }


def _enter_context(device):
    """Makes torch's primary context of `device` current, so that the driver's calls work in it."""
    torch.cuda.set_device(device)
    torch.zeros(1, device=device)


def _device_memory(pointer, size, device):
    return torch.as_tensor(_DeviceBytes(pointer, size), device=device)


class CudaExporter:
    """Buffers as allocations of their own on `device`."""

    def __init__(self, device):
        self._device = torch.device(device)
        _enter_context(self._device)
        self._driver = _Driver()

    def allocate(self, size):
        size = max(size, 1)
        whole = -(-size // CUDA_GRANULE) * CUDA_GRANULE
        try:
            pointer = self._driver.allocate(whole)
        except OutOfMemory:
            torch.cuda.empty_cache()  # what torch keeps for later is free for us
            pointer = self._driver.allocate(whole)

        def free():
            torch.cuda.synchronize(self._device)
            self._driver.free(pointer)

        memory = _device_memory(pointer, size, self._device)
        return Buffer(memory, size, {"ipc": self._driver.export_handle(pointer)}, free)


def exporter(device, shared):
    """What allocates buffers for `device`; `shared` is the folder for mapped files."""
    return FileExporter(shared) if torch.device(device).type == "cpu" else CudaExporter(device)


def open_buffer(description, device):
    """A buffer that another process exported. A CUDA buffer can be opened once at a time in a process."""
    size = description["bytes"]
    if "path" in description:
        where = {"path": description["path"]}
        return Buffer(_map_file(description["path"], size), size, where, lambda: None)
    _enter_context(torch.device(device))
    driver = _Driver()
    pointer = driver.open_handle(description["ipc"])
    memory = _device_memory(pointer, size, torch.device(device))
    return Buffer(memory, size, {"ipc": description["ipc"]}, lambda: driver.close_handle(pointer))

"""What `npu-smi info` and `npu-smi info watch` print, polled into a file."""

"""Plays torch_npu: its calls for CANN's dump are written into the file that DOUBLE_NPU_CALLS names."""

import os


class npu:
    @staticmethod
    def _note(text):
        with open(os.environ["DOUBLE_NPU_CALLS"], "a") as file:
            file.write(text + "\n")

    @staticmethod
    def init_dump():
        npu._note("init_dump")

    @staticmethod
    def set_dump(path):
        npu._note(f"set_dump {path}")

    @staticmethod
    def finalize_dump():
        npu._note("finalize_dump")

"""`npulse.hook.register_dump_hook(config_path)`, for scripts that mark their steps themselves."""

from npulse.core.capture.hook import DumpHook, register_dump_hook

__all__ = ["DumpHook", "register_dump_hook"]

"""CANN's logs, of host and device and as a console shows them: what failed, where and when."""

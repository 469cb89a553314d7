# Run by the one-file build before npulse: a Python that does not fit is named, the folder is told once.
import os
import sys

version = "{}.{}".format(*sys.version_info[:2])
if version != "@VERSION@":
    sys.exit(f"npulse: this file is for Python @VERSION@, it was started by {version}")
folder = os.path.dirname(str(globals()["site_packages"]))
try:
    os.close(os.open(os.path.join(folder, "told"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    print(f"npulse: unpacked into {folder}; SHIV_ROOT moves it, it may be deleted", file=sys.stderr)
except OSError:
    pass

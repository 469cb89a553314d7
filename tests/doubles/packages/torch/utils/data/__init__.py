worker = None


def get_worker_info():
    return worker

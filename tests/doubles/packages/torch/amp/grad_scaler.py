class GradScaler:
    def __init__(self):
        self.found_inf = False

    def step(self, optimizer):
        if not self.found_inf:
            optimizer.step()

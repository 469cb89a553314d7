class Optimizer:
    def __init__(self, parameters):
        self.parameters = list(parameters)


class SGD(Optimizer):
    def step(self):
        return None

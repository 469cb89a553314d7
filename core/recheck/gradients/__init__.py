"""What the backward calls of operators compute, a module a family. One function an operator, over `Number`.

Parameters: the gradient `g` of the forward call's first output, then those of the forward reference; `result`
is the forward call's first output, as it was dumped. A function returns gradients by the name of the
parameter that they are of. What is dumped of a backward call are the inputs of the last node of the graph
that the forward call built: of an operator built of several, what goes into the last one is returned too.
"""

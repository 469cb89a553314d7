"""Asked three times, without an optimizer; torch is imported late."""


def main():
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).eval()
    with torch.no_grad():
        for _ in range(3):
            print("asked", model(torch.ones(2, 8)).shape)


main()

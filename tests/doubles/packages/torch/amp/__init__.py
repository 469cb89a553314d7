from . import grad_scaler
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "grad_scaler"]

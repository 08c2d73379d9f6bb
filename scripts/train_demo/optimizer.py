"""The optimizers: Muon for the matrices inside the layers, AdamW for everything else."""

import torch


def make_optimizers(module, weight_decay=0.1):
    """Muon (Jordan et al., 2024, with the scale of Liu et al., 2025, that lets it share AdamW's rate) for matrices;
    AdamW for embeddings, norms and convolutions."""
    matrices, embeddings, vectors = [], [], []
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            continue
        kind = vectors if parameter.dim() != 2 else embeddings if "embed_tokens" in name else matrices
        kind.append(parameter)
    optimizers = []
    if matrices:
        optimizers.append(
            torch.optim.Muon(matrices, lr=0.0, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")
        )
    groups = [{"params": embeddings, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    groups = [group for group in groups if group["params"]]
    if groups:
        optimizers.append(torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), eps=1e-8, fused=True))
    return optimizers


def rate(progress, peak, warmup=0.02, decay=0.35):
    """Warm-up, plateau, linear decay to a fiftieth of the peak (WSD); `progress` in [0, 1]."""
    if progress < warmup:
        return peak * max(progress / warmup, 0.02)
    return peak * min(1.0, max((1.0 - progress) / decay, 0.02))


def step(module, optimizers, learning_rate, max_norm=1.0):
    """Applies one update from the current gradients. Returns their norm before clipping."""
    norm = torch.nn.utils.clip_grad_norm_(module.parameters(), max_norm)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return float(norm)

"""The training loop of every model of the pair: rates, checkpoints, resumption, progress."""

import time

import torch

import optimizer


def autocast(device):
    return torch.autocast(device.type, torch.bfloat16)


def progress_bar(done, total, begun, note):
    left = (time.time() - begun[0]) / max(done - begun[1], 1) * (total - done)
    return f"{done:>6} of {total} steps  {note}  {left / 60:5.1f} min left"


def run(name, module, loss_of_step, num_steps, peak, work, evaluate=lambda: "", every=40):
    """Applies `num_steps` updates to `module`.

    loss_of_step(i) is the loss of update i, a scalar that backward() is called on. Every `every` updates the state is
    saved to work/NAME.pt and evaluate() is printed. A run that finds such a file resumes from it.
    """
    path = work / f"{name}.pt"
    optimizers = optimizer.make_optimizers(module)
    first = 0
    if path.exists():
        state = torch.load(path, map_location=next(module.parameters()).device)
        module.load_state_dict(state["module"])
        for target, saved in zip(optimizers, state["optimizers"]):
            target.load_state_dict(saved)
        first = state["step"]
        print(f"{name}: goes on from step {first}", flush=True)
    begun, mean = (time.time(), first), None
    for number in range(first, num_steps):
        loss = loss_of_step(number)
        loss.backward()
        norm = optimizer.step(module, optimizers, optimizer.rate(number / num_steps, peak))
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        done = number + 1
        if done % 20 == 0 or done == num_steps:
            print(f"{name}: {progress_bar(done, num_steps, begun, f'loss {mean:.3f}  gradient {norm:.2f}')}", flush=True)
        if done % every == 0 or done == num_steps:
            state = {
                "module": module.state_dict(),
                "optimizers": [o.state_dict() for o in optimizers],
                "step": done,
            }
            torch.save(state, path.with_suffix(".tmp"))
            path.with_suffix(".tmp").rename(path)
            print(f"{name}: {evaluate()}", flush=True)

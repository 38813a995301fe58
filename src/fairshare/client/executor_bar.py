"""Owns the progress bar of an executor, on stderr. Knows no server."""

from collections.abc import Callable

from fairshare.client.executor_calls import ExecutorProgress


def progress_bar(name: str) -> Callable[[ExecutorProgress], None] | None:
    """What shows each progress as a bar; None if stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[words]}"),
        Elapsed(),
        console=console,
    )
    bar = shown.add_task(name, total=None, words="")

    def show(now: ExecutorProgress) -> None:
        over = now.done + now.failed + now.cancelled
        counts = {"running": now.running, "waiting": now.waiting, "failed": now.failed}
        words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        shown.start()
        shown.update(bar, total=now.calls, completed=over, words=words)
        if over == now.calls:
            shown.refresh()
            shown.stop()

    return show

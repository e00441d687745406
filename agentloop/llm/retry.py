"""When a call is tried again, and how long to wait before."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime

__all__ = ["RetryPolicy", "retry_after_s", "retryable"]


def retryable(status: int) -> bool:
    """True for 429 and every 5xx but 501: "not implemented" will not be implemented in a second."""
    return status == 429 or (status >= 500 and status != 501)


def retry_after_s(header: str | None, *, now: float) -> float | None:
    """Seconds to wait by a Retry-After header: whole seconds or an HTTP date (0 for a past one).

    None when it is absent or unreadable. `now` is seconds since the epoch.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    if not text or text[0] == "-":
        return None
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a call is repeated."""

    max_retries: int = 3
    """Further attempts after the first; 0 or less = none."""
    base_s: float = 0.5
    """The first wait; each further one is twice as long."""
    cap_s: float = 30.0
    """No wait is longer, whatever the server asks for."""
    spread: float = 0.5
    """The largest share of a wait that jitter may add."""

    def delay_s(self, attempt: int, *, jitter: float = 0.0, retry_after: float | None = None) -> float:
        """The wait before attempt `attempt + 1`, attempts counted from 0.

        `jitter` is a number from 0 to 1. What the server asked for wins outright.
        """
        if retry_after is not None:
            return min(max(0.0, retry_after), self.cap_s)
        base = self.base_s if self.base_s > 0 else 0.5
        doubled = base * 2.0 ** min(max(0, attempt), 32)
        share = self.spread * min(max(0.0, jitter), 1.0)
        return min(doubled * (1 + share), self.cap_s)

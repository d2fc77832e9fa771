"""What a call costs and what a budget allows: calls, money and tokens, counted exactly."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from math import ceil
from typing import Final, final

NANO: Final = 10**9
"""Money is counted in whole billionths of the currency."""
_MILLION: Final = 10**6


@final
@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one call: of what is sent, images included, and of what comes back."""

    sent: int = 0
    received: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.sent + self.received

    def times(self, factor: float) -> Tokens:
        """Both multiplied, and rounded up.

        >>> Tokens(10, 3).times(1.5)
        Tokens(sent=15, received=5)
        """
        return self if factor == 1 else Tokens(ceil(self.sent * factor), ceil(self.received * factor))

    def beyond(self, held: Tokens) -> float:
        """How many times what was held these are, at least 1.

        >>> Tokens(30, 5).beyond(Tokens(20, 10)), Tokens(1, 1).beyond(Tokens())
        (1.5, 1.0)
        """
        pairs = ((self.sent, held.sent), (self.received, held.received))
        return max([1.0, *(used / kept for used, kept in pairs if kept)])


NO_TOKENS: Final = Tokens()


@final
@dataclass(frozen=True, slots=True)
class Spent:
    """Calls made, money spent and tokens used until now, since the file of answers was created."""

    calls: int
    money: Decimal
    tokens: int = 0


@final
@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that may be spent (None: no limit), and the price of a call and of a million tokens."""

    calls: int | None = None
    money: Decimal | None = None
    per_call: Decimal = Decimal(0)
    currency: str = "USD"
    tokens: int | None = None
    per_million_sent: Decimal = Decimal(0)
    per_million_received: Decimal = Decimal(0)

    def price(self, tokens: Tokens = NO_TOKENS) -> int:
        """One call with these tokens, in billionths, rounded up.

        >>> Allowance(per_call=Decimal("0.1")).price(), Allowance(per_million_sent=Decimal("2.5")).price(Tokens(3, 9))
        (100000000, 7500)
        """
        for_tokens = tokens.sent * self.per_million_sent + tokens.received * self.per_million_received
        return int((self.per_call * NANO + for_tokens * NANO / _MILLION).to_integral_value(ROUND_CEILING))

    def fault(self, spent: Spent, tokens: Tokens = NO_TOKENS) -> str:
        """Why no call with so many tokens is allowed any more; "" where it is."""
        price = Decimal(self.price(tokens)) / NANO
        if self.calls is not None and spent.calls + 1 > self.calls:
            return f"{spent.calls} of {self.calls} calls are made"
        if self.money is not None and spent.money + price > self.money:
            amount = f"{spent.money.normalize():f} of {self.money:f} {self.currency}"
            at_most = "may cost" if tokens.total else "costs"
            return f"{amount} is spent, and a call {at_most} {price.normalize():f}"
        if self.tokens is not None and spent.tokens + tokens.total > self.tokens:
            return f"{spent.tokens} of {self.tokens} tokens are used, and a call may use {tokens.total}"
        return ""

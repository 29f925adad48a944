// Formats prices and context windows of models for lists.

/** Dollars per million tokens. */
export function priceText(dollars: number | null): string {
  return dollars === null ? "-" : `$${dollars < 0.1 && dollars > 0 ? dollars.toFixed(3) : dollars.toFixed(2)}`;
}

export function windowText(tokens: number | null): string {
  if (tokens === null) return "-";
  return tokens >= 1_000_000 ? `${Number((tokens / 1_000_000).toFixed(1))}M` : `${Math.round(tokens / 1000)}k`;
}

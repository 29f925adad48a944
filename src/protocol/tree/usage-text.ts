// Token counts as the status bar and the line after a turn show them. Input is all that was sent, the cached part beside it.
import type { Usage } from "./usage.ts";

export function totalInput(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

/** `i:1234(c:800) o:567` */
export function tokensText(usage: Usage, count: (tokens: number) => string = String): string {
  const cached = usage.cacheRead > 0 ? `(c:${count(usage.cacheRead)})` : "";
  return `i:${count(totalInput(usage))}${cached} o:${count(usage.output)}`;
}

/** `$?` where a price was not known. */
export function costText(costUsd: number | null, digits = 4): string {
  return costUsd === null ? "$?" : `$${costUsd.toFixed(digits)}`;
}

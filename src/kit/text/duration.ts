// Parses and formats durations.

/** The longest timer (24.8 days). A longer one fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of "90", "90s", "10m", "2h" or "30d"; null for other text. A bare number is seconds. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(text.trim());
  if (!match) return null;
  const ms = Math.round(Number(match[1]) * unitMs[match[2] ?? "s"]!);
  return Number.isSafeInteger(ms) ? ms : null;
}

/** "340 ms", "1.2 s", "3 m 05 s", "2 h 10 m". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
}

/** A running time that is redrawn: "12 s", then as `formatDuration`. */
export function formatElapsed(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : formatDuration(ms);
}

const spans: readonly (readonly [word: string, ms: number])[] = [
  ["year", 365 * 86_400_000],
  ["month", 30 * 86_400_000],
  ["week", 7 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

/** "3 days ago". Less than a minute, or a time in the future, is "just now". */
export function ago(ms: number): string {
  const [word, span] = spans.find(([, each]) => ms >= each) ?? [];
  if (word === undefined || span === undefined) return "just now";
  const count = Math.floor(ms / span);
  return `${count} ${word}${count === 1 ? "" : "s"} ago`;
}

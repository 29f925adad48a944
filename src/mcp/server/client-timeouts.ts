// The time after which known clients abandon a tool call. Measured over stdio with a tool that sleeps, at the clients'
// default settings, with and without a progress notification every 15 s.

export type ClientTimeout = {
  /** Matches the client's name in lower case. */
  client: RegExp;
  /** The version of the client that was measured. */
  measured: string;
  /** The client's timeout without progress notifications. Null: it still waited after 700 s. */
  silentMs: number | null;
  /** The client's timeout with progress notifications. Null: it still waited after 700 s. */
  progressMs: number | null;
};

export const knownClients: readonly ClientTimeout[] = [
  { client: /^claude/, measured: "2.1.197", silentMs: null, progressMs: null },
  { client: /^opencode/, measured: "1.18.33", silentMs: 60_000, progressMs: null },
  { client: /^codex/, measured: "0.166.0", silentMs: 300_000, progressMs: 300_000 },
  { client: /^gemini/, measured: "0.61.0", silentMs: 600_000, progressMs: 600_000 },
];

/** The limit for an unknown client, which may abandon a call after a minute. */
const unknownClientMs = 45_000;
/** Time to deliver the answer before the client's timeout. */
const marginMs = 15_000;

export type ClientTraits = { client: string | undefined; hasProgress: boolean; overHttp: boolean };

/**
 * Time limit of a call; null is no limit. The limit for unknown clients also applies over HTTP: proxies may have their own
 * timeouts, and nothing was measured.
 */
export function callTimeout({ client, hasProgress, overHttp }: ClientTraits): number | null {
  const entry = overHttp ? undefined : knownClients.find((candidate) => candidate.client.test(client?.toLowerCase() ?? ""));
  if (entry === undefined) return unknownClientMs;
  const limitMs = hasProgress ? entry.progressMs : entry.silentMs;
  return limitMs === null ? null : limitMs - marginMs;
}

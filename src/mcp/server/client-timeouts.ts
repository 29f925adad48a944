// The time after which known clients abandon a tool call. Measured over stdio with a tool that sleeps, at the clients'
// default settings, with and without a progress notification every 15 s.

export type ClientTimeout = {
  client: RegExp;
  /** The measured version. */
  measured: string;
  /** How long it waited without and with progress; null: until the end of a call of at least 700 s. */
  silentMs: number | null;
  progressMs: number | null;
};

export const knownClients: readonly ClientTimeout[] = [
  { client: /^claude/, measured: "2.1.197", silentMs: null, progressMs: null },
  { client: /^opencode/, measured: "1.18.33", silentMs: 60_000, progressMs: null },
  { client: /^codex/, measured: "0.166.0", silentMs: 300_000, progressMs: 300_000 },
  { client: /^gemini/, measured: "0.61.0", silentMs: 600_000, progressMs: 600_000 },
];

/** An unknown client may abandon a call after a minute. */
const unknownMs = 45_000;
/** Time to deliver the answer before the client's timeout. */
const marginMs = 15_000;

export type ClientTraits = { client: string | undefined; hasProgress: boolean; overHttp: boolean };

/** Time limit of a call; null is no limit. Over HTTP there may be proxies in between and nothing was measured, so the default applies. */
export function callTimeout({ client, hasProgress, overHttp }: ClientTraits): number | null {
  const entry = overHttp ? undefined : knownClients.find((candidate) => candidate.client.test(client?.toLowerCase() ?? ""));
  if (entry === undefined) return unknownMs;
  const limitMs = hasProgress ? entry.progressMs : entry.silentMs;
  return limitMs === null ? null : limitMs - marginMs;
}

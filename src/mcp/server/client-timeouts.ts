// How long a tool call may take before its client gives up, by the name that the client gives itself. Measured over
// stdio with a tool that sleeps, with and without a progress notice every 15 s, at the clients' default settings.

export type ClientTimeout = {
  client: RegExp;
  /** The version that was measured. */
  measured: string;
  /** How long it waited in silence, and while it was told of progress; null: to the end of a call of 700 s or more. */
  silentMs: number | null;
  progressMs: number | null;
};

export const knownClients: readonly ClientTimeout[] = [
  { client: /^claude/, measured: "2.1.197", silentMs: null, progressMs: null },
  { client: /^opencode/, measured: "1.18.33", silentMs: 60_000, progressMs: null },
  { client: /^codex/, measured: "0.166.0", silentMs: 300_000, progressMs: 300_000 },
  { client: /^gemini/, measured: "0.61.0", silentMs: 600_000, progressMs: 600_000 },
];

/** Whoever is not known may give up after a minute. */
const unknownMs = 45_000;
/** What the answer needs to be on its way before the client's own clock is up. */
const marginMs = 15_000;

export type ClientTraits = { client: string | undefined; hearsProgress: boolean; overHttp: boolean };

/** How long a call can be kept open; null is as long as it takes. Over HTTP others stand between, and nobody was measured. */
export function callTimeout({ client, hearsProgress, overHttp }: ClientTraits): number | null {
  const known = overHttp ? undefined : knownClients.find((row) => row.client.test(client?.toLowerCase() ?? ""));
  if (known === undefined) return unknownMs;
  const limitMs = hearsProgress ? known.progressMs : known.silentMs;
  return limitMs === null ? null : limitMs - marginMs;
}

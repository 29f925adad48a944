// Stores what vendors report about their limits in a small file of the state directory, for `usage --limits` and for the choice
// of the next agent at a limit. The file is only a convenience: a broken one counts as empty, and it never has a key.
import { createHash } from "node:crypto";
import { replaceFile } from "../kit/files/replace-file.ts";
import { readRegularFile } from "../kit/files/safe-file.ts";
import { isRecord } from "../kit/text/json.ts";
import { readWindows } from "../models/limits/read-windows.ts";
import type { Endpoint } from "../models/model.ts";
import type { TurnError } from "../protocol/api/error.ts";
import { isLimitError } from "../protocol/limits/at-limit.ts";
import type { KnownLimit, LimitWindow } from "../protocol/limits/limit-window.ts";
import { limitsFile } from "./limit-port.ts";

const maxEntries = 50;
/** A smaller change of a window's use is not written. */
const reportedChange = 0.05;
const maxFileBytes = 1 << 20;

export type VendorLimits = ReturnType<typeof createVendorLimits>;

/** `now` is the time of day; tests replace it. */
export function createVendorLimits(stateDir: string, now: () => number = Date.now) {
  const path = limitsFile(stateDir);
  /** The windows that this process wrote last, so that most answers need no file access. */
  const written = new Map<string, LimitWindow[]>();
  const save = (entry: KnownLimit): void => {
    const others = readLimits(path).filter((other) => keyOf(other) !== keyOf(entry));
    writeLimits(path, [entry, ...others].slice(0, maxEntries));
    written.set(keyOf(entry), entry.windows);
  };
  return {
    /** Called for every answer of a vendor. Writes only a material change. */
    observe({ vendor, apiKey }: Pick<Endpoint, "vendor" | "apiKey">, headers: Headers): void {
      const windows = readWindows(headers, now());
      if (windows.length === 0) return;
      const entry = { source: vendor, credential: apiKey === "" ? null : fingerprint(apiKey), windows, seenAt: now() };
      if (isMaterial(written.get(keyOf(entry)), windows)) save(entry);
    },
    /** Called for the end of every turn. Stores an agent's limit, and removes it after a turn without an error. */
    noteEnd(agent: string, model: string | null, error: TurnError | null): void {
      const source = sourceOf(agent, model);
      if (error === null) {
        const known = readLimits(path);
        const others = known.filter((entry) => entry.source !== source || entry.credential !== null);
        if (others.length < known.length) writeLimits(path, others);
      } else if (isLimitError(error) && error.resetAt !== undefined) {
        const window = { name: "limit", used: null, limit: null, remaining: null, resetAt: error.resetAt, isUsedUp: true };
        save({ source, credential: null, windows: [window], seenAt: now() });
      }
    },
    /** The end of the agent's known limit; null if it has none, or if it has passed. */
    limitedUntil(agent: string, model: string | null): number | null {
      const entry = readLimits(path).find(({ source, credential }) => credential === null && source === sourceOf(agent, model));
      const end = entry?.windows[0]?.resetAt ?? null;
      return end !== null && end > now() ? end : null;
    },
    /** Windows that have not ended, the latest first. */
    list(): KnownLimit[] {
      const time = now();
      return readLimits(path)
        .map((entry) => ({ ...entry, windows: entry.windows.filter(({ resetAt }) => resetAt === null || resetAt > time) }))
        .filter(({ windows }) => windows.length > 0);
    },
  };
}

/** The native agent is limited by vendor, another agent by its own account. */
function sourceOf(agent: string, model: string | null): string {
  return agent === "native" && model !== null ? `native ${model.split("/")[0]}` : agent;
}

function keyOf({ source, credential }: Pick<KnownLimit, "source" | "credential">): string {
  return `${source} ${credential ?? ""}`;
}

function fingerprint(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 8);
}

function isMaterial(before: LimitWindow[] | undefined, after: LimitWindow[]): boolean {
  if (before === undefined || before.length !== after.length) return true;
  return after.some((window, index) => {
    const old = before[index]!;
    if (window.name !== old.name || window.isUsedUp !== old.isUsedUp) return true;
    return Math.abs((window.used ?? 0) - (old.used ?? 0)) >= reportedChange;
  });
}

function readLimits(path: string): KnownLimit[] {
  try {
    const value: unknown = JSON.parse(String(readRegularFile(path, { maxBytes: maxFileBytes })));
    return Array.isArray(value) ? value.filter(isKnownLimit) : [];
  } catch {
    return [];
  }
}

function isKnownLimit(value: unknown): value is KnownLimit {
  return isRecord(value) && typeof value["source"] === "string" && typeof value["seenAt"] === "number" && Array.isArray(value["windows"]);
}

function writeLimits(path: string, limits: KnownLimit[]): void {
  try {
    replaceFile(path, `${JSON.stringify(limits)}\n`, { file: 0o600, directory: 0o700, isFlushed: false });
  } catch {
    // A turn must not fail because of it.
  }
}

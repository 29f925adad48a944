// Sends stored spans to the collector. Runs in a process of its own (`skein __send-traces`). Several may run at once: each
// claims a file by renaming it. Files that can't be sent now stay for the next sender, for at most a day.
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { readRegularFile } from "../../kit/files/safe-file.ts";
import { otlpSettings, type OtlpSettings } from "../../protocol/otlp/otlp-settings.ts";

const maxAgeMs = 24 * 3_600_000;
/** A sender that was killed leaves its claim. */
const claimAgeMs = 5 * 60_000;
const maxFileBytes = 64 << 20;
const claimEnd = ".sending";

type Env = Readonly<Record<string, string | undefined>>;

export async function sendTraces(directory: string, env: Env): Promise<void> {
  const settings = otlpSettings(env);
  if (settings === null || !mayReach(settings.url, env)) return;
  for (const name of readdirSync(directory).toSorted()) {
    const claimed = claim(join(directory, name));
    if (claimed === null) continue;
    const outcome = await post(claimed, settings);
    if (outcome === "later") renameSync(claimed, claimed.slice(0, -claimEnd.length));
    else rmSync(claimed, { force: true });
    // The collector is down: further requests would only take time.
    if (outcome === "later") return;
  }
}

function mayReach(url: string, env: Env): boolean {
  return !env["SKEIN_OFFLINE"] || ["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname);
}

/** The path of the claimed file. Null if another sender has it, or if it is too old. */
function claim(path: string): string | null {
  try {
    const age = Date.now() - statSync(path).mtimeMs;
    if (age > maxAgeMs) rmSync(path, { force: true });
    const isStale = path.endsWith(claimEnd) && age > claimAgeMs;
    if (age > maxAgeMs || !(path.endsWith(".json") || isStale)) return null;
    const claimed = isStale ? path : `${path}${claimEnd}`;
    renameSync(path, claimed);
    return claimed;
  } catch {
    // Another sender was faster.
    return null;
  }
}

/** The protocol requires another attempt after these statuses. */
const retried = [408, 429, 502, 503, 504];

async function post(path: string, { url, headers, timeoutMs }: OtlpSettings): Promise<"done" | "later"> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: readRegularFile(path, { maxBytes: maxFileBytes }),
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return retried.includes(response.status) ? "later" : "done";
  } catch {
    return "later";
  }
}

// Shared by the adapters of CLIs that work with any vendor: the vendor of a model, and the route of its requests.
// Supports the three vendors that have their own wire. Any other model counts as Anthropic's.
import { findVendor } from "../../../models/vendors.ts";
import type { Json } from "../../../kit/text/json.ts";
import { objectAt, textAt } from "../../../models/wire/json.ts";
import type { Adapter, CliLaunch, StoredSignIn } from "./adapter.ts";

/** `provider` is the vendor's name in pi and opencode. `path` is the path of the vendor's API below the endpoint. */
const routes = [
  { vendor: "anthropic", provider: "anthropic", path: "/v1", keyVariable: "ANTHROPIC_API_KEY" },
  { vendor: "openai", provider: "openai", path: "/v1", keyVariable: "OPENAI_API_KEY" },
  { vendor: "gemini", provider: "google", path: "/v1beta", keyVariable: "GEMINI_API_KEY" },
] as const;

/** The fields that are the same in these adapters. */
export const multiVendorFields = {
  vendor: "anthropic",
  isMultiVendor: true,
  keys: routes.map((route) => route.keyVariable),
  efforts: ["low", "medium", "high", "xhigh"],
  takesRole: true,
  version: /^v?(\d+\.\d+\.\d+\S*)\s*$/m,
} as const satisfies Partial<Adapter>;

/** The vendors whose models the CLI can use. */
export function vendorsOf({ vendor, isMultiVendor }: Adapter): string[] {
  return isMultiVendor ? routes.map((route) => route.vendor) : [vendor];
}

export function vendorRoute(model: string | null): (typeof routes)[number] {
  const route = model === null ? undefined : routes.find(({ vendor }) => findVendor(vendor)?.ids?.test(model));
  return route ?? routes[0];
}

/** The role, and the additional directories for a CLI that has no flag for them. */
export function instructionsOf(launch: CliLaunch): string {
  const dirs = launch.addDirs.length === 0 ? "" : `Besides the working directory you may work in: ${launch.addDirs.join(", ")}`;
  return [launch.role ?? "", dirs].filter((text) => text !== "").join("\n\n");
}

/** The name has a hash of the text, because turns of one tree share the directory and may run at once with different roles. */
export function instructionsFile(launch: CliLaunch): string {
  return `instructions-${Bun.hash(instructionsOf(launch)).toString(36)}.md`;
}

/** The file holds the credentials of all vendors, so the CLI never gets it. Only a plain key is read from it. */
export function readStoredKey(stored: Json, vendor: string, keyType: string): StoredSignIn | null {
  const route = routes.find((candidate) => candidate.vendor === vendor);
  const entry = objectAt(stored, route?.provider ?? vendor);
  if (entry === undefined) return null;
  const key = textAt(entry, "key");
  // pi also accepts commands and names of variables as keys. Neither is run or looked up here.
  const isPlain = key !== "" && !/^[!$]/.test(key) && !/^[A-Z][A-Z0-9_]*$/.test(key);
  if (textAt(entry, "type") === keyType && isPlain) return { how: "key", key };
  return { how: "unusable", why: "its file also holds the sign-ins of other vendors, and the agent renews them there", hint: null };
}

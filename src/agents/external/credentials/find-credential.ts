// Finds the credential that a turn of a CLI would use: an API key, which stays in skein, or the user's sign-in with that
// CLI. Reads the CLI's credential file and never writes it. Only the code that starts the CLI may use the values.
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import { vendorAuth, type Environment, parseModelName, findVendor, vendors, type VendorConfig } from "../../../models/vendors.ts";
import type { Adapter } from "../adapters/adapter.ts";
import { vendorRoute } from "../adapters/multi-vendor.ts";
import { readJsonFile } from "../process/program.ts";

/** `note` is advice for "none", else a remark about the credential; it may be empty. */
export type Credential = { kind: "key" | "sign-in" | "none"; source: string; note: string };

export type ResolvedCredential =
  /** `apiKey` is null for the vendor's own key, and for a server that needs none. */
  | { kind: "key"; source: string; note: string; apiKey: string | null }
  | { kind: "sign-in"; source: string; note: string; use: SignInUse }
  | { kind: "none"; source: ""; note: string };

/** How the CLI gets the sign-in: by variables, or by a file. An exclusive file is used by one CLI at a time. */
export type SignInUse = { env: Record<string, string>; file: { path: string; isExclusive: boolean } | null };

export type CredentialSources = {
  env: Environment;
  home: string;
  config?: ((vendor: string) => VendorConfig | undefined) | undefined;
};

export function describeCredential(adapter: Adapter, sources: CredentialSources, model: string | null = null): Credential {
  const { kind, source, note } = findCredential(adapter, sources, model);
  return { kind, source, note };
}

/** Prefers a key: with it the gateway counts every request, and the CLI holds no secret. */
export function findCredential(adapter: Adapter, sources: CredentialSources, model: string | null = null): ResolvedCredential {
  const { env, config } = sources;
  if (adapter.usesAnyVendor) return { kind: "key", source: "the vendors' own", note: "", apiKey: null };
  const vendor = adapterVendor(adapter, model);
  const variable = adapter.keys.find((name) => isCliKey(adapter, name) && env[name]?.trim());
  if (variable !== undefined) return { kind: "key", source: variable, note: "", apiKey: env[variable]!.trim() };
  const auth = vendorAuth(vendor, { env, config: config?.(vendor) });
  if (auth.ready) return { kind: "key", source: auth.source ?? "no key needed", note: "", apiKey: null };
  return findSignIn(adapter, sources, vendor) ?? { kind: "none", source: "", note: adviceFor(adapter, auth.hint) };
}

function findSignIn(adapter: Adapter, { env, home }: CredentialSources, vendor: string): ResolvedCredential | null {
  const { signIn } = adapter;
  if (signIn === undefined) return null;
  const token = signIn.variable === undefined ? undefined : env[signIn.variable]?.trim();
  if (token) return { kind: "sign-in", source: signIn.variable!, note: "", use: { env: { [signIn.variable!]: token }, file: null } };
  const path = signIn.file(env, home);
  const json = readJsonFile(path);
  const stored = json === null ? null : signIn.read(json, vendor, Date.now());
  if (stored === null) return null;
  const source = path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path;
  switch (stored.how) {
    case "key":
      return { kind: "key", source, note: "", apiKey: stored.key };
    case "token":
      return { kind: "sign-in", source, note: stored.note, use: { env: { [stored.variable]: stored.value }, file: null } };
    case "file": {
      const file = { path: realpathSync(path), isExclusive: stored.isExclusive };
      return { kind: "sign-in", source, note: stored.note, use: { env: {}, file } };
    }
    case "unusable": {
      const key = findVendor(vendor)?.keyVariables[0]?.name ?? "a key";
      const remedies = [...(stored.hint === null ? [] : [stored.hint]), `set ${key}`];
      return { kind: "none", source: "", note: `the sign-in in ${source} can't be used: ${stored.why}; ${remedies.join("; or ")}` };
    }
  }
}

function adviceFor({ signIn }: Adapter, hint: string): string {
  if (signIn === undefined) return hint;
  return hint === "" ? `sign in: ${signIn.command}` : `${hint}; or sign in: ${signIn.command}`;
}

/** True for a variable that only this CLI reads, and no vendor in models/vendors.ts. */
function isCliKey({ signIn }: Adapter, name: string): boolean {
  return name !== signIn?.variable && !vendors.some((vendor) => vendor.keyVariables.some((variable) => variable.name === name));
}

/** The vendor of a turn of the CLI with this model; null is the CLI's default model. */
export function adapterVendor({ vendor, usesAnyVendor, isMultiVendor }: Adapter, model: string | null): string {
  if (model === null) return vendor;
  const parsed = parseModelName(model);
  if (usesAnyVendor) return parsed.vendor;
  return isMultiVendor ? vendorRoute(parsed.model).vendor : vendor;
}

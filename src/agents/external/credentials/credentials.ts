// Which credential a turn of a CLI would use, by name: a key, which stays with us, or the person's own sign-in with that
// CLI. Reads the file that the CLI keeps; never writes it, and shows no value but to whoever starts the child.
import { readFileSync, realpathSync } from "node:fs";
import { sep } from "node:path";
import { vendorAuth, type Environment, parseModelName, findVendor, vendors, type VendorConfig } from "../../../models/vendors.ts";
import { type Json, parseJson } from "../../../models/wire/json.ts";
import type { Adapter, StoredSignIn } from "../adapters/adapter.ts";

/** `note` says for "none" what to do, else what is to be known of it; it may be empty. */
export type Credential = { kind: "key" | "sign-in" | "none"; source: string; note: string };

export type ResolvedCredential =
  /** Null is the vendor's own key, or a server that needs none. */
  | { kind: "key"; source: string; note: string; apiKey: string | null }
  | { kind: "sign-in"; source: string; note: string; use: SignInUse }
  | { kind: "none"; source: ""; note: string };

export type SignInUse = { env: Record<string, string>; file: { path: string; place: string; isExclusive: boolean } | null };

export type CredentialHints = { model?: string | null; config?: (vendor: string) => VendorConfig | undefined };

export function describeCredential(adapter: Adapter, env: Environment, home: string, hints: CredentialHints = {}): Credential {
  const { kind, source, note } = findCredential(adapter, env, home, hints);
  return { kind, source, note };
}

/** A key comes first: with it every request is counted, and the child holds nothing that is worth taking. */
export function findCredential(adapter: Adapter, env: Environment, home: string, hints: CredentialHints = {}): ResolvedCredential {
  if (adapter.asksAny) return { kind: "key", source: "the vendors' own", note: "", apiKey: null };
  const { vendor } = adapterVendor(adapter, hints.model ?? null);
  const own = adapter.keys.find((name) => isOwnKey(adapter, name) && env[name]?.trim());
  if (own !== undefined) return { kind: "key", source: own, note: "", apiKey: env[own]!.trim() };
  const row = vendorAuth(vendor, { env, config: hints.config?.(vendor) });
  if (row.ready) return { kind: "key", source: row.source ?? "no key needed", note: "", apiKey: null };
  return signInOf(adapter, env, home, vendor) ?? { kind: "none", source: "", note: adviceFor(adapter, row.hint) };
}

function signInOf(adapter: Adapter, env: Environment, home: string, vendor: string): ResolvedCredential | null {
  const { signIn } = adapter;
  if (signIn === undefined) return null;
  const token = signIn.variable === undefined ? undefined : env[signIn.variable]?.trim();
  if (token) return { kind: "sign-in", source: signIn.variable!, note: "", use: { env: { [signIn.variable!]: token }, file: null } };
  const path = signIn.file(env, home);
  const stored = readStored(path);
  const held = stored === null ? null : signIn.read(stored, vendor, Date.now());
  return held === null ? null : usable(adapter, held, path, path.startsWith(home + sep) ? `~${path.slice(home.length)}` : path, vendor);
}

function usable(adapter: Adapter, held: StoredSignIn, path: string, source: string, vendor: string): ResolvedCredential {
  switch (held.how) {
    case "key":
      return { kind: "key", source, note: "", apiKey: held.key };
    case "token":
      return { kind: "sign-in", source, note: held.note, use: { env: { [held.variable]: held.value }, file: null } };
    case "file": {
      const file = { path: realpathSync(path), place: adapter.signIn!.place!, isExclusive: held.isExclusive };
      return { kind: "sign-in", source, note: held.note, use: { env: {}, file } };
    }
    case "unusable": {
      const key = findVendor(vendor)?.keyVariables[0]?.name ?? "a key";
      const ways = [...(held.hint === null ? [] : [held.hint]), `set ${key}`];
      return { kind: "none", source: "", note: `the sign-in in ${source} can't be used: ${held.why}; ${ways.join("; or ")}` };
    }
  }
}

function adviceFor({ signIn }: Adapter, hint: string): string {
  if (signIn === undefined) return hint;
  return hint === "" ? `sign in: ${signIn.command}` : `${hint}; or sign in: ${signIn.command}`;
}

/** Of the CLI alone, and of no vendor of ours. */
function isOwnKey({ signIn }: Adapter, name: string): boolean {
  return name !== signIn?.variable && !vendors.some((vendor) => vendor.keyVariables.some((variable) => variable.name === name));
}

function readStored(path: string): Json | null {
  try {
    return parseJson(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}

export function adapterVendor(adapter: Adapter, model: string | null): Pick<Adapter, "vendor" | "wire"> {
  if (model !== null && adapter.asksAny) return { vendor: parseModelName(model).vendor, wire: adapter.wire };
  if (model === null || adapter.vendorOf === undefined) return adapter;
  return adapter.vendorOf(parseModelName(model).model);
}

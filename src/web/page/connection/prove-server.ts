// Checks that the program at this address is the hub of this browser's login, before it gets a cookie or the key. After a hub
// has ended, any program of the machine can listen at its address.
import { storedKey } from "./login.ts";

/** `unknown`: the hub has no such login. `refused`: it has no proof, so it is another program. */
export type ServerProof = "proven" | "unknown" | "refused";

/**
 * Rejects if nothing answers. The request contains no cookie and not the key, only a hash of it. Over http to another machine
 * the browser has no functions for a proof, so there is none. Anyone on that network could read the traffic anyway.
 */
export async function proveServer(): Promise<ServerProof> {
  const key = storedKey();
  if (key === null) return "unknown";
  if (!isSecureContext) return "proven";
  const keyHash = await sha256(key);
  const nonce = base64url(crypto.getRandomValues(new Uint8Array(24)).buffer);
  const response = await fetch("proof", {
    method: "POST",
    credentials: "omit",
    cache: "no-store",
    redirect: "error",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ login: await sha256(`login ${keyHash}`), nonce, origin: location.origin }),
  });
  if (response.status === 401) return "unknown";
  if (response.status !== 200) return "refused";
  const { proof } = (await response.json().catch(() => ({}))) as { proof?: unknown };
  return proof === (await hmac(keyHash, `${nonce}\n${location.origin}`)) ? "proven" : "refused";
}

function sha256(text: string): Promise<string> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)).then(base64url);
}

async function hmac(key: string, text: string): Promise<string> {
  const encoder = new TextEncoder();
  const imported = await crypto.subtle.importKey("raw", encoder.encode(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return base64url(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
}

function base64url(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

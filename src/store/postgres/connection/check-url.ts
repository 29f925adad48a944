// Checks the URL of a fleet's database before anything is sent. A message never contains the password.
import { isIP } from "node:net";
import { Fault } from "../../../protocol/api/error.ts";

/** Returns the URL. Throws unless the connection stays on this machine, or is encrypted and the server proves its name. */
export function checkFleetUrl(text: string): URL {
  const url = parse(text);
  if (!["postgres:", "postgresql:"].includes(url.protocol)) throw urlFault(`is not one of Postgres: it starts with ${url.protocol}//`);
  if (url.pathname.length < 2) throw urlFault("names no database");
  if (isLocal(url)) return url;
  const mode = url.searchParams.get("sslmode");
  if (mode === "verify-full") return url;
  throw new Fault(
    "fleet-insecure",
    `the connection to ${url.hostname} would not be safe: sslmode is ${mode ?? "not set"}, so another server could answer and read everything`,
    { hint: "add ?sslmode=verify-full to fleet.url, and &sslrootcert=<file> for a certificate authority of your own" },
  );
}

/** The URL for messages: without user, password and parameters. */
export function shownUrl(text: string): string {
  const url = parse(text);
  return `${url.hostname === "" ? "localhost" : url.hostname}${url.port === "" ? "" : `:${url.port}`}${url.pathname}`;
}

function parse(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw urlFault("can't be read");
  }
}

/** A parameter `host` names another host or the directory of a unix socket, so it decides. */
function isLocal(url: URL): boolean {
  const host = url.searchParams.get("host") ?? url.hostname;
  if (host === "" || host.startsWith("/") || host === "localhost") return true;
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return isIP(address) !== 0 && (address === "::1" || address.startsWith("127."));
}

function urlFault(problem: string): Fault {
  return new Fault("config", `the URL in fleet.url ${problem}`, {
    hint: "write it as postgres://user:password@host:5432/database?sslmode=verify-full, or name a variable: $FLEET_URL",
  });
}

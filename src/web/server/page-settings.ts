// Settings of the page that outlive the hub, in `web.json` of the state directory: its address and its logins. The next hub
// listens at the same address, so that open pages connect again.
import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { parseJson } from "../../kit/text/json.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { isLoopback } from "./access.ts";
import type { StoredLogin } from "./logins.ts";

/** The settings that `skein web` can choose. */
export type PageOptions = {
  /** Null: a random free port at first, and the same one later. */
  port: number | null;
  host: string;
  /** Starts with a slash and does not end with one; empty for the root. */
  basePath: string;
  origin: string | null;
  /** A file with a password for browsers that have no login link. */
  tokenFile: string | null;
};

export type PageSettings = PageOptions & {
  isOpen: boolean;
  /** Part of the cookie's name: browsers send cookies to every port of a host, and two skeins must not replace each other's. */
  instance: string;
  logins: StoredLogin[];
};

export const defaultOptions: PageOptions = { port: null, host: "127.0.0.1", basePath: "", origin: null, tokenFile: null };

const minPasswordLength = 12;

export function readSettings(state: string): PageSettings {
  const fresh: PageSettings = { ...defaultOptions, isOpen: false, instance: randomBytes(4).toString("hex"), logins: [] };
  try {
    // Only skein writes the file, completely or not at all. One without an instance is not ours.
    const stored = parseJson(readFileSync(fileOf(state), "utf8")) as Partial<PageSettings> | null;
    return typeof stored?.instance === "string" ? { ...fresh, ...stored } : fresh;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return fresh;
    throw new Fault("file-unreadable", `can't read ${fileOf(state)}: ${messageOf(error)}`, { cause: error });
  }
}

export function writeSettings(state: string, settings: PageSettings): void {
  replaceFile(fileOf(state), `${JSON.stringify(settings, null, 2)}\n`, { file: 0o600, directory: 0o700 });
}

/** The stored options as params, so that a call changes only those that it names. The port may change if it is in use. */
export function storedParams({ host, basePath, origin, tokenFile }: PageOptions): Record<string, unknown> {
  return { host, base_path: basePath, origin, token_file: tokenFile };
}

/** Checks the params of `hub.open_page`. Throws a fault that names the flag. */
export function parseOptions(params: Record<string, unknown>): PageOptions {
  const {
    port = null,
    host = defaultOptions.host,
    base_path: basePath = "",
    origin = null,
    token_file: tokenFile = null,
    ...others
  } = params;
  const [unknownField] = Object.keys(others);
  if (unknownField !== undefined) throw new Fault("usage", `hub.open_page takes no ${unknownField.slice(0, 100)}`);
  if (port !== null && !(Number.isInteger(port) && (port as number) >= 0 && (port as number) < 65_536))
    throw new Fault("usage", "port must be a whole number up to 65535");
  if (typeof host !== "string" || (!isLoopback(host) && isIP(host) === 0))
    throw new Fault("usage", "--host takes an IP address of this machine", { hint: "0.0.0.0 listens on all of its addresses" });
  if (typeof basePath !== "string" || !/^(\/[\w.~-]+)*$/.test(basePath))
    throw new Fault("usage", "--base-path takes a path such as /skein");
  if (tokenFile !== null && typeof tokenFile !== "string") throw new Fault("usage", "token_file must be a path");
  if (!isLoopback(host) && tokenFile === null)
    throw new Fault("usage", `--host ${host} lets other machines reach the page, so it needs --token-file`, {
      hint: `write a password of ${minPasswordLength} or more characters into a file that only you can read`,
    });
  const options = { port: port as number | null, host, basePath, origin: parseOrigin(origin), tokenFile };
  readPassword(options);
  return options;
}

/** The password for browsers without a link; null if no file was named. Read again for each attempt, so that it can be changed. */
export function readPassword({ tokenFile }: Pick<PageOptions, "tokenFile">): string | null {
  if (tokenFile === null) return null;
  let password: string;
  try {
    if ((statSync(tokenFile).mode & 0o077) !== 0)
      throw new Fault("config", `other users can read ${tokenFile}`, { hint: `chmod 600 ${tokenFile}` });
    password = readFileSync(tokenFile, "utf8").trim();
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("file-unreadable", `can't read ${tokenFile}: ${messageOf(error)}`, { cause: error });
  }
  if (password.length >= minPasswordLength) return password;
  throw new Fault("config", `the password in ${tokenFile} has fewer than ${minPasswordLength} characters`);
}

function parseOrigin(origin: unknown): string | null {
  if (origin === null) return null;
  const url = typeof origin === "string" ? URL.parse(origin) : null;
  if (url !== null && ["http:", "https:"].includes(url.protocol) && url.pathname === "/" && url.search === "") return url.origin;
  throw new Fault("usage", "--origin takes the address of a reverse proxy such as https://dev.example", {
    hint: "write the path of the page with --base-path",
  });
}

function fileOf(state: string): string {
  return join(state, "web.json");
}

// Stores the sign-ins to MCP servers: a private file for each URL, in the data directory. An entry with another URL never gets
// these tokens, also if it has the same name.
import { join } from "node:path";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { readRegularFile, removeSafely } from "../../kit/files/safe-file.ts";
import { parseJson } from "../../kit/text/json.ts";
import type { SignInStore, StoredSignIn } from "../../mcp-client/sign-in.ts";
import type { AppContext } from "../app-context.ts";

const maxBytes = 1 << 20;

export function signInStore({ paths }: Pick<AppContext, "paths">, url: string): SignInStore {
  const name = new Bun.CryptoHasher("sha256").update(url).digest("hex").slice(0, 32);
  const path = join(paths.data, "mcp-sign-ins", `${name}.json`);
  return {
    read: () => {
      const text = readRegularFile(path, { maxBytes })?.toString("utf8");
      // Only `write` makes this file.
      return text === undefined ? null : (parseJson(text) as StoredSignIn | null);
    },
    write: (signIn) => {
      if (signIn === null) removeSafely(path);
      else replaceFile(path, `${JSON.stringify(signIn)}\n`, { file: 0o600, directory: 0o700 });
    },
  };
}

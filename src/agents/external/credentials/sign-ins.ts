// How each CLI keeps the sign-in of a person, found out by running them: what may be handed on, what must stay where it
// is, and which hosts it needs. What can't be used safely is said here, with what to do instead.
import { join } from "node:path";
import { type Json, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { SignIn, StoredSignIn } from "../adapters/adapter.ts";

const leftMs = 5 * 60_000;

/**
 * Claude Code replaces its file when it renews the token, and the old one is worth nothing from then on: neither a copy
 * nor a link can be used. The short-lived token in it can, for as long as it lasts.
 */
export const claudeSignIn: SignIn = {
  command: "claude setup-token, and set CLAUDE_CODE_OAUTH_TOKEN to what it prints",
  variable: "CLAUDE_CODE_OAUTH_TOKEN",
  file: (env, home) => join(env["CLAUDE_CONFIG_DIR"] || join(home, ".claude"), ".credentials.json"),
  read: (stored, _vendor, now) => {
    const oauth = objectAt(stored, "claudeAiOauth");
    const value = textAt(oauth, "accessToken");
    if (value === "") return null;
    const until = numberAt(oauth, "expiresAt") ?? 0;
    if (until < now + leftMs)
      return {
        how: "unusable",
        why: "its token has run out",
        hint: "start claude once, which renews it; or claude setup-token for one that lasts, in CLAUDE_CODE_OAUTH_TOKEN",
      };
    return { how: "token", variable: "CLAUDE_CODE_OAUTH_TOKEN", value, note: `good until ${new Date(until).toISOString().slice(0, 16)}Z` };
  },
  hosts: ["api.anthropic.com"],
};

/** Each renewal makes the token before it worthless, also in copies: Codex writes the new one into the same file. */
export const codexSignIn: SignIn = {
  command: "codex login",
  file: (env, home) => join(env["CODEX_HOME"] || join(home, ".codex"), "auth.json"),
  read: (stored) => {
    const key = textAt(stored, "OPENAI_API_KEY");
    const hasTokens = textAt(objectAt(stored, "tokens"), "refresh_token") !== "";
    if (key !== "" && (!hasTokens || textAt(stored, "auth_mode").toLowerCase() === "apikey")) return { how: "key", key };
    return hasTokens ? { how: "file", isExclusive: true, note: "one turn at a time: its tokens can't be copied" } : null;
  },
  place: "auth.json",
  hosts: ["chatgpt.com", "*.chatgpt.com", "auth.openai.com"],
};

/** Google's tokens can be renewed by many at once, and Gemini CLI writes them into the same file. */
export const geminiSignIn: SignIn = {
  command: "gemini, and choose to sign in with Google",
  file: (env, home) => join(env["GEMINI_CLI_HOME"] || home, ".gemini", "oauth_creds.json"),
  read: (stored) => (textAt(stored, "refresh_token") === "" ? null : { how: "file", isExclusive: false, note: "" }),
  place: ".gemini/oauth_creds.json",
  hosts: ["cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
};

export const opencodeSignIn: SignIn = {
  command: "opencode auth login, with an API key",
  file: (env, home) => join(env["XDG_DATA_HOME"] || join(home, ".local", "share"), "opencode", "auth.json"),
  read: (stored, vendor) => oneOfMany(stored, vendor, "api"),
  hosts: [],
};

export const piSignIn: SignIn = {
  command: "pi, and /login with an API key",
  file: (env, home) => join(env["PI_CODING_AGENT_DIR"] || join(home, ".pi", "agent"), "auth.json"),
  read: (stored, vendor) => oneOfMany(stored, vendor, "api_key"),
  hosts: [],
};

/** One file for all vendors: a child that gets it gets them all, so only a plain key is taken out of it. */
function oneOfMany(stored: Json, vendor: string, keyType: string): StoredSignIn | null {
  const entry = objectAt(stored, vendor === "gemini" ? "google" : vendor);
  if (entry === undefined) return null;
  const key = textAt(entry, "key");
  // pi also takes commands and names of variables for keys; neither is run or looked up here.
  const isPlain = key !== "" && !/^[!$]/.test(key) && !/^[A-Z][A-Z0-9_]*$/.test(key);
  if (textAt(entry, "type") === keyType && isPlain) return { how: "key", key };
  return { how: "unusable", why: "it lies in one file with those of other vendors, and is renewed there", hint: null };
}

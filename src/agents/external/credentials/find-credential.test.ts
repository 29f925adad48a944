import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describeCredential, findCredential } from "./find-credential.ts";
import { loadAdapters } from "../adapters/index.ts";

const adapters = Object.fromEntries((await loadAdapters()).map((adapter) => [adapter.name, adapter]));

const root = mkdtempSync(join(tmpdir(), "skein-credentials-"));
afterAll(() => rmSync(root, { recursive: true }));

let homes = 0;
function homeWith(files: Record<string, unknown>): string {
  const home = join(root, String((homes += 1)));
  mkdirSync(home);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  return home;
}

const soon = Date.now() + 3_600_000;
const claudeFile = (expiresAt: number) => ({
  ".claude/.credentials.json": { claudeAiOauth: { accessToken: "oat-CANARY", refreshToken: "ort-CANARY", expiresAt } },
});
const chatgpt = { auth_mode: "chatgpt", OPENAI_API_KEY: null, tokens: { access_token: "at-CANARY", refresh_token: "rt-CANARY" } };
const google = { access_token: "ya29.CANARY", refresh_token: "1//CANARY" };
const oauth = { type: "oauth", access: "at-CANARY", refresh: "rt-CANARY", expires: soon };

type Row = [
  title: string,
  agent: string,
  env: Record<string, string>,
  files: Record<string, unknown>,
  kind: string,
  source: string,
  note: string,
];

const rows: Row[] = [
  ["a key is preferred to a sign-in", "claude", { ANTHROPIC_API_KEY: "k" }, claudeFile(soon), "key", "ANTHROPIC_API_KEY", ""],
  [
    "a token in the environment is a sign-in",
    "claude",
    { CLAUDE_CODE_OAUTH_TOKEN: "CANARY" },
    {},
    "sign-in",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "",
  ],
  ["the unexpired token of a sign-in is used", "claude", {}, claudeFile(soon), "sign-in", "~/.claude/.credentials.json", "good until"],
  ["an expired token is not used", "claude", {}, claudeFile(Date.now() - 1), "none", "", "claude setup-token"],
  ["a missing sign-in is no credential", "claude", {}, {}, "none", "", "set ANTHROPIC_API_KEY"],
  ["an invalid file is ignored", "claude", {}, { ".claude/.credentials.json": "CANARY" }, "none", "", "set ANTHROPIC_API_KEY"],
  ["the key that only Codex reads is preferred", "codex", { CODEX_API_KEY: "k", OPENAI_API_KEY: "o" }, {}, "key", "CODEX_API_KEY", ""],
  [
    "ChatGPT's sign-in is used as a file",
    "codex",
    {},
    { ".codex/auth.json": chatgpt },
    "sign-in",
    "~/.codex/auth.json",
    "one turn at a time",
  ],
  ["a key in Codex's file is used", "codex", {}, { ".codex/auth.json": { OPENAI_API_KEY: "sk-CANARY" } }, "key", "~/.codex/auth.json", ""],
  ["Google's sign-in is used as a file", "gemini", {}, { ".gemini/oauth_creds.json": google }, "sign-in", "~/.gemini/oauth_creds.json", ""],
  [
    "a key in opencode's file is used",
    "opencode",
    {},
    { ".local/share/opencode/auth.json": { anthropic: { type: "api", key: "sk-CANARY" } } },
    "key",
    "~/.local/share/opencode/auth.json",
    "",
  ],
  [
    "a sign-in of opencode is not used",
    "opencode",
    {},
    { ".local/share/opencode/auth.json": { anthropic: oauth } },
    "none",
    "",
    "set ANTHROPIC_API_KEY",
  ],
  [
    "a key in pi's file is used",
    "pi",
    {},
    { ".pi/agent/auth.json": { anthropic: { type: "api_key", key: "sk-CANARY" } } },
    "key",
    "~/.pi/agent/auth.json",
    "",
  ],
  [
    "a command in place of pi's key is not run",
    "pi",
    {},
    { ".pi/agent/auth.json": { anthropic: { type: "api_key", key: "!echo CANARY" } } },
    "none",
    "",
    "can't be used",
  ],
  ["another vendor's sign-in is not used", "pi", {}, { ".pi/agent/auth.json": { openai: oauth } }, "none", "", "set ANTHROPIC_API_KEY"],
];

describe("findCredential", () => {
  test.each(rows)("%s", (_, agent, env, files, kind, source, note) => {
    const credential = describeCredential(adapters[agent]!, { env, home: homeWith(files) });
    expect([credential.kind, credential.source]).toEqual([kind as typeof credential.kind, source]);
    expect(credential.note).toContain(note);
    expect(JSON.stringify(credential)).not.toContain("CANARY");
  });

  test("the user's own directories are searched, and the model decides the vendor", () => {
    const home = homeWith({ "elsewhere/auth.json": chatgpt, "xdg/opencode/auth.json": { google: { type: "api", key: "sk-CANARY" } } });
    expect(describeCredential(adapters["codex"]!, { env: { CODEX_HOME: `${home}/elsewhere` }, home }).source).toBe("~/elsewhere/auth.json");
    const env = { XDG_DATA_HOME: `${home}/xdg` };
    expect(describeCredential(adapters["opencode"]!, { env, home }).kind).toBe("none");
    expect(describeCredential(adapters["opencode"]!, { env, home }, "gemini/gemini-3-pro-preview").kind).toBe("key");
  });

  test("a CLI gets only the token or the file that it needs", () => {
    const token = findCredential(adapters["claude"]!, { env: {}, home: homeWith(claudeFile(soon)) });
    expect(token).toMatchObject({ use: { env: { CLAUDE_CODE_OAUTH_TOKEN: "oat-CANARY" }, file: null } });
    expect(JSON.stringify(token)).not.toContain("ort-CANARY");
    const home = homeWith({ ".codex/auth.json": chatgpt });
    const file = { path: join(home, ".codex/auth.json"), isExclusive: true };
    expect(findCredential(adapters["codex"]!, { env: {}, home })).toMatchObject({ use: { env: {}, file } });
  });
});

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describeCredential, findCredential } from "./credentials.ts";
import { adapters } from "../adapters/index.ts";

const root = mkdtempSync(join(tmpdir(), "skein-credentials-"));
afterAll(() => rmSync(root, { recursive: true }));

let homes = 0;
function homeWith(files: Record<string, unknown>): string {
  const home = join(root, String((homes += 1)));
  mkdirSync(home);
  for (const [path, held] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), typeof held === "string" ? held : JSON.stringify(held));
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
  what: string,
  agent: string,
  env: Record<string, string>,
  files: Record<string, unknown>,
  kind: string,
  source: string,
  note: string,
];

const rows: Row[] = [
  ["a key goes before a sign-in", "claude", { ANTHROPIC_API_KEY: "k" }, claudeFile(soon), "key", "ANTHROPIC_API_KEY", ""],
  ["a token of the environment", "claude", { CLAUDE_CODE_OAUTH_TOKEN: "CANARY" }, {}, "sign-in", "CLAUDE_CODE_OAUTH_TOKEN", ""],
  ["the token of a sign-in that is still good", "claude", {}, claudeFile(soon), "sign-in", "~/.claude/.credentials.json", "good until"],
  ["one that has run out", "claude", {}, claudeFile(Date.now() - 1), "none", "", "claude setup-token"],
  ["no sign-in at all", "claude", {}, {}, "none", "", "set ANTHROPIC_API_KEY"],
  ["a file that is no JSON", "claude", {}, { ".claude/.credentials.json": "CANARY" }, "none", "", "set ANTHROPIC_API_KEY"],
  ["a key of Codex alone goes first", "codex", { CODEX_API_KEY: "k", OPENAI_API_KEY: "o" }, {}, "key", "CODEX_API_KEY", ""],
  [
    "ChatGPT's sign-in stays where it is",
    "codex",
    {},
    { ".codex/auth.json": chatgpt },
    "sign-in",
    "~/.codex/auth.json",
    "one turn at a time",
  ],
  ["a key that Codex keeps", "codex", {}, { ".codex/auth.json": { OPENAI_API_KEY: "sk-CANARY" } }, "key", "~/.codex/auth.json", ""],
  ["Google's sign-in", "gemini", {}, { ".gemini/oauth_creds.json": google }, "sign-in", "~/.gemini/oauth_creds.json", ""],
  [
    "a key that opencode keeps",
    "opencode",
    {},
    { ".local/share/opencode/auth.json": { anthropic: { type: "api", key: "sk-CANARY" } } },
    "key",
    "~/.local/share/opencode/auth.json",
    "",
  ],
  [
    "a sign-in of opencode",
    "opencode",
    {},
    { ".local/share/opencode/auth.json": { anthropic: oauth } },
    "none",
    "",
    "set ANTHROPIC_API_KEY",
  ],
  [
    "a key that pi keeps",
    "pi",
    {},
    { ".pi/agent/auth.json": { anthropic: { type: "api_key", key: "sk-CANARY" } } },
    "key",
    "~/.pi/agent/auth.json",
    "",
  ],
  [
    "a command of pi's for a key is not run",
    "pi",
    {},
    { ".pi/agent/auth.json": { anthropic: { type: "api_key", key: "!echo CANARY" } } },
    "none",
    "",
    "can't be used",
  ],
  ["another vendor's sign-in is none", "pi", {}, { ".pi/agent/auth.json": { openai: oauth } }, "none", "", "set ANTHROPIC_API_KEY"],
];

describe("which credential a turn would use", () => {
  test.each(rows)("%s", (_, agent, env, files, kind, source, note) => {
    const found = describeCredential(adapters[agent]!, env, homeWith(files));
    expect([found.kind, found.source]).toEqual([kind as typeof found.kind, source]);
    expect(found.note).toContain(note);
    expect(JSON.stringify(found)).not.toContain("CANARY");
  });

  test("the person's own directories are looked into, and a model decides whose key it is", () => {
    const home = homeWith({ "elsewhere/auth.json": chatgpt, "xdg/opencode/auth.json": { google: { type: "api", key: "sk-CANARY" } } });
    expect(describeCredential(adapters["codex"]!, { CODEX_HOME: `${home}/elsewhere` }, home).source).toBe("~/elsewhere/auth.json");
    const env = { XDG_DATA_HOME: `${home}/xdg` };
    expect(describeCredential(adapters["opencode"]!, env, home).kind).toBe("none");
    expect(describeCredential(adapters["opencode"]!, env, home, { model: "gemini/gemini-3-pro-preview" }).kind).toBe("key");
  });

  test("what a child is given is one thing and no more", () => {
    const token = findCredential(adapters["claude"]!, {}, homeWith(claudeFile(soon)));
    expect(token).toMatchObject({ use: { env: { CLAUDE_CODE_OAUTH_TOKEN: "oat-CANARY" }, file: null } });
    expect(JSON.stringify(token)).not.toContain("ort-CANARY");
    const home = homeWith({ ".codex/auth.json": chatgpt });
    const file = { path: join(home, ".codex/auth.json"), place: "auth.json", isExclusive: true };
    expect(findCredential(adapters["codex"]!, {}, home)).toMatchObject({ use: { env: {}, file } });
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { installClients, type InstallClient, type ServerCommand } from "./clients.ts";
import { applyInstall, planInstall, planRemoval } from "./install.ts";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "skein-install-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

const server: ServerCommand = { command: "/opt/skein/bin/skein", args: ["mcp"], variables: ["OPENAI_API_KEY"], path: "/bin" };
const fileOf = (row: InstallClient) => row.file({ home, env: {}, platform: "linux" });
const rowNamed = (name: string) => installClients.find((row) => row.name === name)!;

async function install(row: InstallClient, words = server) {
  const plan = await planInstall(row, fileOf(row), words);
  return { ...plan, ...applyInstall(plan) };
}

async function remove(row: InstallClient) {
  const plan = await planRemoval(row, fileOf(row));
  return { ...plan, ...applyInstall(plan) };
}

function put(row: InstallClient, text: string): string {
  mkdirSync(dirname(fileOf(row)), { recursive: true });
  writeFileSync(fileOf(row), text);
  return fileOf(row);
}

/** A file of a person with comments and another server, as each format is written. */
const lived: Record<InstallClient["format"], (row: InstallClient) => string> = {
  json: ({ servers }) => `{
\t// mine, keep it
\t"theme": "dark", /* here too */
\t"${servers}": {
\t\t"other": { "command": "other", "args": ["--mcp"] } // the other one
\t}
}
`,
  toml: () => `# mine, keep it
model = "gpt-5.2" # here too
notes = """
[mcp_servers.skein]
is only text"""

[mcp_servers.other]
command = "other"
args = [
  "--mcp", # the other one
]

[[profiles]]
name = "last"
`,
};

describe.each(installClients.map((row) => [row.name, row] as const))("%s", (_name, row) => {
  test("gets a file where there was none; a second time nothing changes; taken out, nothing of ours is left", async () => {
    expect(await install(row)).toMatchObject({ outcome: "added", before: null, backup: null });
    const written = readFileSync(fileOf(row), "utf8");
    expect(written).toContain("/opt/skein/bin/skein");
    expect(statSync(fileOf(row)).mode & 0o077).toBe(0);
    expect(await install(row)).toMatchObject({ outcome: "unchanged", before: written, after: written, backup: null });
    expect(await remove(row)).toMatchObject({ outcome: "removed" });
    expect(readFileSync(fileOf(row), "utf8").trim()).toBe(row.format === "json" ? "{}" : "");
    expect(await remove(row)).toMatchObject({ outcome: "absent" });
  });

  test("keeps every other line, and taken out the file is what it was", async () => {
    const before = lived[row.format](row);
    const file = put(row, before);
    const { outcome, backup } = await install(row);
    expect([outcome, backup]).toEqual(["added", `${file}.before-skein`]);
    expect(readFileSync(backup!, "utf8")).toBe(before);
    const written = readFileSync(file, "utf8");
    for (const remark of ["mine, keep it", "here too", "the other one"]) expect(written).toContain(remark);
    expect(await install(row)).toMatchObject({ outcome: "unchanged" });
    const again = await install(row, { ...server, command: "/elsewhere/skein" });
    expect(again).toMatchObject({ outcome: "changed", backup: null });
    expect(again.after).toBe(written.replace("/opt/skein/bin/skein", "/elsewhere/skein"));
    await remove(row);
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(readFileSync(backup!, "utf8")).toBe(before);
  });

  test("is written through a link, with its mode, and nothing temporary stays", async () => {
    const real = join(home, "dotfiles");
    writeFileSync(real, lived[row.format](row));
    chmodSync(real, 0o664);
    mkdirSync(dirname(fileOf(row)), { recursive: true });
    symlinkSync(real, fileOf(row));
    await install(row);
    expect(lstatSync(fileOf(row)).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toContain("/opt/skein/bin/skein");
    for (const name of ["dotfiles", "dotfiles.before-skein"]) expect(statSync(join(home, name)).mode & 0o777).toBe(0o664);
    expect(readdirSync(home).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("is left alone when it is broken, linked to nothing, or has another server of our name", async () => {
    const other = row.format === "json" ? `{"${row.servers}":{"skein":{"url":"http://x"}}}` : '[mcp_servers.skein]\nurl = "http://x"\n';
    for (const [text, says] of [
      ['{ "a = [', "is broken"],
      [other, "has another server called skein"],
    ] as const) {
      const file = put(row, text);
      for (const attempt of [install, remove]) expect(attempt(row)).rejects.toThrow(says);
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(existsSync(`${file}.before-skein`)).toBe(false);
    }
    rmSync(fileOf(row));
    symlinkSync(join(home, "nowhere"), fileOf(row));
    expect(install(row)).rejects.toThrow("can't read");
  });
});

test("what a person added to our entry stays", async () => {
  const file = put(
    rowNamed("codex"),
    `[mcp_servers.skein]\ncommand = "/old/skein" # mine\nargs = ["mcp", "--project", "/x"]\nenv_vars = ["HTTPS_PROXY"]\nenabled = false\n\n[mcp_servers.skein.env]\nA = "b"\n`,
  );
  await install(rowNamed("codex"));
  expect(readFileSync(file, "utf8")).toBe(
    `[mcp_servers.skein]\ncommand = "/opt/skein/bin/skein" # mine\nargs = ["mcp", "--project", "/x"]\nenv_vars = ["HTTPS_PROXY", "OPENAI_API_KEY"]\nenabled = false\ntool_timeout_sec = 3600\n\n[mcp_servers.skein.env]\nA = "b"\n`,
  );
  const json = put(rowNamed("gemini"), '{"mcpServers":{"skein":{"command":"/old/skein","args":["mcp"],"trust":true,"env":{"A":"b"}}}}');
  const { snippet } = await install(rowNamed("gemini"));
  expect(JSON.parse(readFileSync(json, "utf8"))).toEqual({
    mcpServers: {
      skein: {
        command: "/opt/skein/bin/skein",
        args: ["mcp"],
        trust: true,
        env: { A: "b", OPENAI_API_KEY: "$OPENAI_API_KEY" },
        timeout: 3_600_000,
      },
    },
  });
  expect(snippet).not.toContain('"b"');
  for (const name of ["codex", "gemini"]) await remove(rowNamed(name));
  expect([readFileSync(file, "utf8"), JSON.parse(readFileSync(json, "utf8"))]).toEqual(["", {}]);
});

test("a PATH that a person has written is not replaced by that of the shell", async () => {
  const row = rowNamed("claude-desktop");
  await install(row);
  expect(await install(row, { ...server, path: "/elsewhere" })).toMatchObject({ outcome: "unchanged" });
});

test.each([
  ["nothing in it", "{}", "{}"],
  ["blanks", " \n", "{}\n"],
  ["one line", '{ "a": [1, 2] }', '{ "a": [1, 2]\n}'],
  ["a comma at the end", '{\n    "a": 1, // one\n}\n', null],
  ["an empty table", '{\n  "a": 1,\n  "mcpServers": {}\n}\n', '{\n  "a": 1\n}\n'],
  ["a comment in the table", '{\n  "mcpServers": {\n    // none yet\n  },\n  "a": 1\n}', null],
  ["entries after ours", '{"mcpServers": {"skein": {"command": "skein", "args": ["mcp"]}, "b": {}}}', '{"mcpServers": { "b": {}}}'],
] as const)("a JSON file with %s keeps what it says", async (_title, before, without) => {
  const row = rowNamed("cursor");
  const file = put(row, before);
  expect((await install(row)).outcome).toBeOneOf(["added", "changed"]);
  const { mcpServers, ...others } = Bun.JSONC.parse(readFileSync(file, "utf8")) as Record<string, Record<string, unknown>>;
  expect(mcpServers!["skein"]).toEqual({ command: "/opt/skein/bin/skein", args: ["mcp"] });
  expect(others).toEqual(before.includes('"a"') ? { a: expect.anything() } : {});
  await remove(row);
  expect(readFileSync(file, "utf8")).toBe(without ?? before);
});

test.each([
  ["an inline table", 'mcp_servers = { other = { command = "x" } }\n'],
  ["an inline entry", '[mcp_servers]\nskein = { command = "skein", args = ["mcp"] }\n'],
  ["dotted keys", 'mcp_servers.skein.command = "skein"\nmcp_servers.skein.args = ["mcp"]\n'],
])("codex's file with %s is not guessed at", async (_title, text) => {
  const file = put(rowNamed("codex"), text);
  expect(install(rowNamed("codex"))).rejects.toThrow(/is broken|in a way that skein does not change/);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("ends of lines and a byte order mark stay as they are", async () => {
  for (const name of ["codex", "zed"]) {
    const row = rowNamed(name);
    const before = `\uFEFF${lived[row.format](row)}`.replaceAll("\n", "\r\n");
    const file = put(row, before);
    await install(row);
    expect(readFileSync(file, "utf8")).toStartWith("\uFEFF");
    expect(readFileSync(file, "utf8").replaceAll("\r\n", "")).not.toContain("\n");
    await remove(row);
    expect(readFileSync(file, "utf8")).toBe(before);
  }
});

test("a file in another encoding is left alone", async () => {
  const file = put(rowNamed("zed"), "{}");
  writeFileSync(file, Buffer.from('{ "name": "caf\u00e9" }', "latin1"));
  expect(install(rowNamed("zed"))).rejects.toThrow("is not UTF-8");
});

test("a file that someone changes meanwhile is not overwritten", async () => {
  const row = rowNamed("claude");
  const plan = await planInstall(row, put(row, "{}"), server);
  writeFileSync(fileOf(row), '{"more":1}');
  expect(() => applyInstall(plan)).toThrow("was changed meanwhile");
  expect(readFileSync(fileOf(row), "utf8")).toBe('{"more":1}');
});

test("opencode's other file name is used where it is the one that is there", async () => {
  const row = rowNamed("opencode");
  mkdirSync(dirname(fileOf(row)), { recursive: true });
  writeFileSync(`${fileOf(row)}c`, "{ /* mine */ }");
  expect((await install(row)).file).toEndWith("opencode.jsonc");
});

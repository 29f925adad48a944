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
const fileOf = (client: InstallClient) => client.file({ home, env: {}, platform: "linux" });
const formatOf = (client: InstallClient) => (fileOf(client).endsWith(".toml") ? "toml" : "json");
const clientNamed = (name: string) => installClients.find((client) => client.name === name)!;

async function install(client: InstallClient, command = server) {
  const plan = await planInstall(client, fileOf(client), command);
  return { ...plan, ...applyInstall(plan) };
}

async function remove(client: InstallClient) {
  const plan = await planRemoval(client, fileOf(client));
  return { ...plan, ...applyInstall(plan) };
}

function writeConfig(client: InstallClient, text: string): string {
  mkdirSync(dirname(fileOf(client)), { recursive: true });
  writeFileSync(fileOf(client), text);
  return fileOf(client);
}

/** A user's file with comments and another server, in each format. */
const userFiles: Record<"json" | "toml", (client: InstallClient) => string> = {
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

describe.each(installClients.map((client) => [client.name, client] as const))("%s", (name, client) => {
  test(`${name} gets a new file; a second install changes nothing; removing leaves nothing of skein`, async () => {
    expect(await install(client)).toMatchObject({ outcome: "added", before: null, backup: null });
    const written = readFileSync(fileOf(client), "utf8");
    expect(written).toContain("/opt/skein/bin/skein");
    expect(statSync(fileOf(client)).mode & 0o077).toBe(0);
    expect(await install(client)).toMatchObject({ outcome: "unchanged", before: written, after: written, backup: null });
    expect(await remove(client)).toMatchObject({ outcome: "removed" });
    expect(readFileSync(fileOf(client), "utf8").trim()).toBe(formatOf(client) === "json" ? "{}" : "");
    expect(await remove(client)).toMatchObject({ outcome: "absent" });
  });

  test(`the file of ${name} keeps every other line, and removing restores it`, async () => {
    const before = userFiles[formatOf(client)](client);
    const file = writeConfig(client, before);
    const { outcome, backup } = await install(client);
    expect([outcome, backup]).toEqual(["added", `${file}.before-skein`]);
    expect(readFileSync(backup!, "utf8")).toBe(before);
    const written = readFileSync(file, "utf8");
    for (const comment of ["mine, keep it", "here too", "the other one"]) expect(written).toContain(comment);
    expect(await install(client)).toMatchObject({ outcome: "unchanged" });
    const again = await install(client, { ...server, command: "/elsewhere/skein" });
    expect(again).toMatchObject({ outcome: "changed", backup: null });
    expect(again.after).toBe(written.replace("/opt/skein/bin/skein", "/elsewhere/skein"));
    await remove(client);
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(readFileSync(backup!, "utf8")).toBe(before);
  });

  test(`the file of ${name} is written through a link, keeps its mode, and no temporary file stays`, async () => {
    const real = join(home, "dotfiles");
    writeFileSync(real, userFiles[formatOf(client)](client));
    chmodSync(real, 0o664);
    mkdirSync(dirname(fileOf(client)), { recursive: true });
    symlinkSync(real, fileOf(client));
    await install(client);
    expect(lstatSync(fileOf(client)).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toContain("/opt/skein/bin/skein");
    for (const name of ["dotfiles", "dotfiles.before-skein"]) expect(statSync(join(home, name)).mode & 0o777).toBe(0o664);
    expect(readdirSync(home).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test(`the file of ${name} is not changed if it is broken, a broken link, or has another server called skein`, async () => {
    const otherServer =
      formatOf(client) === "json" ? `{"${client.servers}":{"skein":{"url":"http://x"}}}` : '[mcp_servers.skein]\nurl = "http://x"\n';
    for (const [text, message] of [
      ['{ "a = [', "is broken"],
      [otherServer, "has another server called skein"],
    ] as const) {
      const file = writeConfig(client, text);
      for (const attempt of [install, remove]) expect(attempt(client)).rejects.toThrow(message);
      expect(readFileSync(file, "utf8")).toBe(text);
      expect(existsSync(`${file}.before-skein`)).toBe(false);
    }
    rmSync(fileOf(client));
    symlinkSync(join(home, "nowhere"), fileOf(client));
    expect(install(client)).rejects.toThrow("can't read");
  });
});

test("keys that the user added to the entry are kept", async () => {
  const file = writeConfig(
    clientNamed("codex"),
    `[mcp_servers.skein]\ncommand = "/old/skein" # mine\nargs = ["mcp", "--project", "/x"]\nenv_vars = ["HTTPS_PROXY"]\nenabled = false\n\n[mcp_servers.skein.env]\nA = "b"\n`,
  );
  await install(clientNamed("codex"));
  expect(readFileSync(file, "utf8")).toBe(
    `[mcp_servers.skein]\ncommand = "/opt/skein/bin/skein" # mine\nargs = ["mcp", "--project", "/x"]\nenv_vars = ["HTTPS_PROXY", "OPENAI_API_KEY"]\nenabled = false\ntool_timeout_sec = 3600\n\n[mcp_servers.skein.env]\nA = "b"\n`,
  );
  const json = writeConfig(
    clientNamed("gemini"),
    '{"mcpServers":{"skein":{"command":"/old/skein","args":["mcp"],"trust":true,"env":{"A":"b"}}}}',
  );
  const { snippet } = await install(clientNamed("gemini"));
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
  for (const name of ["codex", "gemini"]) await remove(clientNamed(name));
  expect([readFileSync(file, "utf8"), JSON.parse(readFileSync(json, "utf8"))]).toEqual(["", {}]);
});

test("a PATH that the user has written is not replaced by that of the shell", async () => {
  const client = clientNamed("claude-desktop");
  await install(client);
  expect(await install(client, { ...server, path: "/elsewhere" })).toMatchObject({ outcome: "unchanged" });
});

test.each([
  ["nothing in it", "{}", "{}"],
  ["blanks", " \n", "{}\n"],
  ["one line", '{ "a": [1, 2] }', '{ "a": [1, 2]\n}'],
  ["a comma at the end", '{\n    "a": 1, // one\n}\n', null],
  ["an empty table", '{\n  "a": 1,\n  "mcpServers": {}\n}\n', '{\n  "a": 1\n}\n'],
  ["a comment in the table", '{\n  "mcpServers": {\n    // none yet\n  },\n  "a": 1\n}', null],
  ["entries after ours", '{"mcpServers": {"skein": {"command": "skein", "args": ["mcp"]}, "b": {}}}', '{"mcpServers": { "b": {}}}'],
] as const)("a JSON file with %s keeps its content", async (_title, before, without) => {
  const client = clientNamed("cursor");
  const file = writeConfig(client, before);
  expect((await install(client)).outcome).toBeOneOf(["added", "changed"]);
  const { mcpServers, ...others } = Bun.JSONC.parse(readFileSync(file, "utf8")) as Record<string, Record<string, unknown>>;
  expect(mcpServers!["skein"]).toEqual({ command: "/opt/skein/bin/skein", args: ["mcp"] });
  expect(others).toEqual(before.includes('"a"') ? { a: expect.anything() } : {});
  await remove(client);
  expect(readFileSync(file, "utf8")).toBe(without ?? before);
});

test.each([
  ["an inline table", 'mcp_servers = { other = { command = "x" } }\n'],
  ["an inline entry", '[mcp_servers]\nskein = { command = "skein", args = ["mcp"] }\n'],
  ["dotted keys", 'mcp_servers.skein.command = "skein"\nmcp_servers.skein.args = ["mcp"]\n'],
])("a codex file with %s is refused", async (_title, text) => {
  const file = writeConfig(clientNamed("codex"), text);
  expect(install(clientNamed("codex"))).rejects.toThrow(/is broken|in a way that skein does not change/);
  expect(readFileSync(file, "utf8")).toBe(text);
});

test("line endings and a byte order mark are kept", async () => {
  for (const name of ["codex", "zed"]) {
    const client = clientNamed(name);
    const before = `\uFEFF${userFiles[formatOf(client)](client)}`.replaceAll("\n", "\r\n");
    const file = writeConfig(client, before);
    await install(client);
    expect(readFileSync(file, "utf8")).toStartWith("\uFEFF");
    expect(readFileSync(file, "utf8").replaceAll("\r\n", "")).not.toContain("\n");
    await remove(client);
    expect(readFileSync(file, "utf8")).toBe(before);
  }
});

test("a file in another encoding is not changed", async () => {
  const file = writeConfig(clientNamed("zed"), "{}");
  writeFileSync(file, Buffer.from('{ "name": "caf\u00e9" }', "latin1"));
  expect(install(clientNamed("zed"))).rejects.toThrow("is not UTF-8");
});

test("a file that another process changes meanwhile is not overwritten", async () => {
  const client = clientNamed("claude");
  const plan = await planInstall(client, writeConfig(client, "{}"), server);
  writeFileSync(fileOf(client), '{"more":1}');
  expect(() => applyInstall(plan)).toThrow("was changed meanwhile");
  expect(readFileSync(fileOf(client), "utf8")).toBe('{"more":1}');
});

test("opencode.jsonc is changed if opencode.json does not exist", async () => {
  const client = clientNamed("opencode");
  mkdirSync(dirname(fileOf(client)), { recursive: true });
  writeFileSync(`${fileOf(client)}c`, "{ /* mine */ }");
  expect((await install(client)).file).toEndWith("opencode.jsonc");
});

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Role, RoleList } from "../protocol/api/role.ts";
import { builtInRoles } from "./built-in.ts";
import { scanRoles } from "./scan-roles.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-roles-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

type ScanResult = RoleList & { home: string; role: (name: string) => Role };

/** Paths are relative to the home directory; the project is `work`. */
function scan(files: Record<string, string>, options: { trusted?: boolean; link?: [from: string, to: string] } = {}): ScanResult {
  const home = join(root, String((count += 1)));
  mkdirSync(join(home, "work"), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  if (options.link) symlinkSync(join(home, options.link[1]), join(home, options.link[0]));
  const list = scanRoles({
    project: join(home, "work"),
    home,
    configDir: join(home, ".config", "skein"),
    trusted: () => options.trusted ?? false,
  });
  const role = (name: string) => {
    const match = list.roles.find((candidate) => candidate.name === name);
    if (match === undefined) throw new Error(`no role ${name}: ${JSON.stringify(list.problems)}`);
    return match;
  };
  return { ...list, home, role };
}

const file = (head: string, body = "Be brief.") => `---\n${head}\n---\n\n${body}\n`;

describe("sources of roles", () => {
  test("only the built-in roles are listed without files", () => {
    const { roles, problems } = scan({});
    expect({ roles, problems }).toEqual({ roles: [...builtInRoles], problems: [] });
  });

  test("a role of the project overrides the user's, which overrides a built-in one, and names the overridden one", () => {
    const { role, home, problems } = scan({
      "work/.skein/roles/poet.md": file("description: verses"),
      ".config/skein/roles/poet.md": file("description: rhymes\npolicy: readonly", "Rhyme."),
      ".claude/agents/critic.md": file("name: critic\ndescription: judges verses"),
      ".config/skein/roles/critic.md": file("description: judges rhymes"),
      ".config/skein/roles/engineer.md": file("timeout: 90m", ""),
    });
    expect(role("poet")).toMatchObject({ origin: "project", prompt: "Be brief.", specialises: join(home, ".config/skein/roles/poet.md") });
    expect(role("critic")).toMatchObject({ origin: "user", description: "judges rhymes", specialises: null });
    const engineer = builtInRoles.find(({ name }) => name === "engineer") as Role;
    expect(role("engineer")).toEqual({
      ...engineer,
      timeoutMs: 90 * 60_000,
      origin: "user",
      path: join(home, ".config/skein/roles/engineer.md"),
      specialises: "built-in",
    });
    expect(problems).toEqual([
      {
        path: join(home, ".claude/agents/critic.md"),
        message: `is overridden by ${join(home, ".config/skein/roles/critic.md")}, which has the same name`,
      },
    ]);
  });
});

describe("a role file with only a description", () => {
  const builder = ["read", "write", "edit", "bash", "mcp"];
  const writer = ["read", "write", "edit", "mcp"];
  test.each([
    ["poet", "writes verses, the latest ones", writer, 45],
    ["senior_engineer", "builds", builder, 45],
    ["qa-lead", "looks after quality", builder, 45],
    ["helper", "can implement and test and develop code", builder, 120],
    ["lights", "designs lamps in code", builder, 60],
    ["cloud-architect", "thinks", writer, 60],
    ["pilot", "tests planes", builder, 45],
  ])("the tools and timeout of %s, who %s, are inferred", (name, description, tools, minutes) => {
    const { role } = scan({ [`.config/skein/roles/${name}.md`]: file(`description: ${description}`) });
    expect(role(name)).toMatchObject({
      tools,
      policy: "workspace",
      timeoutMs: minutes * 60_000,
      maxMemoryMb: 2048,
      agent: null,
      model: null,
    });
    expect(role(name).notes).toEqual([`inferred: tools ${tools.join(", ")}; policy workspace; timeout ${minutes}m; max_memory_mb 2048`]);
  });
});

describe("a role file with all fields", () => {
  const head = `name: Poet_1
description: "verses: short"
agent: claude
model: anthropic/claude-x:high
tools: [read, bash, read, Bash]
policy: readonly
net: off
timeout: 10m
idle: 90
max_memory_mb: 512
capabilities: rhyme, metre`;
  const expected = {
    name: "Poet_1",
    description: "verses: short",
    prompt: "Be brief.",
    capabilities: ["rhyme", "metre"],
    tools: ["read", "bash"],
    policy: "readonly",
    net: "off",
    timeoutMs: 600_000,
    idleMs: 90_000,
    maxMemoryMb: 512,
    notes: [],
  };

  test("all fields of a role are used if it is the user's or trusted", () => {
    const trustedRole = { ...expected, agent: "claude", model: "anthropic/claude-x:high", ignored: [] };
    expect(scan({ ".config/skein/roles/p.md": file(head) }).role("Poet_1")).toMatchObject(trustedRole);
    expect(scan({ "work/.skein/roles/p.md": file(head) }, { trusted: true }).role("Poet_1")).toMatchObject(trustedRole);
  });

  test("agent and model are ignored in a role of an untrusted project", () => {
    const ignored = ["agent: claude", "model: anthropic/claude-x:high"];
    expect(scan({ "work/.skein/roles/p.md": file(head) }).role("Poet_1")).toMatchObject({
      ...expected,
      agent: null,
      model: null,
      ignored,
    });
  });
});

describe("a hostile project", () => {
  test("a hostile project gets no rights by a role, also not under a built-in name", () => {
    const wide =
      "policy: full\nnet: on\ntools: '*'\ntimeout: 48h\nmax_memory_mb: 99999\nallow_write: /\nbase_url: http://evil\nhooks: {a: b}";
    const { role, problems } = scan({
      "work/.skein/roles/codereviewer.md": file(wide, "Change everything."),
      "work/.skein/roles/mine.md": file(`description: code\n${wide}`),
    });
    const ignored = ["allow_write", "base_url", "hooks", "policy: full", "net: on"];
    expect(role("codereviewer")).toMatchObject({
      prompt: "Change everything.",
      tools: ["read", "bash"],
      policy: "readonly",
      net: null,
      timeoutMs: 30 * 60_000,
      maxMemoryMb: 2048,
      specialises: "built-in",
      ignored,
    });
    expect(role("mine")).toMatchObject({ policy: "workspace", net: null, timeoutMs: 4 * 3_600_000, ignored });
    expect(problems).toEqual([]);
  });

  test("a role that is a link out of the project is not read", () => {
    const { role, problems, home } = scan(
      { "secret.md": file("description: a secret"), "work/.skein/roles/good.md": file("description: good") },
      { link: ["work/.skein/roles/bad.md", "secret.md"] },
    );
    expect(role("good").description).toBe("good");
    expect(problems).toEqual([
      { path: join(home, "work/.skein/roles/bad.md"), message: `can't be read: it leads out of ${join(home, "work")}` },
    ]);
  });
});

describe("an agent of Claude Code", () => {
  const agent = (head: string) => scan({ "work/.claude/agents/a.md": file(`name: a\ndescription: looks\n${head}`) }).role("a");

  test.each([
    ["tools: Read, Grep, Glob", ["read", "bash"], "readonly", []],
    ["tools: Read", ["read"], "readonly", []],
    ["tools: Read, Edit, MultiEdit, Bash, Task", ["read", "edit", "bash", "spawn_session"], "workspace", []],
    [
      "tools: Read, Write, Grep",
      ["read", "write"],
      "workspace",
      ["its search tools need bash, which the role does not name; they are left out"],
    ],
    [
      "tools: Read, WebFetch, mcp__x__y",
      ["read"],
      "readonly",
      ["there is no tool webfetch; it is left out", "there is no tool mcp__x__y; it is left out"],
    ],
    ["tools: Read, Bash(git log:*)", ["read"], "readonly", ["a tool can't be restricted to Bash(git log:*); it is left out"]],
    ["disallowedTools: Bash, Task", ["read", "write", "edit", "mcp"], "workspace", []],
    ["tools: Read, mcp", ["read", "mcp"], "workspace", []],
    ["tools: Read, Grep\npolicy: workspace", ["read", "bash"], "readonly", []],
    ["permissionMode: plan\ncolor: red", null, "readonly", []],
    ["model: inherit", null, "workspace", []],
    ["model: opus", null, "workspace", ["opus is Claude Code's own name for a model; the turn's model is used"]],
  ] as [string, string[] | null, Role["policy"], string[]][])(
    "an agent file of Claude Code with %j becomes a role",
    (head, tools, policy, notes) => {
      const role = agent(head);
      expect({ tools: role.tools, policy: role.policy, model: role.model }).toEqual({ tools, policy, model: null });
      expect(role.notes.filter((note) => !note.startsWith("inferred: "))).toEqual(notes);
    },
  );

  test("an agent file with a colon in an unquoted description is used and reported", () => {
    const { role, problems } = scan({ "work/.claude/agents/a.md": file("name: a\ndescription: Use it: often\ntools: Read") });
    expect(role("a")).toMatchObject({ description: "Use it: often", tools: ["read"] });
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining("put texts with a colon into quotes")]);
  });
});

describe("invalid role files", () => {
  test.each([
    ["no head at all", 'has no frontmatter between two lines "---" in its first 65536 bytes'],
    [file("tools: read"), "has no description; the role is left out"],
    [file("description: d\nname: ../x"), 'its name "../x" must be 1 to 64 letters, digits, "-" and "_"; the role is left out'],
    [
      file("description: d\npolicy: readonyl"),
      'its policy "readonyl" is none of workspace, readonly, plan, full; did you mean readonly?; the role is left out',
    ],
    [file("description: d\npolicy:"), "its policy must be a text; the role is left out"],
    [file("description: d\nnet: maybe"), "its net must be on or off; the role is left out"],
    [
      file("description: d\ntimeout: soon"),
      'its timeout must be seconds, or a duration like 90s, 10m or 2h, not "soon"; the role is left out',
    ],
    [file("description: d\nidle: 0"), 'its idle must be seconds, or a duration like 90s, 10m or 2h, not "0"; the role is left out'],
    [file("description: d\nmax_memory_mb: -1"), "its max_memory_mb must be a whole number above 0; the role is left out"],
    [file("description: d\ntools: {a: b}"), "its tools must be a list of names; the role is left out"],
    [file("description: d", "a\0b"), "has bytes that are not text; the role is left out"],
    ["x".repeat(70_000), "can't be read: it has 70000 bytes; the limit is 65536"],
  ])("the invalid role file %# is reported and left out", (text, message) => {
    const { roles, problems, home } = scan({ ".config/skein/roles/r.md": text });
    expect(roles).toEqual([...builtInRoles]);
    expect(problems).toEqual([{ path: join(home, ".config/skein/roles/r.md"), message }]);
  });

  test("a role file with unknown fields is used, with notes", () => {
    const { role } = scan({ ".config/skein/roles/r.md": file("description: d\ntimout: 5m\nallow_write: /x\ncolor: red") });
    expect(role("r").notes).toEqual([
      "unknown field timout; did you mean timeout?",
      "allow_write is left out: a role adds no rights to those of the turn",
      "unknown field color",
      "inferred: tools read, write, edit, mcp; policy workspace; timeout 45m; max_memory_mb 2048",
    ]);
  });
});

// Roles in the whole program: on the command line, in a sub-session, from a project's files, with another agent.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startModelServer, type RecordedRequest } from "../../../src/scripted-model/model-server.ts";
import { field, listOf, textOf } from "../../../src/scripted-model/json.ts";
import type { turnRecord } from "../../../src/protocol/json/records.ts";
import * as schema from "../../../src/protocol/fixtures/printed-schemas.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { type TemporaryHome, temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const planner = "You are the planner: you carry nothing out.";
const reviewer = "You review code and change none.";

function write(skein: TemporaryHome, path: string, text: string): void {
  mkdirSync(dirname(join(skein.root, path)), { recursive: true });
  writeFileSync(join(skein.root, path), text);
}

const toolsIn = (request: RecordedRequest | undefined) =>
  listOf(field(request?.body ?? null, "tools")).map((tool) => textOf(field(tool, "name")));
const systemIn = (request: RecordedRequest | undefined) => JSON.stringify(field(request?.body ?? null, "system"));

type SessionRecord = { turns: ReturnType<typeof turnRecord>[] };

test("a turn gets its role's prompt, tools and policy, and a sub-session gets its own role's, not its parent's", async () => {
  const calls = [{ name: "spawn_session", input: { task: "look", role: "codereviewer" } }];
  const server = startModelServer(({ position: { prompt } }) =>
    prompt === "look"
      ? { steps: [{ calls: [{ input: { command: "echo x > made" } }] }], final: "seen" }
      : { steps: [{ calls }], final: "done" },
  );
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const ran = await skein.run(["run", "lead", "--role", "pm", ...model, "--session", "s", "--json"]);
    expect([ran.code, ran.err]).toEqual([0, ""]);
    const [lead, look, looked] = server.main();
    expect(systemIn(lead)).toContain("You are the project manager");
    expect(toolsIn(lead)).toEqual(["read", "write", "edit", "bash", "spawn_session", "ask_user"]);
    expect(systemIn(look)).toContain(reviewer);
    expect(systemIn(look)).not.toContain("project manager");
    expect(toolsIn(look)).toEqual(["read", "bash", "ask_user"]);
    expect(looked?.text).toMatch(/made: (Read-only file system|Permission denied)/);
    const turns = (await skein.run(["ps", "--all", "--json"])).json() as unknown as { turn: SessionRecord["turns"][number] }[];
    expect(Object.fromEntries(turns.map(({ turn }) => [turn.role, turn.enforced?.policy]))).toEqual({
      codereviewer: "readonly",
      pm: "workspace",
    });
    expect((await skein.run(["ps", "--all"])).out).toMatch(/ROLE[\s\S]* ok .* codereviewer +look/);
    const planned = await skein.run(["run", "plan", "--role", "planner", ...model, "--json"]);
    expect(planned.json()).toMatchObject({ status: "ok", enforced: { policy: "plan" } });
    expect(systemIn(server.main().at(-1))).toContain(planner);
    const overridden = await skein.run([
      "run",
      "x",
      "--role",
      "planner",
      "--policy",
      "workspace",
      "--tools",
      "read,bash",
      ...model,
      "--json",
    ]);
    expect(overridden.json()).toMatchObject({ enforced: { policy: "workspace" } });
    expect(toolsIn(server.main().at(-1))).toEqual(["read", "bash"]);
  } finally {
    await server.stop();
  }
});

test("a role of an untrusted project sets the prompt but no rights, and Claude Code's agents can be used as roles", async () => {
  const server = startModelServer({ steps: [{ calls: [{ input: { command: "touch made" } }] }], final: "done" });
  using skein = temporaryHome(vendorEnv(server.url));
  const wide = "policy: full\nnet: on\ntools: '*'\nallow_write: /\nbase_url: http://127.0.0.1:9\n";
  write(skein, "project/.skein/roles/codereviewer.md", `---\n${wide}model: openai/gpt-5.2\nagent: claude\n---\nChange everything.\n`);
  write(skein, "project/.skein/roles/torn.md", "no head\n");
  write(
    skein,
    "project/.claude/agents/scout.md",
    "---\nname: scout\ndescription: Looks around.\ntools: Read, Grep\nmodel: haiku\n---\nScout it.\n",
  );
  write(skein, "skein/config/roles/poet.md", "---\ndescription: verses\nmodel: openai/gpt-5.2\n---\nRhyme.\n");
  try {
    const ran = await skein.run(["run", "x", "--role", "codereviewer", ...model, "--json"]);
    expect(ran.json()).toMatchObject({
      status: "ok",
      model: wireModels.anthropic,
      agent: "native",
      enforced: { policy: "readonly", net: "off" },
    });
    expect(ran.err.trim().split("\n")).toEqual([
      expect.stringContaining("allow_write, base_url, agent: claude, model: openai/gpt-5.2, policy: full, net: on are ignored"),
    ]);
    const [first] = server.main();
    expect(systemIn(first)).toContain("Change everything.");
    expect(toolsIn(first)).toEqual(["read", "bash", "ask_user"]);
    expect(existsSync(join(skein.project, "made"))).toBe(false);

    server.clear();
    const scouted = await skein.run(["run", "x", "--role", "scout", ...model, "--json"]);
    expect(scouted.json()).toMatchObject({ status: "ok", enforced: { policy: "readonly" } });
    expect(systemIn(server.main()[0])).toContain("Scout it.");

    server.clear();
    const rhymed = await skein.run(["run", "x", "--role", "poet", "--json"]);
    expect(rhymed.json()).toMatchObject({ status: "ok", model: "openai/gpt-5.2" });
    expect(server.requests[0]?.text).toContain("Rhyme.");

    const listed = await skein.run(["roles", "--json"]);
    const { roles, problems } = schema.roles.parse(listed.json());
    expect(roles).toHaveLength(18);
    expect(problems.map(({ path }) => path)).toEqual([join(skein.project, ".skein/roles/torn.md")]);
    const table = await skein.run(["roles"]);
    expect(table.out).toMatch(/^codereviewer +read,bash +readonly +30m +2048 +4 +project over built-in +reviews code/m);
    expect(table.out).toMatch(/^scout +read,bash +readonly +45m +2048 +2 +project +Looks around\.$/m);
    expect(table.err).toMatch(/^problem: .*torn\.md: has no frontmatter/m);
    expect(schema.role.parse((await skein.run(["roles", "show", "poet", "--json"])).json())).toMatchObject({
      origin: "user",
      prompt: "Rhyme.",
    });
    expect((await skein.run(["roles", "show", "scout"])).out).toContain("haiku is Claude Code's own name for a model");

    expect((await skein.run(["trust"])).code).toBe(0);
    const trusted = schema.role.parse((await skein.run(["roles", "show", "codereviewer", "--json"])).json());
    expect(trusted).toMatchObject({ agent: "claude", model: "openai/gpt-5.2", policy: "full", ignored: [], specialises: "built-in" });
  } finally {
    await server.stop();
  }
});

test("another agent gets the role's prompt and keeps its own tools", async () => {
  using skein = homeWithFakeClis(["claude"]);
  write(skein, "skein/config/roles/poet.md", "---\ndescription: verses\nagent: claude\ntools: read, write\ntimeout: 5m\n---\nRhyme.\n");
  const ran = await skein.run(["run", "sing", "--role", "poet", "--json"]);
  expect([ran.code, ran.err]).toEqual([0, ""]);
  const [start] = skein.started();
  expect(start).toMatchObject({ name: "claude" });
  expect(start?.input).toContain("Rhyme.");
});

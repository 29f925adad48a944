// Checks the JSON of real answers, method by method: it decodes to the same value, and has the fields of docs/HUB.md.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../scripted-model/model-server.ts";
import { createApp } from "./create-app.ts";
import { createProcessContext } from "./process-context.ts";
import type { PendingTurn } from "../protocol/api/control.ts";
import { isFeed, type Api, type MethodName, type SessionView, type TreeView } from "../protocol/api/api.ts";
import type { Event } from "../protocol/tree/event.ts";
import { eventRecord, nodeRecord, sessionRecord, turnRecord } from "../protocol/json/records.ts";
import { checkParams, methodNames } from "../protocol/schema/check-params.ts";
import { methods } from "../protocol/schema/methods/index.ts";
import type { UsagePoint } from "../protocol/schema/views/usage-views.ts";
import type { RaceView } from "../protocol/race/views.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { roundUsd } from "../protocol/tree/usage.ts";
import { fromJsonCase, toJsonCase } from "../protocol/json/json-case.ts";

const input = { path: "a.txt", old_text: "a", oldText: "b", at: 7, startedAt: 5, edits: [{ endedAt: 1, __x: 2 }] };
const server = startModelServer({
  steps: [{ thinking: "hm", text: "I look.", calls: [{ name: "edit", input }, { input: { command: "seq 20000" } }] }],
  final: "done",
});
const root = mkdtempSync(join(tmpdir(), "skein-wire-"));
const project = join(root, "project");
mkdirSync(join(project, ".git"), { recursive: true });
writeFileSync(join(project, "a.txt"), "one\n");

const env = {
  PATH: process.env["PATH"],
  HOME: root,
  SKEIN_HOME: join(root, "skein"),
  ANTHROPIC_API_KEY: "key-anthropic",
  ANTHROPIC_BASE_URL: server.url,
  SKEIN_SANDBOX: "off",
};
const api = createApp({
  env,
  cwd: project,
  startedIn: project,
  ephemeral: false,
  trust: null,
  lenient: false,
  selfCommand: [process.execPath, join(import.meta.dir, "..", "main.ts")],
  version: "0",
  processContext: createProcessContext({
    startedAt: 0,
    enclosingSession: () => null,
    address: () => null,
    connect: () => Promise.reject(new Error("nobody is there")),
  }),
  warn: () => {},
});

afterAll(async () => {
  await api.close();
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});

function sent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(toJsonCase(value)));
}

function withRoundedMoney(value: unknown): unknown {
  const round = (name: string, field: unknown) => (name === "costUsd" && typeof field === "number" ? roundUsd(field) : field);
  return JSON.parse(JSON.stringify(value, round));
}

/** Asks as a client would, in the wire's own words, and holds the answer to the wire and to the document. */
async function ask(row: MethodName, params: Record<string, unknown>): Promise<unknown> {
  const checked = checkParams(row, params);
  if (!checked.ok) throw new Error(checked.message);
  const [noun, verb] = row.split(".") as [keyof Api, string];
  const given = (api[noun] as unknown as Record<string, (params: unknown) => unknown>)[verb]!(checked.params);
  const answer = (isFeed(row) ? await Array.fromAsync(given as AsyncIterable<Event>) : await given) ?? null;
  // Only money changes: it is rounded to micro-dollars.
  expect(fromJsonCase(sent(answer))).toEqual(withRoundedMoney(answer));
  const { result } = methods[row];
  const isVoid = result.safeParse(undefined).success;
  for (const item of isFeed(row) ? (answer as Event[]) : isVoid ? [] : [answer]) {
    const parsed = result.safeParse(sent(item));
    expect([row, parsed.error?.issues]).toEqual([row, undefined]);
    expect(parsed.data as unknown).toEqual(withRoundedMoney(item));
  }
  asked.add(row);
  return answer;
}

const asked = new Set<MethodName>();

/** What needs another program, a person or a running turn; hub walks ask those. */
const elsewhere: MethodName[] = [
  "team.diff",
  "team.message",
  "turn.steer",
  "ask.answer",
  "doctor.tryAgents",
  "fleet.setup",
  "mcp.try",
  "mcp.startLogin",
  "mcp.finishLogin",
  "mcp.logout",
  "files.planRestore",
  "files.restore",
];

test("every answer of a real app converts to JSON and back unchanged", { timeout: 60_000 }, async () => {
  const model = "anthropic/claude-sonnet-4-5";
  const session = (await ask("session.open", { directory: project, name: "main", model, find: { by: "new" } })) as Session;
  const turn = { session: session.id, policy: { sandbox: "off" } };
  await ask("turn.check", { directory: project, model, policy: turn.policy });
  const events = (await ask("turn.start", { ...turn, prompt: "go" })) as Event[];
  for (const event of events) expect(sent(event)).toMatchObject(eventRecord(event));
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
  await ask("bash.execute", { ...turn, command: "seq 20000" });
  const forked = (await ask("session.fork", { session: session.id, name: "other" })) as Session;
  const added = (await ask("node.add", { session: forked.id, text: "and this" })) as { id: string };
  await ask("turn.start", { ...turn, session: forked.id, prompt: "go on" });
  await ask("graft.make", { from: forked.id, into: session.id });
  await ask("node.addSession", { session: forked.id, from: session.id });

  const tree = (await ask("session.tree", { session: session.id, archived: true })) as TreeView;
  for (const node of tree.nodes) expect(sent(node)).toMatchObject(nodeRecord(node));
  for (const each of tree.sessions) expect(sent(each)).toMatchObject(sessionRecord(each));
  for (const each of tree.turns) expect(sent(each)).toMatchObject(turnRecord(each));
  const calls = tree.nodes.flatMap(({ parts }) => parts.filter((part) => part.kind === "call"));
  expect(JSON.stringify((sent(calls) as { input: unknown }[])[0]!.input)).toBe(JSON.stringify(input));

  const handles = (await ask("context.handles", { session: session.id })) as { identifier: string }[];
  await ask("handle.resolve", { identifier: handles[0]!.identifier, max_bytes: 100 });
  await ask("context.render", { session: session.id });
  await ask("turn.watch", { session: session.id });
  await ask("turn.list", { ended_since: "2020-01-01T00:00:00.000Z" });
  await ask("turn.takeBack", { session: session.id, input: "none" });
  const queued = (await ask("turn.queue", { ...turn, prompt: "later" })) as PendingTurn;
  expect(await ask("turn.pending", { session: session.id })).toMatchObject([{ id: queued.id }]);
  await ask("turn.startPending", { pending: queued.id });
  const withdrawn = (await ask("turn.queue", { ...turn, prompt: "never" })) as PendingTurn;
  expect(await ask("turn.withdraw", { pending: withdrawn.id })).toMatchObject({ id: withdrawn.id });
  for (const row of ["turn.cancel", "turn.kill", "turn.pause", "turn.resume"] as const) await ask(row, { session: session.id });
  for (const row of ["node.path", "node.children"] as const) await ask(row, { node: added.id });
  await ask("node.find", { wanted: added.id.slice(-8) });
  await ask("ask.list", {});
  await ask("search.find", { query: "look" });
  await ask("history.search", { query: "look; nothing like it", directory: project, asker: "wire" });
  await ask("session.describe", { session: session.id, directory: project });
  await ask("tokens.count", { items: ["."], directory: project });
  await ask("files.list", { directory: project, query: "s" });
  await ask("branch.compare", { a: session.id, b: forked.id, directory: project });
  await ask("branch.files", { session: session.id });
  await ask("files.diff", { from: session.id, directory: project });
  await ask("files.blame", { path: "a.txt", directory: project });
  for (const args of ["init -q", "add a.txt", "-c user.name=a -c user.email=a@b.c commit -qm one"])
    expect(Bun.spawnSync(["git", ...args.split(" ")], { cwd: project }).exitCode).toBe(0);
  await ask("files.writeNotes", { path: "a.txt", directory: project });
  await ask("session.show", { session: session.id });
  const end = (await ask("session.show", { session: session.id, max_chars: 1 })) as SessionView;
  expect(end.nodes.map(({ id }) => id)).toEqual([end.session.tip!]);
  await ask("session.tree", { session: session.id, brief: true });
  await ask("node.path", { node: added.id, max_chars: 1_000 });
  for (const row of ["plan.make", "plan.read"] as const) await ask(row, { directory: project });
  await ask("session.leaves", { session: session.id });
  await ask("session.find", { wanted: "main", directory: project });
  await ask("session.undo", { session: session.id });
  await ask("session.redo", { session: session.id });
  await ask("session.move", { session: forked.id, node: null });
  await ask("session.rename", { session: forked.id, name: "third" });
  await ask("session.use", { session: session.id, directory: project });
  await ask("session.current", { directory: project });
  await ask("session.archive", { session: forked.id });
  await ask("session.list", { archived: true });
  await ask("session.restore", { session: forked.id });
  await ask("session.archive", { session: forked.id });
  await ask("session.purge", { session: forked.id, older_than_ms: 0 });
  const looping = ((await ask("session.open", { directory: project, name: "looping", model, find: { by: "new" } })) as Session).id;
  await ask("turn.start", { ...turn, session: looping, prompt: "go", loop: { until: "false", max_runs: 1 } });
  expect(await ask("loop.show", { session: looping })).toMatchObject({ state: "ended", reason: "max-runs" });
  const team = ((await ask("session.open", { directory: project, name: "team", model })) as Session).id;
  const phases = [{ name: "one", members: [{ key: "ann", role: "engineer", task: "do it" }] }];
  await ask("turn.start", { ...turn, session: team, prompt: null, team: { work: "run", wish: { objective: "all of it", phases } } });
  expect(await ask("team.list", { project })).toMatchObject([{ state: "completed", members: { total: 1, completed: 1 } }]);
  await ask("team.show", { session: team });
  await ask("team.add", { session: team, member: { key: "bob", role: "qa", task: "look" } });
  await ask("team.clean", { session: team, dry_run: false });
  Bun.spawnSync(["git", "init", "-q"], { cwd: project });
  const worktree = { name: "feat", with_changes: true };
  const inWorktree = (await ask("session.open", { directory: project, model, worktree })) as Session;
  expect(inWorktree.worktree).toMatchObject({ name: "feat", project });
  writeFileSync(join(inWorktree.directory, "work.txt"), "work\n");
  const diff = (await ask("worktree.diff", { session: inWorktree.id })) as { now: string; work: string };
  await ask("worktree.merge", { session: "feat", directory: project, expected: { now: diff.now, work: diff.work } });
  await ask("worktree.update", { session: inWorktree.id });
  expect(await ask("worktree.list", { project })).toMatchObject([{ name: "feat", state: "merged" }]);
  await ask("worktree.clean", { project, dry_run: false });
  const race = ((await ask("session.open", { directory: project, name: "race", model })) as Session).id;
  const contestants = [{ agent: "native", model }];
  await ask("turn.start", {
    ...turn,
    session: race,
    prompt: null,
    race: { work: "run", wish: { task: "do it", contestants, check: "true" } },
  });
  expect(await ask("race.list", { project })).toMatchObject([{ state: "ended", passed: 1, agents: ["native"] }]);
  const { racers } = (await ask("race.show", { session: race })) as RaceView;
  await ask("race.adopt", { session: racers[0]!.sessionId, dry_run: true });
  await ask("transcript.import", { from: { path: tree.sessions[0]!.transcript! }, directory: project });
  await ask("session.catchUp", { session: race, directory: project });
  expect(await ask("transcript.list", { project: null })).toEqual([]);
  expect(await ask("transcript.search", { query: "words", agents: ["claude"] })).toEqual([]);
  await ask("roles.find", { name: "engineer", directory: project });
  expect(await ask("models.show", { model: "claude-opus-4-5:high" })).toMatchObject({ ready: true, contextWindow: 200_000 });
  expect(await ask("models.show", { model: null })).toMatchObject({ name: expect.stringContaining("anthropic/"), ready: true });
  expect(await ask("models.show", { model: "openai/gpt-5" })).toMatchObject({ name: "openai/gpt-5", ready: false });
  expect(await ask("models.show", { model: "no such model" })).toBeNull();
  await ask("usage.report", { by: "model" });
  const points = (await ask("usage.series", { by: "model", step: "week", zone: "Asia/Kathmandu" })) as UsagePoint[];
  expect(points.length).toBeGreaterThan(0);
  await expect(ask("usage.series", { zone: "Nowhere/Town" })).rejects.toThrow("time zone");
  await ask("store.verify", {});
  await ask("config.set", { key: "max_steps", value: "7" });
  await ask("mcp.list", {});
  await ask("mcp.set", { name: "small", server: { command: "true", env: { A_B: "c" } }, scope: "user" });
  for (const row of ["roles.list", "skills.list", "trust.show", "trust.grant", "trust.revoke"] as const)
    await ask(row, { directory: project });
  const plain = ["agents.list", "models.list", "auth.status", "limits.list", "hooks.test", "doctor.check", "health.check"] as const;
  for (const row of [...plain, "config.show", "config.values", "config.paths", "config.schema"] as const) await ask(row, {});
  expect(methodNames.filter((row) => !asked.has(row)).toSorted()).toEqual(elsewhere.toSorted());
});

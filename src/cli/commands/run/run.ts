// skein run: one turn from the command line. Checks everything it can before anything is written.
import { accessSync, constants, existsSync, readFileSync, statSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { parseDuration } from "../../../kit/text/duration.ts";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import type { Api, SessionOpenParams, Settings, TurnStartParams } from "../../../protocol/api/api.ts";
import { exitCodes, Fault, messageOf } from "../../../protocol/api/error.ts";
import { toolNames, type ToolLevel } from "../../../protocol/api/policy.ts";
import { narrowTurn, roleFields, type Role, type RoleField, type RoleRequest } from "../../../protocol/api/role.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { headlessLimits } from "../../../protocol/api/turn-start.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { connectHubFor, detachTurn } from "./detach.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { planTask, readPlan } from "./plan-flag.ts";
import { resolvePolicy, readPolicyFlags } from "./policy-flags.ts";
import { printerFor, type OutputFormat } from "../../print/printer.ts";
import { readImage } from "./read-image.ts";
import { runFlags } from "./run-flags.ts";

export const run: Command = {
  name: "run",
  aliases: ["spawn"],
  summary: "give an agent a task, and see it through",
  usage: '"task" [flags]',
  positionals: { min: 0, max: 1 },
  flags: runFlags,
  notes: `Piped input is joined to the task; "-" reads the task itself from stdin.
\`skein -p "task"\` and \`skein spawn --task "task"\` are the same command.

Examples:
  skein run "make the tests pass"
  git diff | skein run "review this" --tool-level none
  skein run "go on" --continue --max-budget-usd 0.50
  skein run --policy plan "split the parser"
  skein run --plan .skein/plan.md
  skein run "list the open TODOs" --output-format json | jq -r .result`,
  run: runTask,
};

async function runTask(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args, ctx);
  const task = await readTask(args, ctx, flags);
  const wish = { ephemeral: flags.on("ephemeral"), ...(flags.trust === null ? {} : { trust: flags.trust }), cwd: flags.directory };
  const here = await ctx.api(wish);
  const settings = await here.config.values();
  const turn = buildTurn(flags, settings, ctx);
  const role = await loadRole(here, flags);
  const played = role === null ? turn : narrowTurn(turn, role, turn.role?.keep ?? []);
  if (flags.plan !== null && played.policy.name === "plan")
    throw new Fault("usage", "--plan executes a plan, and policy plan only writes one", { hint: "add --policy workspace" });
  const wanted = buildSessionOpen(flags, settings, task, { toolLevel: played.toolLevel, role });
  const isNew = wanted.find.by === "new" && !isForking(flags);
  // Only the session knows who it is that they would go to.
  const agentArgs = isNew || turn.agent !== null ? turn.agentArgs : [];
  await here.turn.check({ ...turn, agentArgs, agent: wanted.agent, isNew, directory: flags.directory });
  const api = flags.on("detach") ? await connectHubFor(ctx, wish) : here;
  const session = await forked(api, flags, () => api.session.open(wanted));
  if (flags.on("detach")) return detachTurn(api.turn.start({ ...turn, session: session.id, prompt: task }), api, ctx, flags.format);
  const printer = await printerFor(flags.format, ctx, {
    stream: !flags.on("no-stream"),
    tools: toolNames({ ...played, canAsk: turn.asks.how !== "none" }),
  });
  const events = api.turn.start({ ...turn, session: session.id, prompt: task });
  let stopped: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopped = signal;
    void api.turn.cancel({ session: session.id });
  });
  const result = await followTurn(events, printer);
  return stopped === "SIGTERM" && result.status === "cancelled" ? 143 : exitCodes[result.status];
}

/** --fork and --at go on in a new session; nothing is ever overwritten. */
async function forked(api: Api, flags: Flags, open: () => Promise<Session>): Promise<Session> {
  const at = flags.text("at");
  if (!isForking(flags)) return open();
  const node = at === null ? null : await api.node.find({ wanted: at });
  const isNamed = flags.text("session") !== null || flags.text("resume") !== null || flags.on("continue");
  const from = isNamed || node === null ? (await open()).id : node.session;
  const session = await api.session.fork({ session: from, at: node?.id ?? null, name: null });
  await api.session.use({ session: session.id, directory: flags.directory });
  return session;
}

function isForking(flags: Flags): boolean {
  return flags.on("fork") || flags.text("at") !== null;
}

type Flags = ReturnType<typeof readFlags>;

/** Every value checked; nothing is built or opened yet. */
export function readFlags(args: Args, ctx: CommandContext) {
  const text = (name: string) => (typeof args.flags[name] === "string" ? args.flags[name] : null);
  const on = (name: string) => args.flags[name] === true;
  const all = (name: string) => (args.flags[name] as string[] | undefined) ?? [];
  const { cwd, home } = ctx;
  const path = (name: string) => mapped(text(name), (value) => absolutePath(value, { cwd, home }));
  const directory = path("cd") ?? cwd;
  if (!statOrNull(directory)?.isDirectory()) throw new Fault("usage", `--cd: no directory ${directory}`);
  if (on("ephemeral") && text("output-file") !== null)
    throw new Fault("usage", "--ephemeral keeps no transcript for --output-file to copy");
  if (on("trust") && on("no-trust")) throw new Fault("usage", "--trust and --no-trust exclude each other");
  onlyOne(args, ["session", "continue", "resume", "session-id"]);
  for (const name of ["continue", "resume"]) onlyOne(args, ["ephemeral", name]);
  for (const name of ["session", "continue", "resume", "fork", "at", "fresh"]) onlyOne(args, ["plan", name]);
  if (on("fork") && text("at") === null && text("session") === null && text("resume") === null && !on("continue"))
    throw new Fault("usage", "--fork needs --session, --continue, --resume or --at");
  onlyOne(args, ["ephemeral", "detach"]);
  if (on("detach") && !["text", "json"].includes(text("output-format") ?? "text"))
    throw new Fault("usage", "--detach prints no events; `skein logs -f --json` does");
  if (on("json") && text("output-format") !== null && text("output-format") !== "json")
    throw new Fault("usage", "--json and --output-format exclude each other");
  return {
    text,
    on,
    all,
    directory,
    format: (on("json") ? "json" : (text("output-format") ?? "text")) as OutputFormat,
    trust: on("trust") ? true : on("no-trust") ? false : null,
    maxSteps: mapped(text("max-steps"), (value) => positive("max-steps", value, true)),
    maxTokens: mapped(text("max-tokens"), (value) => positive("max-tokens", value, true)),
    maxBudgetUsd: mapped(text("max-budget-usd"), (value) => positive("max-budget-usd", value, false)),
    maxChildren: mapped(text("max-children"), (value) => positive("max-children", value, true)),
    timeoutMs: mapped(text("timeout"), (value) => duration("timeout", value)),
    sessionId: mapped(text("session-id"), (value) => uuid("session-id", value)),
    tools: mapped(text("tools"), toolList),
    policy: readPolicyFlags(args, ctx),
    plan: mapped(path("plan"), readPlan),
    schema: mapped(path("json-schema"), readSchema),
    images: all("image").map((value) => readImage(absolutePath(value, { cwd, home }), "--image: ")),
    outputFile: mapped(path("output-file"), (file) => writableFile("output-file", file)),
    transcriptDir: mapped(path("transcript-dir"), (folder) => writableFolder("transcript-dir", folder)),
  };
}

async function readTask(args: Args, ctx: CommandContext, flags: Flags): Promise<string | null> {
  const given = args.positionals[0] ?? flags.text("task");
  if (args.positionals[0] !== undefined && flags.text("task") !== null)
    throw new Fault("usage", "the task was given twice: as an argument and with --task");
  const wait = given === "-" || (given === null && flags.text("resume") === null && flags.plan === null);
  const piped = given === "-" || !ctx.stdin.isTty ? await ctx.stdin.text({ wait }) : "";
  const task = given === "-" ? piped : joined(given ?? "", piped);
  if (task.trim() !== "") return task;
  if (flags.text("resume") !== null && given === null && !flags.on("fresh")) return null;
  if (flags.plan !== null && given === null) return planTask;
  throw new Fault("usage", "there is no task", { hint: 'skein run "what to do"' });
}

function joined(task: string, piped: string): string {
  if (piped.trim() === "") return task;
  return task === "" ? piped : `${task}\n\nInput:\n${piped}`;
}

export function buildTurn(flags: Flags, settings: Settings, ctx: CommandContext): Omit<TurnStartParams, "session" | "prompt"> {
  const isDetached = flags.on("detach");
  const headless = isDetached || !(ctx.stdin.isTty && ctx.out.isTty);
  const toolLevel = (flags.text("tool-level") as ToolLevel | null) ?? settings.toolLevel;
  return {
    images: flags.images,
    ...agentAndModel(flags),
    agentArgs: flags.all("agent-arg"),
    toolLevel,
    tools: flags.tools,
    spawn: !flags.on("no-spawn"),
    system: flags.text("system"),
    appendSystem: flags.text("append-system"),
    contextFiles: !flags.on("no-context-files") && settings.contextFiles,
    fresh: flags.on("fresh"),
    policy: resolvePolicy(flags.policy, settings, toolLevel),
    limits: {
      maxSteps: flags.maxSteps ?? settings.maxSteps ?? (headless ? headlessLimits.maxSteps : Number.MAX_SAFE_INTEGER),
      maxTokens: flags.maxTokens ?? settings.maxTokens,
      maxBudgetUsd: flags.maxBudgetUsd ?? settings.maxBudgetUsd,
      maxChildren: flags.maxChildren ?? settings.maxChildren ?? (headless ? headlessLimits.maxChildren : null),
      treeSteps: flags.maxSteps,
    },
    timeoutMs: flags.timeoutMs ?? settings.timeoutMs ?? (headless ? headlessLimits.timeoutMs : null),
    idleMs: settings.idleMs ?? (headless ? headlessLimits.idleMs : null),
    answerSchema: flags.schema,
    outputFile: flags.outputFile,
    command: null,
    group: null,
    team: null,
    // What is not kept can't be answered later.
    asks: isDetached ? { how: "wait", limitMs: settings.askTimeoutMs } : { how: flags.on("ephemeral") ? "none" : "later" },
    steerable: true,
    nesting: flags.on("allow-nesting"),
    ...mapped(flags.text("role"), (name) => ({ role: roleRequest(name, flags, settings) })),
  };
}

/** What was said for this turn counts more than its role. */
function roleRequest(name: string, { text, policy }: Flags, settings: Settings): RoleRequest {
  const said: Record<RoleField, boolean> = {
    tools: text("tools") !== null || text("tool-level") !== null,
    policy: policy.name !== null,
    sandbox: (policy.sandbox ?? settings.sandbox) !== null,
    net: policy.net !== null,
    time: text("timeout") !== null,
  };
  return { name, keep: roleFields.filter((field) => said[field]) };
}

/** A role may bring an agent; null without one. */
export async function loadRole(api: Api, { text, directory }: Flags): Promise<Role | null> {
  const name = text("role");
  return name === null ? null : api.roles.find({ name, directory });
}

/** `--provider` is a vendor or an agent; beside `--agent` it can only be a vendor. */
function agentAndModel(flags: Flags): { agent: string | null; model: string | null } {
  const [agent, provider, model] = [flags.text("agent"), flags.text("provider"), flags.text("model")];
  if (agent === null || provider === null || provider === agent) return { agent: agent ?? provider, model };
  return { agent, model: model === null ? provider : model.startsWith(`${provider}/`) ? model : `${provider}/${model}` };
}

type OpenedAs = { toolLevel: ToolLevel; role: Role | null };

export function buildSessionOpen(flags: Flags, settings: Settings, task: string | null, { toolLevel, role }: OpenedAs): SessionOpenParams {
  const wanted = flags.text("resume") ?? flags.text("session");
  const find: SessionOpenParams["find"] =
    wanted !== null
      ? { by: "name", wanted, orCreate: flags.text("resume") === null && !isForking(flags) }
      : flags.on("continue")
        ? { by: "latest" }
        : { by: "new" };
  return {
    find,
    ...(flags.sessionId === null ? {} : { id: flags.sessionId }),
    directory: flags.directory,
    task,
    agent: agentAndModel(flags).agent ?? role?.agent ?? settings.agent,
    model: agentAndModel(flags).model ?? (agentAndModel(flags).agent === null ? (role?.model ?? null) : null),
    toolLevel,
    parentSession: flags.text("parent-session"),
    transcriptDir: flags.transcriptDir,
    ...(flags.plan === null ? {} : { plan: flags.plan }),
  };
}

function onlyOne(args: Args, names: string[]): void {
  const given = names.filter((name) => args.flags[name] !== undefined);
  if (given.length > 1) throw new Fault("usage", `${given.map((name) => `--${name}`).join(" and ")} exclude each other`);
}

function toolList(value: string): string[] {
  const names = value
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length === 0)
    throw new Fault("usage", `--tools takes names with commas between them, not "${value}"`, { hint: "--tool-level none means no tools" });
  return names;
}

function writableFile(name: string, file: string): string {
  if (statOrNull(file)?.isDirectory()) throw new Fault("usage", `--${name}: ${file} is a directory`);
  writableFolder(name, dirname(file));
  return file;
}

/** Missing folders will be made; what is there already must be one that we can write to. */
function writableFolder(name: string, folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest) && nearest !== dirname(nearest)) nearest = dirname(nearest);
  if (!statOrNull(nearest)?.isDirectory()) throw new Fault("usage", `--${name}: ${nearest} is no directory`);
  try {
    accessSync(nearest, constants.W_OK);
  } catch (error) {
    throw new Fault("usage", `--${name}: can't write to ${nearest}`, { cause: error });
  }
  return folder;
}

function positive(name: string, value: string, whole: boolean): number {
  const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (number > 0 && Number.isFinite(number) && (!whole || Number.isSafeInteger(number))) return number;
  throw new Fault("usage", `--${name} takes ${whole ? "a whole number" : "a number"} above 0, not "${value}"`);
}

function duration(name: string, value: string): number {
  const ms = parseDuration(value);
  if (ms !== null && ms > 0) return ms;
  throw new Fault("usage", `--${name} takes seconds or 90s, 10m, 2h, not "${value}"`);
}

function uuid(name: string, value: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value)) return value;
  throw new Fault("usage", `--${name} takes a lower-case UUID, not "${value}"`);
}

function readSchema(path: string): Record<string, unknown> {
  const problem = (why: string) => new Fault("usage", `--json-schema: ${why}`);
  if (!existsSync(path)) throw problem(`no file ${path}`);
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw problem(`${path} is not JSON: ${messageOf(error)}`);
  }
  throw problem(`${path} does not hold a JSON object`);
}

function statOrNull(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function mapped<A, B>(value: A | null, map: (value: A) => B): B | null {
  return value === null ? null : map(value);
}

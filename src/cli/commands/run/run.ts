// skein run: starts one turn from the command line. Checks everything it can before anything is written.
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import type { Api, SessionOpenParams, Settings } from "../../../protocol/api/api.ts";
import { exitCodes, Fault } from "../../../protocol/api/error.ts";
import { toolNames, type ToolLevel } from "../../../protocol/api/policy.ts";
import { narrowTurn, roleFields, type Role, type RoleField, type RoleRequest } from "../../../protocol/api/role.ts";
import type { FleetRunRequest } from "../../../protocol/fleet/fleet-commands.ts";
import { changeTurn, configuredTurn, type TurnOptions } from "../../../protocol/api/turn-options.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import { looksLikeSessionId } from "../../../protocol/api/session-name.ts";
import { homeProject, type Session } from "../../../protocol/tree/turn.ts";
import type { AppOverrides, Args, Command, CommandContext } from "../../parse/command.ts";
import { followTurn } from "../../print/follow-turn.ts";
import { followWaits } from "../../live/follow-waits.ts";
import { printerFor, type OutputFormat, type Printer } from "../../print/printer.ts";
import { connectHubFor, detachTurn, queueTurn } from "./detach.ts";
import { flagReader, type FlagReader } from "./flag-value.ts";
import { checkFleetFlags, fleetRequest, printSent, sendToFleet } from "../fleet/send-run.ts";
import { planTask, readPlan } from "./plan-flag.ts";
import { resolvePolicy, readPolicyFlags } from "./policy-flags.ts";
import { runFlags, turnChangeOf, runFlagGroups } from "./run-flags.ts";
import { worktreeRequest } from "./worktree-flags.ts";

export const run: Command = {
  name: "run",
  aliases: ["spawn"],
  summary: "give an agent a task and follow it to the end",
  usage: '"task" [flags]',
  positionals: { min: 0, max: 1 },
  surplusHint: (words) =>
    /^[\w.]+=/.test(words[0] ?? "")
      ? "a setting: `skein config set <key> <value>`; a model: -m <model>"
      : `in quotes it is one task: skein run ${shellQuote(words.join(" "))}`,
  flags: runFlags,
  flagGroups: runFlagGroups,
  notes: `Piped input is added to the task; "-" reads the task itself from stdin.
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
  return startTask(args, ctx, { change: async (turn) => turn, follow: ({ events, printer }) => followTurn(events, printer) });
}

export type StartedRun = { api: Api; ctx: CommandContext; flags: Flags; session: Session; events: AsyncIterable<Event>; printer: Printer };

/** The parts that differ between the commands that give a task to a session. */
export type RunVariant = {
  /** Called when the session is open, before the turn starts. */
  change: (turn: TurnOptions, opened: { api: Api; flags: Flags; session: Session }) => Promise<TurnOptions>;
  /** Prints the events. Resolves when the turn has ended. */
  follow: (run: StartedRun) => Promise<ResultRecord>;
};

export async function startTask(args: Args, ctx: CommandContext, { change, follow }: RunVariant): Promise<number> {
  const flags = readFlags(args, ctx);
  const task = await readTask(args, ctx, flags);
  const overrides = { ephemeral: flags.on("ephemeral"), ...(flags.trust === null ? {} : { trust: flags.trust }), cwd: flags.directory };
  const localApi = await ctx.api(overrides);
  const settings = await localApi.config.values();
  const turn = buildTurn(flags, settings, ctx);
  const role = await loadRole(localApi, flags);
  // The engine applies the role. Its effect is needed here only for the checks and the list of tools below.
  const narrowedTurn = role === null ? turn : narrowTurn(turn, role, turn.role?.keep ?? []);
  if (flags.plan !== null && narrowedTurn.policy.name === "plan")
    throw new Fault("usage", "--plan executes a plan, and policy plan only writes one", { hint: "add --policy workspace" });
  const open = buildSessionOpen(flags, settings, task, { toolLevel: narrowedTurn.toolLevel, role });
  const isNew = open.find.by === "new" && !isForking(flags);
  // For an existing session the agent is not known yet, so --agent-arg is checked when the turn starts.
  const agentArgs = isNew || turn.agent !== null ? turn.agentArgs : [];
  // The worker checks the turn with its own keys and programs.
  if (!flags.on("fleet")) await localApi.turn.check({ ...turn, agentArgs, agent: open.agent, isNew, directory: flags.directory });
  const api = await apiOf(flags, ctx, { localApi, overrides });
  const session = await openOrFork({ api, ctx }, flags, open);
  const request = { ...(await change(turn, { api, flags, session })), session: session.id, prompt: task };
  const sent = flags.on("fleet")
    ? await sendToFleet(ctx, fleetRequest(args.flags, ctx, { session, directory: flags.directory, turn: request }))
    : null;
  if (sent !== null && flags.on("detach"))
    return printSent(ctx, { run: sent.run, session: session.id, api, isJson: flags.format === "json" });
  if (flags.on("queue")) return queueTurn(api, request, ctx, flags.format);
  if (flags.on("detach")) return detachTurn(api.turn.start(request), api, ctx, flags.format);
  const printer = await printerFor(flags.format, ctx, {
    // A corrected answer must not follow the one that it corrects.
    stream: !flags.on("no-stream") && (ctx.out.isTty || turn.answerSchema === null),
    quiet: flags.on("quiet"),
    directory: flags.directory,
    watch: api.turn.watch,
    tools: toolNames({ ...narrowedTurn, canAsk: turn.asks.how !== "none" }),
  });
  const events = sent === null ? api.turn.start(request) : sent.fleet.follow(session.id, sent.afterSeq);
  let stopSignal: "SIGINT" | "SIGTERM" | null = null;
  ctx.onStop((signal) => {
    stopSignal = signal;
    void (sent === null ? api.turn.cancel({ session: session.id }) : sent.fleet.stop(session.id));
  });
  const followed = sent === null ? followWaits(events, session.id, () => connectHubFor(ctx, overrides)) : events;
  const result = await follow({ api, ctx, flags, session, events: followed, printer });
  return stopSignal === "SIGTERM" && result.status === "cancelled" ? 143 : exitCodes[result.status];
}

type Apis = { localApi: Api; overrides: AppOverrides & { cwd: string } };

/** The Api of the process or the store that gets the turn. */
async function apiOf(flags: Flags, ctx: CommandContext, { localApi, overrides }: Apis): Promise<Api> {
  if (flags.on("fleet")) return ctx.api({ ...overrides, store: "fleet" });
  return isLeftToHub(flags) ? connectHubFor(ctx, overrides) : localApi;
}

/** Whether the hub runs the turn, without a user at a terminal. */
function isLeftToHub(flags: Flags): boolean {
  return flags.on("detach") || flags.on("queue");
}

/** --fork and --at continue in a new session; the old one is never changed. A fork of another project's session is not current here. */
async function openOrFork({ api, ctx }: { api: Api; ctx: CommandContext }, flags: Flags, params: SessionOpenParams): Promise<Session> {
  if (!isForking(flags)) return api.session.open(params);
  const at = flags.text("at");
  const node = at === null ? null : await api.node.find({ wanted: at });
  const source = await forkSource(api, flags, params, node);
  const session = await api.session.fork({ ...source, at: node?.id ?? null, worktree: flags.worktree });
  if (homeProject(session) === ctx.projectOf(flags.directory)) await api.session.use({ session: session.id, directory: flags.directory });
  return session;
}

/** The session to fork, and the name of the fork: with --at, --session may be the name of the new session. */
async function forkSource(
  api: Api,
  flags: Flags,
  params: SessionOpenParams,
  node: Node | null,
): Promise<{ session: string; name: string | null }> {
  const wanted = flags.text("resume") ?? flags.text("session");
  if (wanted === null) {
    const isChosen = flags.on("continue") || flags.on("resume") || node === null;
    return { session: isChosen ? (await api.session.open(params)).id : node.session, name: null };
  }
  try {
    return { session: (await api.session.find({ wanted, directory: flags.directory })).id, name: null };
  } catch (error) {
    const isNewName = flags.text("session") !== null && !looksLikeSessionId(wanted);
    if (node === null || !isNewName || !(error instanceof Fault) || error.code !== "session-unknown") throw error;
    return { session: node.session, name: wanted };
  }
}

function isForking(flags: Flags): boolean {
  return flags.on("fork") || flags.text("at") !== null;
}

export type Flags = ReturnType<typeof readFlags>;

/** Checks every value. Nothing is created or opened yet. */
export function readFlags(args: Args, ctx: CommandContext) {
  const { text, on, read } = flagReader(args, ctx);
  const directory = read("cd", (flag) => flag.existingDirectory()) ?? ctx.cwd;
  checkCombinations(args, { text, on });
  return {
    text,
    on,
    directory,
    format: (on("json") ? "json" : (text("output-format") ?? "text")) as OutputFormat,
    trust: on("trust") ? true : on("no-trust") ? false : null,
    turnChange: turnChangeOf(args, ctx),
    policy: readPolicyFlags(args, ctx),
    sessionId: read("session-id", (flag) => flag.uuid()),
    plan: read("plan", (flag) => readPlan(flag.path())),
    worktree: worktreeRequest(args),
    transcriptDir: read("transcript-dir", (flag) => flag.writableDirectory()),
  };
}

function checkCombinations(args: Args, { text, on }: Pick<FlagReader, "text" | "on">): void {
  checkFleetFlags(args.flags);
  if (on("ephemeral") && text("output-file") !== null)
    throw new Fault("usage", "--ephemeral keeps no transcript for --output-file to copy");
  onlyOne(args, ["check", "no-check"]);
  if (on("trust") && on("no-trust")) throw new Fault("usage", "--trust and --no-trust exclude each other");
  onlyOne(args, ["session", "continue", "resume", "session-id"]);
  for (const name of ["continue", "resume"]) onlyOne(args, ["ephemeral", name]);
  for (const name of ["session", "continue", "resume", "fork", "at", "fresh"]) onlyOne(args, ["plan", name]);
  if (on("fork") && ["at", "session", "resume", "continue"].every((name) => args.flags[name] === undefined))
    throw new Fault("usage", "--fork needs --session, --continue, --resume or --at");
  for (const name of ["detach", "queue"]) {
    onlyOne(args, ["ephemeral", name]);
    if (on(name) && !["text", "json"].includes(text("output-format") ?? "text"))
      throw new Fault("usage", `--${name} prints no events; \`skein logs -f --json\` does`);
  }
  onlyOne(args, ["ephemeral", "detach"]);
  onlyOne(args, ["ephemeral", "worktree"]);
  if (on("detach") && !["text", "json"].includes(text("output-format") ?? "text"))
    throw new Fault("usage", "--detach prints no events; `skein logs -f --json` does");
  if (on("json") && text("output-format") !== null && text("output-format") !== "json")
    throw new Fault("usage", "--json and --output-format exclude each other");
}

/** The task from the arguments and stdin. Null if there is none because an interrupted turn is resumed. */
async function readTask(args: Args, ctx: CommandContext, flags: Flags): Promise<string | null> {
  const taskArgument = args.positionals[0] ?? flags.text("task");
  if (args.positionals[0] !== undefined && flags.text("task") !== null)
    throw new Fault("usage", "the task was given twice: as an argument and with --task", {
      ...(flags.on("print") && { hint: `-p takes no value; a vendor or an agent is --provider ${args.positionals[0]}` }),
    });
  const isResuming = flags.text("resume") !== null || flags.on("resume");
  const wait = taskArgument === "-" || (taskArgument === null && !isResuming && flags.plan === null);
  const piped = taskArgument === "-" || !ctx.stdin.isTty ? await ctx.stdin.text({ wait }) : "";
  const task = taskArgument === "-" ? piped : joinTask(taskArgument ?? "", piped);
  if (task.trim() !== "") return task;
  if (isResuming && taskArgument === null && !flags.on("fresh")) return null;
  if (flags.plan !== null && taskArgument === null) return planTask;
  throw new Fault("usage", "there is no task", { hint: 'skein run "what to do"' });
}

function joinTask(task: string, piped: string): string {
  if (piped.trim() === "") return task;
  return task === "" ? piped : `${task}\n\nInput:\n${piped}`;
}

/** A run of the fleet that starts later: its template session, and the turn of each start. */
export async function runForSchedule(args: Args, ctx: CommandContext, task: string): Promise<FleetRunRequest> {
  const { agent, model, needs, priority } = args.flags;
  const runArgs: Args = { positionals: [], flags: { agent, model, needs, priority, fleet: true } };
  const flags = readFlags(runArgs, ctx);
  const settings = await (await ctx.api()).config.values();
  const turn = buildTurn(flags, settings, ctx);
  const open = buildSessionOpen(flags, settings, task, { toolLevel: turn.toolLevel, role: null });
  const session = await (await ctx.api({ store: "fleet", cwd: flags.directory })).session.open(open);
  const request = { ...turn, session: session.id, prompt: task };
  return fleetRequest(runArgs.flags, ctx, { session, directory: flags.directory, turn: request });
}

/** The options of the turn: the configuration, changed by the flags. */
export function buildTurn(flags: Flags, settings: Settings, ctx: CommandContext): TurnOptions {
  const isDetached = isLeftToHub(flags) || flags.on("fleet");
  const isAttended = !isDetached && ctx.stdin.isTty && ctx.out.isTty;
  const turn = changeTurn(configuredTurn(settings, { isAttended }), flags.turnChange);
  const role = flags.text("role");
  return {
    ...turn,
    ...agentAndModel(flags),
    policy: resolvePolicy(flags.policy, settings, turn.toolLevel),
    // A question of an ephemeral run is not stored, so it can't be answered later.
    asks: isDetached ? { how: "wait", limitMs: settings.askTimeoutMs } : { how: flags.on("ephemeral") ? "none" : "later" },
    ...(role === null ? {} : { role: roleRequest(role, flags, settings) }),
  };
}

/** Flags take precedence over the role. */
function roleRequest(name: string, { text, policy }: Flags, settings: Settings): RoleRequest {
  const explicit: Record<RoleField, boolean> = {
    tools: text("tools") !== null || text("tool-level") !== null,
    policy: policy.name !== null,
    sandbox: (policy.sandbox ?? settings.sandbox) !== null,
    net: policy.net !== null,
    time: text("timeout") !== null,
  };
  return { name, keep: roleFields.filter((field) => explicit[field]) };
}

/** The role of --role; null without the flag. */
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

export function buildSessionOpen(
  flags: Flags,
  settings: Settings,
  task: string | null,
  { toolLevel, role }: { toolLevel: ToolLevel; role: Role | null },
): SessionOpenParams {
  const { agent, model } = agentAndModel(flags);
  return {
    find: sessionSearch(flags),
    ...(flags.sessionId === null ? {} : { id: flags.sessionId }),
    directory: flags.directory,
    task: flags.on("fleet") ? null : task,
    agent: agent ?? role?.agent ?? settings.agent,
    // The worker, which has the keys, chooses the model. Without a task and a model none is needed here.
    model: flags.on("fleet") ? null : (model ?? (agent === null ? (role?.model ?? null) : null)),
    toolLevel,
    parentSession: flags.text("parent-session"),
    transcriptDir: flags.transcriptDir,
    ...(flags.plan === null ? {} : { plan: flags.plan }),
    ...(flags.worktree === null ? {} : { worktree: flags.worktree }),
  };
}

function sessionSearch(flags: Flags): SessionOpenParams["find"] {
  const wanted = flags.text("resume") ?? flags.text("session");
  if (wanted !== null) return { by: "name", wanted, orCreate: flags.text("resume") === null && !isForking(flags) };
  return { by: flags.on("resume") ? "interrupted" : flags.on("continue") ? "latest" : "new" };
}

function onlyOne(args: Args, names: string[]): void {
  const setNames = names.filter((name) => args.flags[name] !== undefined);
  if (setNames.length > 1) throw new Fault("usage", `${setNames.map((name) => `--${name}`).join(" and ")} exclude each other`);
}

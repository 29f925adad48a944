// Runs one turn with the CLI of another agent: starts it in our sandbox, reads its output live, and decides how the turn
// ended. Contains nothing about a particular CLI; that is in its adapter.
import { type PauseGate, createGateBehind } from "../../../kit/flow/pause-gate.ts";
import { loadLibc } from "../../../kit/process/libc.ts";
import type { ProgramMatch } from "../../../kit/process/trusted-programs.ts";
import { Fault, resumeCommand, type TurnError } from "../../../protocol/api/error.ts";
import type { LimitValues } from "../../../executor/limits.ts";
import type { EnforcedPolicy, Policy } from "../../../protocol/api/policy.ts";
import type { McpServer } from "../../../protocol/mcp/server-entry.ts";
import type { Agent, TurnCheckInput, PreviewInput, Preview, TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import type { CliRecord, CliSessionStart, TurnEnd } from "../../../protocol/tree/turn.ts";
import { noPreview } from "../../no-preview.ts";
import { type Emit, streamTurn } from "../../stream-turn.ts";
import type { Adapter, CliLaunch, CliServers } from "../adapters/adapter.ts";
import { moveLoaderVariables } from "../../../sandbox/sandbox-command.ts";
import { checkAgentArgs } from "../adapters/agent-args.ts";
import { openAsksForLater, type CliQuestion } from "../adapters/questions.ts";
import { startDialogue, type RunningDialogue } from "../configured/dialogue.ts";
import { adapterVendor } from "../credentials/find-credential.ts";
import {
  cliEnvironment,
  enforcedWithAccess,
  openVendorAccess,
  type VendorAccess,
  type VendorAccessDeps,
} from "../credentials/vendor-access.ts";
import { linkConfigFile, prepareConfigDir, readRecordedModel } from "../process/config-files.ts";
import { agentProgram, packageOf, packageVersion, refusalText, type AgentProgram } from "../process/program.ts";
import { type CliExit, runCli } from "../process/run-cli.ts";
import { promptWithBrief } from "./brief.ts";
import { cliServers } from "./cli-servers.ts";
import { judgeEnding, type CliEvidence } from "./ending.ts";
import { agentConfigDir, createLaunch, lastPrompt } from "./launch.ts";
import { substitutedModel, OutputParser } from "./output-parser.ts";

export type ExternalAgentDeps = {
  adapter: Adapter;
  /** The user's environment. The CLI gets only the variables that tools may see. */
  env: Record<string, string | undefined>;
  /** Finds a program that tools of the turn can't replace. */
  find: (program: string, turn: Pick<TurnInput, "project" | "directory" | "policy">) => ProgramMatch;
  /** Each tree has its own configuration directory below this one. */
  configRoot: string;
  /** Returns the command that runs `request.command` in the sandbox of this turn. */
  sandboxCommand: (turn: TurnInput, request: SandboxRequest) => Promise<SandboxedCommand>;
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  vendorAccess: VendorAccessDeps;
  /** The MCP servers of a turn that other agents than native may use. */
  servers: (turn: TurnInput) => ReadonlyMap<string, McpServer>;
};

export type SandboxRequest = {
  command: string[];
  /** Paths that are readable in addition to those of the policy. */
  readable: string[];
  /** Paths that are writable in addition to those of the policy. */
  writable: string[];
  /** The port that stays open when the network is off. */
  port: number | null;
};

export type SandboxedCommand = {
  command: string[];
  /** Variables to add to the environment. */
  env: Record<string, string>;
  limits?: LimitValues;
  /**
   * Watches the protected paths. `onLost` is called at most once, when a program outside has replaced one, so that the CLI
   * could write it. The returned function ends the watch. Missing if no path needs a watch.
   */
  watchGuards?: (onLost: (message: string) => void) => () => void;
};

export function externalAgent(deps: ExternalAgentDeps): Agent {
  const { adapter } = deps;
  return {
    name: adapter.name,
    takesTasks: true,
    check: async (turn) => checkTurn(deps, turn),
    preview,
    takeTurn: (input, context) =>
      streamTurn((emit) => {
        const { problems, ...servers } = cliServers({ servers: deps.servers(input), adapter, policy: input.policy });
        for (const problem of problems) warn(emit, problem);
        return runWithRetry({ deps, input, context, emit, servers });
      }),
    enforced: async (policy, model) =>
      enforcedWithAccess(deps.vendorAccess, adapter, { policy, model, enforced: await deps.enforced(policy) }),
  };
}

function checkTurn(deps: ExternalAgentDeps, turn: TurnCheckInput): void {
  const { adapter } = deps;
  checkAgentArgs(adapter, turn.agentArgs);
  adapter.check?.(turn);
  requireProgram(deps, turn);
  if (turn.answerSchema !== null)
    throw new Fault("usage", `--json-schema needs the native agent; ${adapter.name} has its own format of answers`);
  if (turn.compact === true)
    throw new Fault("usage", `${adapter.name} summarises its conversation itself when its window is full`, {
      hint: "only the native agent summarises on request",
    });
  if (turn.tools !== null) throw new Fault("usage", `--tools needs the native agent; ${adapter.name} has its own tools`);
  if (turn.toolLevel === "none")
    throw new Fault("usage", `--tool-level none needs the native agent; ${adapter.name} has its own tools`, {
      hint: "--policy readonly lets it change nothing",
    });
  if (turn.images.length > 0)
    throw new Fault("usage", `--image needs the native agent; ${adapter.name} is sent text`, { hint: "name the file in the task" });
}

function requireProgram({ adapter, find }: ExternalAgentDeps, turn: Parameters<ExternalAgentDeps["find"]>[1]): AgentProgram {
  const match = find(adapter.program, turn);
  const program = agentProgram(adapter.program, match);
  if (program !== null) return program;
  const reason = refusalText(match) ?? `there is no ${adapter.program} in PATH`;
  throw new Fault("not-installed", `${adapter.name} is not installed: ${reason}`, { hint: adapter.install });
}

/** Shows the prompt of a new session of the CLI. Before the user has typed a task, its end is missing. */
async function preview({ path, model }: PreviewInput): Promise<Preview> {
  const hasTask = path.at(-1)?.author === "user";
  const text = promptWithBrief(hasTask ? path.slice(0, -1) : path, hasTask ? lastPrompt(path) : "").trimEnd();
  const tokens = Math.ceil(text.length / 4);
  const empty = await noPreview({ path: [] });
  return { ...empty, model, messages: [{ role: "user", text, tokens }], tokens: { ...empty.tokens, messages: tokens } };
}

type CliTurn = { deps: ExternalAgentDeps; input: TurnInput; context: TurnContext; emit: Emit; servers: CliServers };

/** If the CLI's own session can't be resumed, runs once more in a new session, with a brief of the conversation. */
async function runWithRetry(turn: CliTurn): Promise<TurnEnd> {
  const { adapter } = turn.deps;
  const program = requireProgram(turn.deps, turn.input);
  const first = await runOnce(turn, program, turn.input.cliSession);
  if (!first.isSessionLost) return first.end;
  warn(turn.emit, `${adapter.name} could not resume its own session; it starts a new one with a brief`);
  return (await runOnce(turn, program, null)).end;
}

function warn(emit: Emit, message: string): void {
  emit({ type: "transient", event: { type: "warning.raised", message } });
}

const maxRefusals = 20;

/** For refused connections: a program may try the same host again and again. */
function warnOnce(emit: Emit): (message: string) => void {
  const seen = new Set<string>();
  return (message) => {
    if (seen.has(message) || seen.size >= maxRefusals) return;
    seen.add(message);
    warn(emit, message);
  };
}

type CliOutcome = { end: TurnEnd; isSessionLost: boolean };

async function runOnce(turn: CliTurn, program: AgentProgram, cliSession: CliSessionStart | null): Promise<CliOutcome> {
  const { deps, input, context, emit, servers } = turn;
  const { adapter } = deps;
  const stop = createStop(context);
  const pauseGate = createGateBehind(context.registerPausable);
  const access = await openVendorAccess(deps.vendorAccess, adapter, input, {
    signal: stop.signal,
    pauseGate,
    ready: context.keepFiles(),
    configDir: agentConfigDir(deps, input),
    cliSession: cliSession?.id ?? null,
    budget: context,
    onBudgetUsedUp: stop.withError,
    onRepeatedLimit: stop.withError,
    onBytes: context.keepAlive,
    onRefused: warnOnce(emit),
    onWait: (message) => warn(emit, message),
  });
  try {
    const launch = createLaunch(deps, input, cliSession, { ...access, servers });
    const dialogue = startDialogue(adapter, launch, stop.signal);
    const parser = new OutputParser({
      adapter,
      reader: dialogue?.reader ?? adapter.reader(launch.start),
      vendor: adapterVendor(adapter, input.model),
      model: launch.model,
      findModel: (id) => (adapter.modelRecord === undefined ? null : readRecordedModel(launch.configDir, adapter.modelRecord, id)),
      context,
      emit,
      access,
      onFlood: stop.withError,
      onQuestions: stop.withQuestions,
    });
    const onLimit = (reason: string): void => stop.withError({ kind: "broken", message: `${adapter.name} was ${reason}` });
    const onGuardLost = (message: string) => stop.withError(guardLost(message, adapter.name));
    const run = { launch, program, access, parser, dialogue, pauseGate, signal: stop.signal, onLimit, onGuardLost };
    const exit = await startCli(turn, run);
    await parser.finish();
    return concludeRun(turn, run, exit, await stop.reason());
  } finally {
    await access.close();
  }
}

/** Ends the CLI for the user, for a limit, or because it asked a question that it can't wait for. */
function createStop(context: TurnContext) {
  const controller = new AbortController();
  let error: TurnError | null = null;
  let asks: Promise<TurnError | null> | null = null;
  return {
    /** Aborted when the CLI must end. */
    signal: AbortSignal.any([context.signal, controller.signal]),
    withError: (reason: TurnError) => {
      error ??= reason;
      controller.abort();
    },
    withQuestions: (questions: CliQuestion[]) => {
      if (!context.canAsk) return;
      asks ??= openAsksForLater(context, questions);
      controller.abort();
    },
    /** Resolves to the first reason; null when the CLI ended by itself. */
    reason: async (): Promise<CliEvidence["stopped"]> => (error ??= await asks) ?? (context.signal.aborted ? "cancelled" : null),
  };
}

function guardLost(message: string, agent: string): TurnError {
  return {
    kind: "sandbox-unavailable",
    message: `${message}; ${agent} was stopped to keep it protected`,
    hint: `continue with \`${resumeCommand}\``,
  };
}

type CliRun = {
  launch: CliLaunch;
  program: AgentProgram;
  access: VendorAccess;
  parser: OutputParser;
  /** Null for a CLI that only prints. */
  dialogue: RunningDialogue | null;
  pauseGate: PauseGate;
  signal: AbortSignal;
  /** Called once, with the limit of processes or memory that the CLI has exceeded. */
  onLimit: (reason: string) => void;
  /** Stops the CLI, because a program outside has replaced a protected path. */
  onGuardLost: (message: string) => void;
};

/** Runs the CLI in its sandbox. Resolves when it has exited; rejects when it can't be started. */
async function startCli({ deps, input, context }: CliTurn, run: CliRun): Promise<CliExit> {
  const { adapter } = deps;
  const { launch, program, access, parser, dialogue } = run;
  prepareConfigDir(adapter, launch);
  if (adapter.signIn?.linkedAs !== undefined) linkConfigFile(launch.configDir, adapter.signIn.linkedAs, access.signInFile);
  const own = moveLoaderVariables({ ...adapter.env(launch), ...launch.servers.values, ...input.env });
  const user = moveLoaderVariables(cliEnvironment(deps.env, access));
  const { command, env, limits, watchGuards } = await deps.sandboxCommand(input, {
    command: [...user.args, ...own.args, program.path, ...adapter.args(launch)],
    // A link that a tool made could lead to a secret.
    readable: program.isTrusted ? [packageOf(program.path)] : [],
    writable: [launch.configDir, ...(access.signInFile === null ? [] : [access.signInFile])],
    port: access.port,
  });
  // The sandbox has a better tag for its processes than the rlimit that libc sets.
  const libc = access.isSandboxed ? null : await loadLibc();
  const exit = runCli({
    command,
    cwd: input.directory,
    portReceiver: access.portReceiver,
    stdin: dialogue?.stdin ?? adapter.stdin?.(launch) ?? null,
    env: {
      ...user.env,
      ...env,
      ...own.env,
      SKEIN_SESSION_ID: input.session,
    },
    signal: dialogue?.signal ?? run.signal,
    gate: run.pauseGate,
    libc,
    ...(limits === undefined ? {} : { limits: { values: limits, onExceeded: run.onLimit } }),
    logs: input.logs === null ? null : `${input.logs}.${adapter.name}`,
    onLine: (line, isCut) => parser.line(line, isCut),
    onOutput: context.keepAlive,
  });
  access.warmUp();
  const endWatch = watchGuards?.(run.onGuardLost);
  return exit.finally(() => endWatch?.());
}

function concludeRun({ deps, input, emit }: CliTurn, run: CliRun, exit: CliExit, stopped: CliEvidence["stopped"]): CliOutcome {
  const { adapter } = deps;
  const { launch, access, parser } = run;
  const usedModel = substitutedModel(launch.model, access);
  if (usedModel !== null) warn(emit, `${adapter.name} used model ${usedModel} instead of ${launch.model}`);
  const log = input.logs === null ? null : `${input.logs}.${adapter.name}.stdout.log`;
  const evidence: CliEvidence = { ...parser.evidence(), ...exit, adapter, stopped, vendorError: access.lastError(), log, now: Date.now() };
  if (adapter.endsByExit && exit.exitCode === 0) evidence.done ??= {};
  const model = parser.answeredModel();
  const end: TurnEnd = {
    ...judgeEnding(evidence),
    ...(model === null ? {} : { model }),
    cli: cliRecord(adapter, run, exit),
    spentOutsideNodes: parser.unassignedUsage(),
  };
  const message = `${end.error?.message ?? ""}\n${exit.stderr}`;
  const isSessionLost =
    launch.start.how !== "new" && parser.answers === 0 && (adapter.sessionLost.test(message) || exitedAtOnce(end, exit, access));
  return { end, isSessionLost };
}

/** True if the CLI failed before any output or request. Its message is unknown to us, so its session may be the cause. */
function exitedAtOnce({ status }: TurnEnd, { lines, exitCode }: CliExit, access: VendorAccess): boolean {
  return status === "broken" && lines === 0 && exitCode !== 0 && exitCode !== null && access.requestStats()?.begun === 0;
}

/** Leaves out the prompt and the role, which are in the tree, and the gateway's endpoint with its token. */
function cliRecord(adapter: Adapter, { launch, program, parser }: CliRun, exit: CliExit): CliRecord {
  const redacted = { ...launch, prompt: "<prompt>", role: launch.role === null ? null : "<role>", endpoint: null };
  return {
    version: parser.version ?? (program.isTrusted ? packageVersion(program.path) : null),
    argv: [adapter.program, ...adapter.args(redacted)],
    started: launch.start.how,
    exitCode: exit.exitCode,
    signal: exit.signal,
    bytes: exit.bytes,
    firstEventMs: exit.firstLineMs === null ? null : Math.round(exit.firstLineMs),
  };
}

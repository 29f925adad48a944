// A turn taken by another agent's command line: found, started behind our walls with its own configuration, read
// live, and judged. The adapter knows the CLI; this knows how any of them becomes nodes and an ending.
import { type PauseGate as Barrier, createGateBehind } from "../../../kit/flow/pause-gate.ts";
import { loadLibc } from "../../../kit/process/libc.ts";
import { Fault, messageOf, type TurnError } from "../../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../../protocol/api/policy.ts";
import type { Agent, TurnCheckInput, PreviewInput, Preview, TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import type { CliRecord, NativeStart, TurnEnd } from "../../../protocol/tree/turn.ts";
import type { Adapter, CliLaunch } from "../adapters/adapter.ts";
import { checkAgentArgs } from "../adapters/agent-args.ts";
import { promptWithBrief } from "./brief.ts";
import { agentConfigDir, createLaunch, lastPrompt } from "./launch.ts";
import { adapterVendor } from "../credentials/credentials.ts";
import { judgeEnding, type CliEvidence } from "./ending.ts";
import {
  enforcedWithAccess,
  cliEnvironment,
  type VendorAccess,
  type VendorAccessDeps,
  openVendorAccess,
} from "../credentials/vendor-access.ts";
import { linkConfigFile, prepareConfigDir } from "../process/config-files.ts";
import { packageOf, packageVersion } from "../process/program.ts";
import { openAsksForLater, type CliQuestion } from "../adapters/questions.ts";
import { substitutedModel, OutputParser } from "./output-parser.ts";
import { type CliExit, runCli } from "../process/run-cli.ts";
import { type Emit, streamTurn } from "../../stream-turn.ts";
import { startDialogue, type RunningDialogue } from "../configured/dialogue.ts";

export type ExternalAgentDeps = {
  adapter: Adapter;
  /** The user's environment; only what tools may see is passed on. */
  env: Record<string, string | undefined>;
  /** Absolute path of a program; null when it is not installed. */
  find: (program: string) => string | null;
  /** Below it each tree has a configuration directory of its own. */
  configRoot: string;
  /** The words that start a command behind the walls of this turn, and what its environment gains. */
  sandboxCommand: (turn: TurnInput, request: SandboxRequest) => { command: string[]; env: Record<string, string> };
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  vendorAccess: VendorAccessDeps;
};

export type SandboxRequest = {
  command: string[];
  /** Besides what the policy says. */
  readable: string[];
  writable: string[];
  /** The one that stays open when the network is off. */
  port: number | null;
};

export function externalAgent(deps: ExternalAgentDeps): Agent {
  const { adapter } = deps;
  return {
    name: adapter.name,
    takesTasks: true,
    ...(adapter.resumes === false ? {} : { native: { canFork: adapter.canFork } }),
    check: async (turn) => checkTurn(deps, turn),
    preview: async (input) => preview(input),
    takeTurn: (input, context) => streamTurn((emit) => runWithRetry(deps, input, context, emit), failedEnd),
    enforced: async (policy, model) => enforcedWithAccess(deps.vendorAccess, adapter, policy, model, await deps.enforced(policy)),
  };
}

function checkTurn({ adapter, find }: ExternalAgentDeps, turn: TurnCheckInput): void {
  checkAgentArgs(adapter, turn.agentArgs);
  adapter.check?.(turn);
  if (find(adapter.program) === null) throw notInstalled(adapter);
  if (turn.answerSchema !== null) throw new Fault("usage", `--json-schema needs the native agent; ${adapter.name} answers in its own way`);
  if (turn.tools !== null) throw new Fault("usage", `--tools needs the native agent; ${adapter.name} has tools of its own`);
  if (turn.toolLevel === "none")
    throw new Fault("usage", `--tool-level none needs the native agent; ${adapter.name} has tools of its own`, {
      hint: "--policy readonly lets it change nothing",
    });
  if (turn.images.length > 0)
    throw new Fault("usage", `--image needs the native agent; ${adapter.name} is sent text`, { hint: "name the file in the task" });
}

function notInstalled(adapter: Adapter): Fault {
  return new Fault("not-installed", `${adapter.name} is not installed: there is no ${adapter.program} in PATH`, { hint: adapter.install });
}

/** What it would be sent if it had to be told everything; the task that is still to come is missing at the end. */
function preview(input: PreviewInput): Preview {
  const isAsked = input.path.at(-1)?.author === "user";
  const text = promptWithBrief(isAsked ? input.path.slice(0, -1) : input.path, isAsked ? lastPrompt(input.path) : "").trimEnd();
  const tokens = Math.ceil(text.length / 4);
  return {
    model: input.model,
    system: "",
    tools: [],
    messages: [{ role: "user", text, tokens }],
    tokens: { system: 0, tools: 0, messages: tokens },
    body: null,
  };
}

function failedEnd(error: unknown): TurnEnd {
  const kind =
    error instanceof Fault && (error.code === "not-installed" || error.code === "auth" || error.code === "sandbox-unavailable")
      ? error.code
      : "broken";
  const hint = error instanceof Fault ? error.hint : undefined;
  return { status: kind, error: { kind, message: messageOf(error), ...(hint === undefined ? {} : { hint }) } };
}

/** A session of its own that can't be resumed is given up for a fresh one that is told everything. */
async function runWithRetry(deps: ExternalAgentDeps, input: TurnInput, context: TurnContext, emit: Emit): Promise<TurnEnd> {
  const program = deps.find(deps.adapter.program);
  if (program === null) throw notInstalled(deps.adapter);
  const first = await runOnce(deps, input, context, emit, { program, native: input.native });
  if (input.native === null || !first.isLost) return first.end;
  warn(emit, `${deps.adapter.name} could not go on in its own session; it starts a fresh one with a brief`);
  return (await runOnce(deps, input, context, emit, { program, native: null })).end;
}

function warn(emit: Emit, message: string): void {
  emit({ type: "passing", event: { type: "warning.raised", message } });
}

type Try = { program: string; native: NativeStart | null };

async function runOnce(
  deps: ExternalAgentDeps,
  input: TurnInput,
  context: TurnContext,
  emit: Emit,
  { program, native }: Try,
): Promise<{ end: TurnEnd; isLost: boolean }> {
  const { adapter } = deps;
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  let stopped: TurnError | null = null;
  const stopFor = (error: TurnError) => {
    stopped ??= error;
    stop.abort();
  };
  let asking: ReturnType<typeof openAsksForLater> | null = null;
  const onQuestions = (questions: CliQuestion[]) => {
    if (!context.canAsk) return;
    asking ??= openAsksForLater(context, questions);
    stop.abort();
  };
  const pauseGate = createGateBehind(context.registerPausable);
  const gate = await openVendorAccess(deps.vendorAccess, adapter, input, {
    signal,
    pauseGate,
    ready: context.keepFiles(),
    configDir: agentConfigDir(deps, input),
    nativeSession: native?.id ?? null,
    budget: context,
    onBudgetUsedUp: stopFor,
    onBytes: context.keepAlive,
    onWait: (message) => warn(emit, message),
  });
  try {
    const launch = createLaunch(deps, input, native, gate);
    const talk = startDialogue(adapter, launch, signal);
    const reading = new OutputParser({
      adapter,
      reader: talk?.reader,
      start: launch.start,
      vendor: adapterVendor(adapter, input.model).vendor,
      input,
      context,
      emit,
      gate,
      onFlood: stopFor,
      onQuestions,
    });
    const handles = { signal, pauseGate, dialogue: talk, parser: reading, onOutput: context.keepAlive };
    const exit = await start(deps, input, launch, program, gate, handles);
    await reading.finish();
    stopped ??= await asking;
    const other = substitutedModel(launch.model, gate);
    if (other !== null) warn(emit, `${adapter.name} was told to ask ${launch.model} and asked ${other} instead`);
    const seen: CliEvidence = {
      ...reading.seen(),
      adapter,
      ...{ exitCode: exit.exitCode, signal: exit.signal, stderr: exit.stderr, lines: exit.lines },
      stopped: stopped ?? (context.signal.aborted ? "cancelled" : null),
      vendorError: gate.lastError(),
    };
    if (adapter.endsByExit && exit.exitCode === 0) seen.done ??= { isError: false };
    const cli = recordOf(adapter, launch, program, exit, reading.version);
    const end: TurnEnd = { ...judgeEnding(seen), cli, rest: reading.rest() };
    const isLost =
      native !== null &&
      reading.answers === 0 &&
      (adapter.isSessionLost?.(`${end.error?.message ?? ""}\n${exit.stderr}`) === true || isRefused(end, exit, gate));
    return { end, isLost };
  } finally {
    await gate.close();
  }
}

/** It left before it said or asked anything: in words that we don't know, its session may be what was wrong. */
function isRefused({ status }: TurnEnd, { lines, exitCode }: CliExit, access: VendorAccess): boolean {
  return status === "broken" && lines === 0 && exitCode !== 0 && exitCode !== null && access.requestStats()?.begun === 0;
}

type RunHandles = { signal: AbortSignal; pauseGate: Barrier; dialogue: RunningDialogue | null; parser: OutputParser; onOutput: () => void };

async function start(
  deps: ExternalAgentDeps,
  input: TurnInput,
  launch: CliLaunch,
  program: string,
  access: VendorAccess,
  { signal, pauseGate, dialogue: talk, parser: reading, onOutput: alive }: RunHandles,
): Promise<CliExit> {
  const { adapter } = deps;
  prepareConfigDir(adapter, launch);
  if (adapter.signIn?.place !== undefined) linkConfigFile(launch.configDir, adapter.signIn.place, access.file?.path ?? null);
  const wish = {
    command: [program, ...adapter.args(launch)],
    readable: [packageOf(program)],
    writable: [launch.configDir, ...(access.file === null ? [] : [access.file.path])],
    port: access.port,
  };
  const { command, env } = deps.sandboxCommand(input, wish);
  // Behind walls there is a better mark.
  const libc = access.isSandboxed ? null : await loadLibc();
  const running = runCli({
    command,
    cwd: input.directory,
    passed: access.offer === null ? null : { file: access.offer.childEnd, started: access.offer.started },
    stdin: talk?.stdin ?? adapter.stdin?.(launch) ?? null,
    env: {
      ...cliEnvironment(deps.env, access),
      ...env,
      ...adapter.env(launch),
      ...input.env,
      SKEIN_SESSION_ID: input.session,
    },
    signal: talk?.signal ?? signal,
    gate: pauseGate,
    libc,
    logs: input.logs === null ? null : `${input.logs}.${adapter.name}`,
    onLine: (line, isCut) => reading.line(line, isCut),
    onOutput: alive,
  });
  access.warmUp();
  return running;
}

/** Without the prompt and the role, which are in the tree, and without anything that came from the gate. */
function recordOf(adapter: Adapter, launch: CliLaunch, program: string, exit: CliExit, version: string | null): CliRecord {
  const shown = { ...launch, prompt: "<prompt>", role: launch.role === null ? null : "<role>", endpoint: null };
  return {
    version: version ?? packageVersion(program),
    argv: [adapter.program, ...adapter.args(shown)],
    started: launch.start.how,
    exitCode: exit.exitCode,
    signal: exit.signal,
    bytes: exit.bytes,
    firstEventMs: exit.firstLineMs === null ? null : Math.round(exit.firstLineMs),
  };
}

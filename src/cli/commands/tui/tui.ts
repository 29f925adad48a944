// skein tui: opens the full screen for the current project; `skein` without arguments does the same. Only this file
// loads the screen.
import { join } from "node:path";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { createProgramSearch } from "../../../kit/process/trusted-programs.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { refuseArchived } from "../../../protocol/api/archived.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import type { Api, Settings, TurnStartParams } from "../../../protocol/api/api.ts";
import type { Policy, PolicyName, SandboxMode } from "../../../protocol/api/policy.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Command, CommandContext } from "../../parse/command.ts";
import { saveCrashReport } from "../../print/crash-report.ts";
import { editorFrom, runEditor } from "../../terminal/editor.ts";
import { resolvePolicy, type PolicyFlagValues } from "../run/policy-flags.ts";
import type { HubTarget } from "./connect-hub.ts";
import { readImage } from "../run/read-image.ts";
import { fileNameOf, historyFile, openHistory } from "../../line-editor/history.ts";
import { stripControls } from "../../terminal/style.ts";
import { runFlagGroups } from "../run/run-flags.ts";
import { readGitBranch } from "./git-branch.ts";
import { tuiFlags } from "./tui-flags.ts";
import { editText } from "./edit-text.ts";
import { openUnsentStore } from "./unsent-store.ts";
import { usesScreenReader, openChat } from "../run/chat.ts";
import { readFlags, loadRole, buildSessionOpen, buildTurn, type Flags } from "../run/run.ts";

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 };

export const tui: Command = {
  name: "tui",
  summary: "work in a full screen: transcript, composer and status bar",
  usage: "[session] [--new] [--hub auto|url] [flags]",
  positionals: { min: 0, max: 1 },
  flags: tuiFlags,
  flagGroups: runFlagGroups,
  notes: `In a terminal \`skein\` without arguments does the same. So does \`skein\` with flags of
this command only (\`skein -m opus\`), and with a task, which it sends (\`skein "fix the
tests"\`). The screen shows the project's current session, or starts one with the
first message. docs/KEYS.md lists the keys; /help shows them.`,
  async run(args, ctx) {
    const flags = readFlags(args, ctx);
    const query = args.positionals[0] ?? flags.text("resume") ?? undefined;
    for (const other of ["inline", "hub"])
      if (flags.on("screen-reader") && args.flags[other] !== undefined)
        throw new Fault("usage", `--${other} and --screen-reader exclude each other`);
    const chosen = [args.positionals[0], args.flags["resume"], args.flags["continue"], args.flags["new"]].filter(
      (given) => given !== undefined,
    );
    if (chosen.length > 1) throw new Fault("usage", "a session, --resume, --continue and --new exclude each other");
    const task = flags.text("task");
    if (task !== null && flags.on("resume"))
      throw new Fault("usage", "a task needs the session it is for", {
        hint: '`skein list` shows the sessions; skein -r <session> "task"',
      });
    const hub = flags.text("hub");
    if (hub !== null) (await import("./connect-hub.ts")).checkHubTarget(hub);
    return openTui(flags, ctx, {
      query,
      task,
      isNew: flags.on("new") || ((task !== null || flags.worktree !== null) && chosen.length === 0),
    });
  },
};

/** Opens a session in the screen with default flags. */
export function showInTui(ctx: CommandContext, query: string | undefined): Promise<number> {
  return openTui(readFlags({ positionals: [], flags: {} }, ctx), ctx, { query, task: null, isNew: false });
}

type TuiStart = {
  /** The session to show; undefined is the current one. */
  query: string | undefined;
  /** Sent as the first message. */
  task: string | null;
  isNew: boolean;
};

async function openTui(flags: Flags, ctx: CommandContext, { query, task, isNew }: TuiStart): Promise<number> {
  if (!ctx.stdin.isTty || !ctx.out.isTty || (ctx.env["TERM"] === "dumb" && !flags.on("screen-reader")))
    throw new Fault("usage", "the screen needs a terminal", { hint: "`skein run` and `skein chat` work without one" });
  refuseNesting(ctx.enclosingSession());
  const { directory, trust } = flags;
  const hubAddress = flags.text("hub");
  const hub = hubAddress === null ? null : createHubConnector(ctx, { at: hubAddress, directory, trust });
  const api = await (hub?.connect({ start: true }) ?? ctx.api({ ...(trust === null ? {} : { trust }), cwd: directory }));
  const settings = await api.config.values();
  if (hub === null && usesScreenReader(flags, settings, ctx)) {
    if (flags.on("resume")) throw new Fault("usage", "--resume needs a session", { hint: "`skein list` shows them" });
    return openChat(flags, ctx, { session: (await findInitialSession(query))?.id, task });
  }
  const turn = { ...buildTurn(flags, settings, ctx), asks: { how: "wait", limitMs: null } as const };
  const policies = createPolicies(flags.policy, settings, turn);
  const open = buildSessionOpen(flags, settings, null, { toolLevel: turn.toolLevel, role: await loadRole(api, flags) });
  const session = await findInitialSession(query);
  const agent = turn.agent ?? session?.agent ?? open.agent;
  const problem = await findProblem(() => api.turn.check({ ...turn, agent, isNew: session === null, directory }));
  if (problem !== null && task !== null) throw problem.fault;
  const project = ctx.projectOf(directory);
  const local = createLocal(ctx, directory, (await api.config.paths()).state);
  const { openScreen } = await loadScreen();
  const running = new Map<string, Session>();
  let lastSession: Session | null = session;
  let signal: keyof typeof exitCodes | null = null;
  const onStop = (stop: () => void) =>
    ctx.onStop((received) => {
      signal = received;
      stop();
    });
  const editor = createEditor(ctx, directory, turn.policy);
  try {
    const exitSignal = await openScreen({
      api,
      directory,
      project,
      turn,
      policies,
      open,
      session,
      settings,
      local,
      running,
      editor,
      onStop,
      home: ctx.home,
      version: ctx.version,
      problem,
      env: ctx.env,
      color: ctx.out.color,
      suspend: ctx.suspend,
      connectHub: hub?.connect ?? null,
      isInline: flags.on("inline"),
      isChoosing: flags.on("resume"),
      task,
      isPolicyNamed: flags.policy.name !== null,
      onSession: (current) => (lastSession = current),
    });
    signal = exitSignal ?? signal;
  } catch (error) {
    throw error instanceof Fault ? error : saveCrashReport(error, ctx);
  } finally {
    await hub?.close();
    printUnsent(local.unsent, ctx);
    const command = hubAddress === null ? "skein -r" : `skein tui --hub ${hubAddress}`;
    printSessions({ lastSession, stopped: hubAddress === null ? running : new Map(), command }, ctx);
  }
  return signal === null ? 0 : exitCodes[signal];

  async function findInitialSession(idOrName: string | undefined): Promise<Session | null> {
    if (idOrName === undefined) return isNew ? null : api.session.current({ directory });
    const found = await api.session.find({ wanted: idOrName, directory });
    refuseArchived(found);
    return found;
  }
}

/** Resources of this machine: unsent messages, history, the git branch, images and exported files. */
function createLocal(ctx: CommandContext, directory: string, state: string) {
  return {
    unsent: openUnsentStore(join(ctx.state, "unsent", fileNameOf(ctx.projectOf(directory)))),
    history: openHistory(historyFile(state, ctx.project)),
    readBranch: () => readGitBranch(ctx.projectOf(directory)),
    readImage: (path: string) => readImage(absolutePath(path, { cwd: directory, home: ctx.home })),
    async exportBranch({ api, session, file }: { api: Api; session: Session; file: string }): Promise<string> {
      const view = await api.session.tree({ session: session.id });
      const branch = { api, session: view.sessions.find(({ id }) => id === session.id) ?? session, view };
      await (await import("../../repl/export-branch.ts")).writeBranch(branch, file, { ctx, directory });
      return file;
    },
  };
}

/** The user's editor. It is looked up only where the tools of the turns can't write. */
function createEditor(ctx: CommandContext, directory: string, { addDirs, allowWrite }: Policy) {
  const { env, home } = ctx;
  const directories = [ctx.projectOf(directory), directory];
  const programs = createProgramSearch({ env, home, directories, writable: [...addDirs, ...allowWrite] });
  const edit = (command: string, file: string) => ctx.lendTerminal(() => runEditor(command, file, { env, cwd: directory, programs }));
  return {
    command: () => editorFrom({ env, cwd: directory, programs }),
    edit,
    editText: (command: string, text: string) => editText(ctx.state, text, (file) => edit(command, file)),
  };
}

type TurnProblem = { text: string; hint: string | null; fault: Fault };

/** A missing key is shown on the first screen, where another agent can be chosen. Other faults are thrown. */
async function findProblem(check: () => Promise<unknown>): Promise<TurnProblem | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "auth") throw error;
    return { text: error.message, hint: error.hint ?? null, fault: error };
  }
}

function printUnsent({ isSaved, problem }: ReturnType<typeof openUnsentStore>, { err }: CommandContext): void {
  const reason = problem();
  if (reason !== null) err.write(`The unsent message could not be saved: ${reason}\n`);
  else if (isSaved()) err.write("The unsent message is saved: the next `skein` in this project has it.\n");
}

type ClosedSessions = { lastSession: Session | null; stopped: ReadonlyMap<string, Session>; command: string };

/** Prints the sessions whose turns were stopped, and the command to resume each. The visible session comes last. */
function printSessions({ lastSession, stopped, command }: ClosedSessions, { err }: CommandContext): void {
  for (const { id, name, task } of stopped.values())
    if (id !== lastSession?.id)
      err.write(`Stopped: ${oneLine(stripControls(name ?? task ?? "a turn"), 60)}. Resume with: ${command} ${shortId(id)}\n`);
  if (lastSession === null) return;
  err.write(
    `Session saved${stopped.has(lastSession.id) ? ", its turn stopped" : ""}. Resume with: ${command} ${shortId(lastSession.id)}\n`,
  );
}

/** Connects to the hub, again after a lost connection. `close` closes the last connection. */
function createHubConnector(ctx: CommandContext, target: HubTarget) {
  let current: Api | null = null;
  return {
    connect: async (options: { start: boolean }): Promise<Api> =>
      (current = await (await import("./connect-hub.ts")).connectHubAt(ctx, target, options)),
    close: async (): Promise<void> => current?.close(),
  };
}

/** The policies between which the user can change on the screen. They exist whatever policy it was opened with. */
function createPolicies(flags: PolicyFlagValues, settings: Settings, { policy, toolLevel }: Pick<TurnStartParams, "policy" | "toolLevel">) {
  // A sandbox can be off only under policy full, and none of these policies is full.
  const withSandbox = (mode: SandboxMode | null) => (mode === "off" ? null : mode);
  const policyNamed = (name: PolicyName): Policy =>
    policy.name === name
      ? policy
      : resolvePolicy(
          { ...flags, name, sandbox: withSandbox(flags.sandbox) },
          { ...settings, sandbox: withSandbox(settings.sandbox) },
          toolLevel,
        );
  const readonly = policyNamed("readonly");
  const workspace = toolLevel === "readonly" ? readonly : policyNamed("workspace");
  return { act: policy.name === "plan" ? workspace : policy, plan: policyNamed("plan"), readonly, workspace };
}

async function loadScreen() {
  try {
    return await import("../../../tui/app.ts");
  } catch (error) {
    throw new Fault("not-installed", `the screen can't be loaded: ${messageOf(error)}`, {
      hint: "`skein chat` works without it",
      cause: error,
    });
  }
}

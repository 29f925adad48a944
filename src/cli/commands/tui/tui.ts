// skein tui: the full screen in the current project, and `skein` alone in a terminal. The screen is loaded only here.
import { join } from "node:path";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import type { Api, Settings, TurnStartParams } from "../../../protocol/api/api.ts";
import type { Policy, PolicyName } from "../../../protocol/api/policy.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { configuredPolicy } from "../../../protocol/api/turn-options.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { saveCrashReport } from "../../print/crash-report.ts";
import { editorFrom, runEditor } from "../../terminal/editor.ts";
import type { PolicyFlagValues } from "../run/policy-flags.ts";
import type { HubTarget } from "./connect-hub.ts";
import { readImage } from "../run/read-image.ts";
import { fileNameOf, historyFile, openHistory } from "../../line-editor/history.ts";
import { runFlags } from "../run/run-flags.ts";
import { stripControls } from "../../terminal/style.ts";
import { openUnsentStore } from "./unsent-drafts.ts";
import { usesScreenReader, screenReaderFlag, openChat } from "../run/chat.ts";
import { readFlags, loadRole, buildSessionOpen, buildTurn } from "../run/run.ts";

const taken = new Set(["model", "agent", "role", "policy", "sandbox", "net", "max-budget-usd", "cd", "trust", "no-trust"]);

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 };

export const tui: Command = {
  name: "tui",
  summary: "work in a full screen: transcript, composer and status bar",
  usage: "[session] [--new] [--hub auto|url] [flags]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "inline", summary: "no screen of its own: what is finished scrolls away in the terminal, the rest stays at its end" },
    screenReaderFlag,
    { name: "new", summary: "begin a new session instead of going on with the project's current one" },
    {
      name: "hub",
      value: "auto|url",
      summary: "turns run in the hub and outlive the screen; auto starts the hub of this machine if need be",
    },
    ...runFlags.filter((flag) => taken.has(flag.name)),
  ],
  notes: `\`skein\` alone in a terminal does the same. It shows the project's current session, or
begins one with the first message. docs/KEYS.md has its keys; in it, ? shows them.`,
  run: runTui,
};

async function runTui(args: Args, ctx: CommandContext): Promise<number> {
  const flags = readFlags(args, ctx);
  const [wanted] = args.positionals;
  for (const other of ["inline", "hub"])
    if (flags.on("screen-reader") && args.flags[other] !== undefined)
      throw new Fault("usage", `--${other} and --screen-reader exclude each other`);
  if (wanted !== undefined && flags.on("new")) throw new Fault("usage", "a session and --new exclude each other");
  const hub = flags.text("hub");
  if (hub !== null) (await import("./connect-hub.ts")).checkHubTarget(hub);
  return openTui(flags, ctx, wanted);
}

/** A session in the screen, with nothing else asked for. */
export function showInTui(ctx: CommandContext, wanted: string | undefined): Promise<number> {
  return openTui(readFlags({ positionals: [], flags: {} }, ctx), ctx, wanted);
}

async function openTui(flags: ReturnType<typeof readFlags>, ctx: CommandContext, wanted: string | undefined): Promise<number> {
  if (!ctx.stdin.isTty || !ctx.out.isTty || (ctx.env["TERM"] === "dumb" && !flags.on("screen-reader")))
    throw new Fault("usage", "the screen needs a terminal", { hint: "`skein run` and `skein chat` work without one" });
  refuseNesting(ctx.enclosingSession());
  const { directory, trust } = flags;
  const at = flags.text("hub");
  const hub = at === null ? null : hubFrom(ctx, { at, directory, trust });
  const api = await (hub?.reach({ start: true }) ?? ctx.api({ ...(trust === null ? {} : { trust }), cwd: directory }));
  const settings = await api.config.values();
  if (hub === null && usesScreenReader(flags, settings, ctx)) return openChat(flags, ctx, (await sessionFor(wanted))?.id);
  const turn = { ...buildTurn(flags, settings, ctx), asks: { how: "wait", limitMs: null } as const };
  const policies = policiesFrom(flags.policy, settings, turn);
  const open = buildSessionOpen(flags, settings, null, { toolLevel: turn.toolLevel, role: await loadRole(api, flags) });
  const session = await sessionFor(wanted);
  await api.turn.check({ ...turn, agent: turn.agent ?? session?.agent ?? open.agent, isNew: session === null, directory });
  const project = ctx.projectOf(directory);
  const own = {
    unsent: openUnsentStore(join(ctx.state, "unsent", fileNameOf(project))),
    history: openHistory(historyFile((await api.config.paths()).state, ctx.project)),
    readImage: (path: string) => readImage(absolutePath(path, { cwd: directory, home: ctx.home })),
  };
  const { openScreen } = await loadScreen();
  const running = new Map<string, Session>();
  let last: Session | null = session;
  let signal: keyof typeof exitCodes | null = null;
  try {
    const onStop = (stop: () => void) =>
      ctx.onStop((by) => {
        signal = by;
        stop();
      });
    const onSession = (shown: Session) => void (last = shown);
    const { color } = ctx.out;
    const parts = {
      ...awayFrom(ctx, directory),
      api,
      directory,
      project,
      home: ctx.home,
      turn,
      policies,
      open,
      session,
      color,
      settings,
      local: own,
      running,
      connectHub: hub?.reach ?? null,
      env: ctx.env,
      isInline: flags.on("inline"),
      onSession,
      onStop,
    };
    signal = (await openScreen(parts)) ?? signal;
  } catch (error) {
    throw error instanceof Fault ? error : saveCrashReport(error, ctx);
  } finally {
    await hub?.leave();
    tellUnsent(own.unsent, ctx);
    tellSessions({ last, stopped: at === null ? running : new Map(), way: at === null ? "skein tui" : `skein tui --hub ${at}` }, ctx);
  }
  return signal === null ? 0 : exitCodes[signal];

  async function sessionFor(name: string | undefined): Promise<Session | null> {
    if (name !== undefined) return api.session.find({ wanted: name, directory });
    return flags.on("new") ? null : api.session.current({ directory });
  }
}

function tellUnsent({ isKept, problem }: ReturnType<typeof openUnsentStore>, { err }: CommandContext): void {
  const why = problem();
  if (why !== null) err.write(`What was typed and not sent could not be kept: ${why}\n`);
  else if (isKept()) err.write("What was typed and not sent is kept: the next skein tui in this project has it.\n");
}

type LeftSessions = { last: Session | null; stopped: ReadonlyMap<string, Session>; way: string };

/** Which turns end with the screen, and how each session goes on; the one that was shown comes last. */
function tellSessions({ last, stopped, way }: LeftSessions, { err }: CommandContext): void {
  for (const { id, name, task } of stopped.values())
    if (id !== last?.id) err.write(`Stopped: ${oneLine(stripControls(name ?? task ?? "a turn"), 60)}. Go on with: ${way} ${shortId(id)}\n`);
  if (last === null) return;
  err.write(`Session saved${stopped.has(last.id) ? ", its turn stopped" : ""}. Resume with: ${way} ${shortId(last.id)}\n`);
}

/** The hub, as often as it has to be found again; left once. */
function hubFrom(ctx: CommandContext, wish: HubTarget) {
  let current: Api | null = null;
  return {
    reach: async (how: { start: boolean }): Promise<Api> =>
      (current = await (await import("./connect-hub.ts")).connectHubAt(ctx, wish, how)),
    leave: async (): Promise<void> => current?.close(),
  };
}

/** How turns are taken that act, and those that plan: each is asked for by a key, however the screen was opened. */
function policiesFrom(wish: PolicyFlagValues, settings: Settings, { policy, toolLevel }: Pick<TurnStartParams, "policy" | "toolLevel">) {
  const held = { ...settings, sandbox: settings.sandbox === "off" ? null : settings.sandbox };
  const as = (name: PolicyName): Policy => {
    const { sandbox, net, ...usual } = configuredPolicy(held, name);
    return { ...usual, sandbox: wish.sandbox === "off" ? sandbox : (wish.sandbox ?? sandbox), net: wish.net ?? net, addDirs: wish.addDirs };
  };
  return { act: policy.name === "plan" ? as(toolLevel === "readonly" ? "readonly" : "workspace") : policy, plan: as("plan") };
}

function awayFrom(ctx: CommandContext, directory: string) {
  const editor = {
    command: () => editorFrom(ctx.env),
    edit: (command: string, file: string) => ctx.lendTerminal(() => runEditor(command, file, { env: ctx.env, cwd: directory })),
  };
  return { editor, suspend: ctx.suspend };
}

async function loadScreen() {
  try {
    return await import("../../../tui/app.ts");
  } catch (error) {
    throw new Fault("not-installed", `the screen can't be loaded: ${messageOf(error)}`, {
      hint: "`skein chat` talks without it",
      cause: error,
    });
  }
}

// Implements the Api on top of the store and the agents. Only the engine writes to the store and publishes events.
import type { TurnError } from "../protocol/api/error.ts";
import type { Clock } from "../kit/flow/clock.ts";
import { lazy, once } from "../kit/flow/lazy.ts";
import type { Api } from "../protocol/api/api.ts";
import { protocolVersion, type PendingTurn } from "../protocol/api/control.ts";
import type { ListFilesParams, ListFilesResult } from "../protocol/tree/file-changes.ts";
import type { AgentTranscripts } from "../protocol/transcripts/agent-transcript.ts";
import type { CommitLog, CommitNotes } from "../protocol/tree/history.ts";
import type { ImportedTree, ImportFormat, ImportSource } from "../protocol/tree/import.ts";
import type { Turn } from "../protocol/tree/turn.ts";
import type { HookEvent } from "../protocol/hooks/hook-event.ts";
import type { EnclosingSession } from "../protocol/api/policy.ts";
import type { Node } from "../protocol/tree/node.ts";
import type { Agent, CommandRunner, ProjectGuards, Snapshots, TeamDirectories } from "../protocol/api/ports.ts";
import type { RoleList } from "../protocol/api/role.ts";
import { bareTurn } from "../protocol/api/turn-options.ts";
import type { Session } from "../protocol/tree/turn.ts";
import type { SessionWorktrees } from "../protocol/worktree/ports.ts";
import type { Store } from "../store/store.ts";
import { callOwner } from "./control/owner.ts";
import { watchSession } from "./control/watch.ts";
import type { RunningTurns } from "./turn/running-turns.ts";
import { checkTurn } from "./turn/run-turn.ts";
import { createTurnStarter } from "./turn/start-turns.ts";
import { createRoleMethods } from "./turn/roles.ts";
import { currentSession, findSession, openSession, useSession } from "./turn/open-session.ts";
import { interruptedTurns } from "./record/recover.ts";
import { createUpkeep } from "./upkeep/daily-upkeep.ts";
import type { RetentionPort } from "./upkeep/retention.ts";

export type EngineDeps = {
  /** Opened on first use. */
  store: () => Promise<Store>;
  /** Whether a store exists. A method that only reads must not create one. */
  hasStore: () => boolean;
  agents: Agent[];
  /** All running turns of this process, also those of other engines in it. */
  running: RunningTurns;
  /** Connects to another process by the address in its leases. Throws if nothing listens there. */
  connect: (address: string) => Promise<Api>;
  version: string;
  startedAt: number;
  /** The session that this process was started in; null outside of any. */
  enclosingSession: () => EnclosingSession | null;
  /** Null in an ephemeral run. */
  snapshots: Snapshots | null;
  guards: ProjectGuards;
  /** Called for the turns of this process. Must return at once and not throw. Missing if the user has no hooks. */
  runHook?: (event: HookEvent) => void;
  /** Called for each turn of this process that has ended, sub-sessions included. Missing if traces are off. */
  traceTurn?: (turn: Turn) => void;
  /** Variables that link what a turn starts to its span. Missing if traces are off. */
  traceEnv?: (turn: Turn, traceparent: string | undefined) => Promise<Record<string, string>>;
  /** Runs the checks of turns. */
  runCommand: CommandRunner;
  /**
   * Resolves a name, a vendor or null to `vendor/id[:effort]`. Returns null if the agent uses its own default. Throws if no
   * model is available.
   */
  chooseModel: (agent: string, name: string | null) => Promise<string | null>;
  /** Accepts the name of an agent, of a vendor (native with that vendor), of a model that only one agent uses, or `auto`. */
  chooseAgent: (name: string, model: string | null) => Promise<{ agent: string; model: string | null }>;
  /** Agent and model of turns under policy `plan` that name neither. Missing: those of the session. */
  planner?: { agent: string | null; model: string | null };
  projectOf: (directory: string) => string;
  /** The project's current session, stored across invocations. */
  getCurrent: (project: string) => string | null;
  setCurrent: (project: string, session: string) => void;
  /** Creates the only file that policy `plan` may write, if it is missing. Throws if it can't. */
  ensurePlanFile: (project: string) => Promise<void>;
  /** The session that last wrote the project's plan; null if `file` is another file. */
  plannerOf: (project: string, file: string) => string | null;
  setPlanner: (project: string, session: string) => void;
  /** The path of a session's transcript; null in a run that writes none. */
  transcriptFor: (session: { id: string; project: string; transcriptDir: string | null; createdAt: number }) => Promise<string | null>;
  /** The path of the transcript if the first path can't be written. */
  fallbackTranscript: (session: Session) => string;
  copyTranscript: (session: Session, to: string) => Promise<void>;
  /** Finds files of a project by letters of their paths. */
  listFiles: (params: ListFilesParams) => Promise<ListFilesResult>;
  warn: (message: string) => void;
  /** Reads a transcript of skein or of another agent as sessions, turns and nodes. */
  readTranscript: (from: ImportSource, format: ImportFormat | "auto") => Promise<ImportedTree>;
  /** The transcripts that other agents keep on this machine. Absent in an ephemeral run. */
  agentTranscripts?: AgentTranscripts;
  /** Whether a session may work in the directory that a transcript of another agent names. The transcript is untrusted. */
  isWorkDirectory: (path: string) => Promise<boolean>;
  /** The roles that a turn in this directory can have. */
  roles: (directory: string) => Promise<RoleList>;
  teams: TeamDirectories;
  /** Null in an ephemeral run. */
  worktrees: SessionWorktrees | null;
  history: HistorySource;
  commitNotes: CommitNotes;
  /** Methods that belong to no session. */
  methods: Omit<Api, EngineMethods>;
  /** Absent in an ephemeral run, which stores nothing. */
  retention?: RetentionPort;
  /** The directory and trust of the process that starts turns here, stored with turns that start later. Null in an ephemeral run. */
  caller: PendingTurn["caller"] | null;
  /** Whether a later hub continues the turns of this process after it was killed. */
  continuesTurns: boolean;
  /** Called after a turn of this session became a pending turn. Makes sure that a hub runs; does not throw. */
  leaveToHub: (session: string) => Promise<void>;
  /** Absent in an ephemeral run. */
  limits?: KnownLimitsPort;
  /** The clock for time limits of turns and questions. Tests replace the system clock. */
  clock?: Clock;
  close: () => Promise<void>;
};

/** The limits of agents that this machine knows of. */
export type KnownLimitsPort = {
  /** Called after every turn. `error` is null for a turn that worked. */
  noteEnd: (agent: string, model: string | null, error: TurnError | null) => Promise<void>;
  /** The end of the agent's limit; null if none is known. */
  limitedUntil: (agent: string, model: string | null) => Promise<number | null>;
};

/** The groups of methods that the engine implements itself. */
type EngineMethods =
  | "ask"
  | "bash"
  | "branch"
  | "context"
  | "files"
  | "graft"
  | "handle"
  | "health"
  | "history"
  | "loop"
  | "node"
  | "race"
  | "roles"
  | "search"
  | "session"
  | "store"
  | "team"
  | "transcript"
  | "turn"
  | "usage"
  | "worktree"
  | "close";

export type HistorySource = {
  commits: (project: string) => Promise<CommitLog>;
  /** Replaces secrets in a text. */
  redact: (text: string) => string;
  /** Renders a prompt for a model that was not part of the conversation: the conversation as data, then the prompt. */
  promptWithBrief: (path: Node[], prompt: string) => Promise<string>;
};

/** Modules of methods. A run needs few of them, so each is loaded at its first call. Calls keep their order. */
const load = {
  tree: once(() => import("./tree/tree-ops.ts")),
  readTree: once(() => import("./tree/read-tree.ts")),
  boundedNodes: once(() => import("./tree/bounded-nodes.ts")),
  graft: once(() => import("./tree/graft.ts")),
  files: once(() => import("./files/files-methods.ts")),
  asks: once(() => import("./control/asks.ts")),
  steer: once(() => import("./control/steer.ts")),
  pause: once(() => import("./control/pause.ts")),
  pending: once(() => import("./pending/pending-turns.ts")),
};

export function createEngine(deps: EngineDeps): Api {
  const upkeep = createUpkeep(deps);
  const turns = createTurnStarter(deps, {
    onEnded: upkeep.start,
    runLoop: async (...args) => (await import("./loops/run-loop.ts")).runLoopOrTurn(...args),
  });
  let closing: Promise<void> | null = null;
  const close = async (how: "stop" | "finish"): Promise<void> => {
    await (how === "finish" ? turns.finishAll() : turns.stopAll());
    await upkeep.finish();
    await deps.close();
  };
  return {
    ...deps.methods,
    turn: {
      check: (params) => checkTurn(deps, params),
      start: turns.start,
      queue: async (params) => (await load.pending()).queueTurn(deps, params),
      pending: async (params) => (await load.pending()).listPending(deps, params),
      startPending: turns.startPending,
      withdraw: async (params) => (await load.pending()).withdrawTurn(deps, params),
      cancel: (params) => cancelTurn(deps, params),
      kill: async ({ session, ...options }) => (await import("./control/kill.ts")).killTurn(deps, session, options),
      watch: (params) => watchSession(deps, params),
      steer: async (params) => (await load.steer()).steer(deps, params),
      takeBack: async (params) => (await load.steer()).takeBack(deps, params),
      pause: async ({ session, force }) => (await load.pause()).pauseTurn(deps, session, { force }),
      resume: async ({ session }) => (await load.pause()).resumeTurn(deps, session),
      list: async ({ endedSince }) => (deps.hasStore() ? (await load.readTree()).listTurns(await deps.store(), endedSince) : []),
    },
    ask: {
      list: async (params) => (await load.asks()).listAsks(deps, params),
      answer: async (params) => (await load.asks()).answerAsk(deps, params),
    },
    bash: {
      execute: ({ session, command, timeoutMs, policy }) => turns.start({ ...bareTurn(session, policy), command, timeoutMs }),
    },
    health: { check: async () => healthOf(deps) },
    roles: createRoleMethods(deps),
    race: lazy(async () => (await import("./races/race-methods.ts")).createRaceMethods(deps)),
    team: lazy(async () => (await import("./teams/team-methods.ts")).createTeamMethods(deps)),
    worktree: lazy(async () => (await import("./worktrees/worktree-methods.ts")).createWorktreeMethods(deps)),
    session: {
      open: (params) => openSession(deps, params),
      list: async (params) => (deps.hasStore() ? (await load.readTree()).listSessions(await deps.store(), params) : []),
      tree: async ({ session, archived, brief }) => {
        const tree = await treeOf(await deps.store(), session, archived ?? false);
        return brief === true ? { ...tree, nodes: (await load.boundedNodes()).briefNodes(tree.nodes) } : tree;
      },
      show: async ({ session, maxChars }) => {
        const store = await deps.store();
        const view = await store.sessionView((await store.findSession(session, null)).id);
        return maxChars == null ? view : { ...view, nodes: (await load.boundedNodes()).endOfPath(view.nodes, maxChars) };
      },
      leaves: async ({ session }) => (await load.tree()).leavesOf((await treeOf(await deps.store(), session, true)).nodes),
      find: ({ wanted, directory }) => findSession(deps, wanted, directory),
      fork: async (params) => (await load.tree()).fork(deps, params),
      move: async (params) => (await load.tree()).move(deps, params),
      undo: async (params) => (await import("./tree/undo-turn.ts")).undoTurn(deps, params),
      redo: async (params) => (await import("./tree/undo-turn.ts")).redoTurn(deps, params),
      rename: async (params) => (await load.tree()).rename(deps, params),
      archive: async (params) => (await load.tree()).archive(deps, params),
      restore: async (params) => (await load.tree()).restore(deps, params),
      purge: async ({ session, olderThanMs, dryRun }) =>
        session === null
          ? (await import("./upkeep/retention.ts")).purgeExpired(deps, { olderThanMs, dryRun })
          : (await deps.store()).purge({ session, archivedBefore: Date.now() - olderThanMs, dryRun }),
      current: ({ directory }) => currentSession(deps, deps.projectOf(directory)),
      use: (params) => useSession(deps, params),
      catchUp: async (params) => (await import("./history/catch-up.ts")).catchUp(deps, params),
      describe: async (params) => (await import("./history/describe.ts")).describeSession(deps, turns, params),
    },
    ...treeMethods(deps),
    loop: { show: async (params) => (await import("./loops/show-loop.ts")).showLoop(deps, params.session) },
    usage: usageMethods(deps),
    store: { verify: async (params) => (await deps.store()).verify(params) },
    close: (how = "stop") => (closing ??= close(how)),
  };
}

function usageMethods(deps: EngineDeps): Api["usage"] {
  return {
    report: async ({ by, project }) => (deps.hasStore() ? (await deps.store()).usage(by, project) : []),
    async series(params) {
      if (!deps.hasStore()) return [];
      const [{ foldUsage }, store] = await Promise.all([import("./usage/usage-series.ts"), deps.store()]);
      return foldUsage(await store.usageSeries(params), params);
    },
  };
}

/** The methods that read and change the conversation tree and the recorded files. */
function treeMethods(deps: EngineDeps) {
  return {
    node: {
      find: async ({ wanted }) => (await load.tree()).findNode(deps, wanted),
      async path({ node, maxChars }) {
        const path = await (await deps.store()).path(node);
        return maxChars == null ? path : (await load.boundedNodes()).endOfPath(path, maxChars);
      },
      children: async ({ node }) => (await deps.store()).children(node),
      add: async (params) => (await load.tree()).addMessage(deps, params),
      addSession: async (params) => (await load.graft()).addSession(deps, params),
    },
    graft: { make: async (params) => (await load.graft()).graft(deps, params) },
    files: {
      list: (params) => deps.listFiles(params),
      diff: async (params) => (await load.files()).diffFiles(deps, params),
      blame: async (params) => (await import("./blame/blame-file.ts")).blameFile(deps, params),
      writeNotes: async (params) => (await import("./blame/notes/write-notes.ts")).writeNotes(deps, params),
      planRestore: async (params) => (await load.files()).planRestore(deps, params),
      restore: async (params) => (await load.files()).restoreFiles(deps, params),
    },
    context: {
      render: async (params) => (await load.readTree()).renderContext(deps, params),
      handles: async (params) => (await load.tree()).handlesOnPath(deps, params),
    },
    transcript: {
      import: async (params) => (await import("./tree/import.ts")).importTranscript(deps, params),
      list: async (params) => (await import("./tree/agent-transcripts.ts")).listTranscripts(deps, params),
      search: async (params) => (await import("./tree/agent-transcripts.ts")).searchTranscripts(deps, params),
    },
    search: { find: async (params) => (await load.readTree()).searchNodes(deps, params) },
    history: { search: async (params) => (await import("./history/search-history.ts")).searchHistory(deps, params) },
    branch: {
      compare: async (params) => (await import("./tree/compare.ts")).compareBranches(deps, params),
      files: async (params) => (await load.files()).readBranchFiles(deps, params),
    },
    handle: { resolve: async (params) => (await load.readTree()).resolveHandle(deps, params) },
  } satisfies Partial<Api>;
}

async function cancelTurn(deps: EngineDeps, { session, mayContinue = false }: Parameters<Api["turn"]["cancel"]>[0]): Promise<void> {
  if (deps.running.stop(session, { mayContinue })) return;
  await callOwner(deps, session, {
    local: () => {},
    remote: (api) => api.turn.cancel({ session }),
    idle: () => stopWaiting(deps, session),
    mayRepeat: true,
  });
}

/** A turn that waits for a limit is stopped like a running one. */
async function stopWaiting(deps: EngineDeps, session: string): Promise<void> {
  await (await deps.store()).stopContinuing(session);
}

function healthOf({ version, startedAt, running }: EngineDeps): Awaited<ReturnType<Api["health"]["check"]>> {
  return { status: "healthy", version, protocol: protocolVersion, pid: process.pid, startedAt, running: running.size };
}

async function treeOf(store: Store, idOrName: string, withArchived: boolean) {
  const session = await store.findSession(idOrName, null);
  const nodes = await store.treeNodes(session.tree);
  const candidates = await store.listSessions({ project: null, subSessions: true });
  if (withArchived) candidates.push(...(await store.listSessions({ project: null, subSessions: true, archived: true })));
  const sessions = candidates.filter((candidate) => candidate.tree === session.tree);
  const turns = (await Promise.all(sessions.map(({ id }) => store.turnsOf(id)))).flat();
  return { nodes, sessions, turns, interrupted: await interruptedTurns(store, sessions, turns) };
}

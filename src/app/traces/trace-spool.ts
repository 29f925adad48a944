// Stores the spans of each ended turn in a file, and starts a process that sends the files. So a slow collector delays no turn
// and no exit, and spans survive the end of this process.
import { join } from "node:path";
import { replaceFile } from "../../kit/files/replace-file.ts";
import { otlpSettings, type OtlpSettings } from "../../protocol/otlp/otlp-settings.ts";
import { parseTraceparent, traceRequest } from "../../protocol/otlp/otlp.ts";
import { type SpanParent, spanOfTurn, spansOfTurn } from "../../protocol/otlp/turn-spans.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { AppContext } from "../app-context.ts";

export type TraceSpool = {
  /** Stores the spans of a turn. Does not reject: a failure is a warning, once. */
  add: (turn: Turn) => Promise<void>;
  /**
   * Variables for programs that the turn starts. With them a program sets its spans below the turn's span. Does not reject.
   * `traceparent` is the span above the turn, if its caller named one.
   */
  envOf: (turn: Turn, traceparent: string | undefined) => Promise<Record<string, string>>;
  /** Starts a process that sends the stored spans. Does nothing if this process has stored none since the last time. */
  send: () => Promise<void>;
};

/** A process that runs many turns sends them together. */
const sendDelayMs = 1_000;

export function createTraceSpool(ctx: AppContext, openStore: () => Promise<Store>): TraceSpool {
  const settings = settingsOf(ctx);
  const directory = join(ctx.paths.state, "traces");
  /** The spans above running turns that their callers named. */
  const callers: Callers = new Map();
  let hasFailed = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const fail = (problem: string) => {
    if (!hasFailed) ctx.warn(`a trace could not be stored: ${problem}; further failures are not reported`);
    hasFailed = true;
  };
  const send = async () => {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    startSender(ctx, directory);
  };
  return {
    add: async (turn) => {
      if (settings === null) return;
      try {
        const body = await bodyOf(turn, { settings, store: await openStore(), ctx, callers });
        replaceFile(join(directory, `${turn.id}.json`), body, { file: 0o600, directory: 0o700, isFlushed: false });
        timer ??= setTimeout(() => void send(), sendDelayMs);
      } catch (error) {
        fail(messageOf(error));
      } finally {
        callers.delete(turn.id);
      }
    },
    envOf: async (turn, traceparent): Promise<Record<string, string>> => {
      if (settings === null) return {};
      try {
        const caller = parseTraceparent(traceparent);
        if (caller !== null) callers.set(turn.id, caller);
        const { traceId, spanId } = spanOfTurn(turn.id, await parentOf(turn, { store: await openStore(), ctx, callers }));
        return { TRACEPARENT: `00-${traceId}-${spanId}-01` };
      } catch (error) {
        fail(messageOf(error));
        return {};
      }
    },
    send,
  };
}

/** Null if no endpoint is set. Also null, with a warning, if it is no URL: a wrong setting of traces must not prevent a run. */
function settingsOf({ env, warn }: AppContext): OtlpSettings | null {
  try {
    return otlpSettings(env);
  } catch (error) {
    warn(`no trace is sent: ${messageOf(error)}`);
    return null;
  }
}

/** The keys are ids of turns. */
type Callers = Map<string, SpanParent>;
type ParentContext = { store: Store; ctx: AppContext; callers: Callers };

async function bodyOf(turn: Turn, { settings, ...context }: ParentContext & { settings: OtlpSettings }): Promise<string> {
  const { store, ctx } = context;
  const path = turn.tip === null ? [] : await store.path(turn.tip);
  const nodes = path.filter((node) => node.turn === turn.id);
  const spans = spansOfTurn({ turn, nodes, parent: await parentOf(turn, context) }, settings);
  return JSON.stringify(traceRequest(spans, { ...settings, version: ctx.version }));
}

/** A sub-session's turn has the running turn of its parent session as parent. Any other turn has the caller's span. */
async function parentOf(turn: Turn, context: ParentContext): Promise<SpanParent | null> {
  const { store, ctx, callers } = context;
  const session = await store.session(turn.session);
  const parentTurn = session?.parentSession ? (await store.openTurns(session.parentSession)).at(-1) : undefined;
  if (parentTurn === undefined) return callers.get(turn.id) ?? parseTraceparent(ctx.env["TRACEPARENT"]);
  return spanOfTurn(parentTurn.id, await parentOf(parentTurn, context));
}

/** Variables that the sender needs. It gets no key of a vendor. */
const senderVariables = /^(OTEL_\w+|HOME|PATH|HTTPS?_PROXY|https?_proxy|NO_PROXY|no_proxy|NODE_EXTRA_CA_CERTS|SKEIN_OFFLINE)$/;

/** The sender is no child of this process, and outlives it. */
function startSender({ env, selfCommand, paths }: AppContext, directory: string): void {
  const sender = Bun.spawn(["/bin/sh", "-c", '"$@" >/dev/null 2>&1 &', "sh", ...selfCommand, "__send-traces", directory], {
    cwd: paths.state,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => senderVariables.test(name))),
    detached: true,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  sender.unref();
}

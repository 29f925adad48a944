// The wait of a turn for the end of a vendor's limit: it becomes a pending turn, which the hub continues.
import type { TurnError } from "../../protocol/api/error.ts";
import { isLimitError } from "../../protocol/limits/at-limit.ts";
import type { Turn, TurnEnd } from "../../protocol/tree/turn.ts";
import type { NewPendingTurn } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { TurnRequest } from "../turn/run-turn.ts";
import { continuedRequest } from "./pending-turns.ts";

/** Pauses if the vendor does not say when the limit ends: 30 s, then twice as long each time, up to 30 minutes. */
const pauses = { firstMs: 30_000, maxMs: 30 * 60_000 };
/** The clocks of this machine and of the vendor may differ. */
const resetMarginMs = 1_000;

type LimitedTurn = { params: TurnRequest; turn: Turn; end: TurnEnd };

/** The pending turn that continues this one when the limit ends. Undefined if the turn does not wait. */
export function waitAtLimit(deps: EngineDeps, { params, turn, end }: LimitedTurn, now: number): NewPendingTurn | undefined {
  if (params.atLimit.how !== "wait" || deps.caller === null || end.error === undefined || !isLimitError(end.error)) return undefined;
  const request = continuedRequest(deps, params);
  if (request === undefined) return undefined;
  const { pending, waitAtMostMs } = params;
  const giveUpAt = pending?.giveUpAt ?? (waitAtMostMs === null ? null : now + waitAtMostMs);
  const attempt = pending?.kind === "waiting" ? pending.attempt + 1 : 0;
  const wakeAt = wakeTime(end.error, { attempt, giveUpAt, now });
  if (wakeAt === null) return undefined;
  return { ...request, kind: "waiting", wakeAt, giveUpAt, attempt, credential: turn.model?.split("/")[0] ?? turn.agent };
}

/** Null if the limit ends too late. */
function wakeTime({ resetAt }: TurnError, wait: { attempt: number; giveUpAt: number | null; now: number }): number | null {
  const { attempt, giveUpAt, now } = wait;
  const latest = giveUpAt ?? Infinity;
  if (resetAt !== undefined && resetAt > now) return resetAt + resetMarginMs <= latest ? resetAt + resetMarginMs : null;
  const next = Math.min(now + Math.min(pauses.firstMs * 2 ** attempt, pauses.maxMs), latest);
  return next > now ? next : null;
}
